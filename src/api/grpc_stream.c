/* api/grpc_stream.c - a gRPC method that is asked once and answers with many messages.
 *
 *            half close              -EAGAIN               writable
 *   READING ────────────▶ WORKING ◀──────────────▶ WAITING
 *      │                     │                        │
 *      └── cancelled ──▶   ENDED   ◀─── cancelled ────┘
 *
 * Who moves the state to ENDED calls http_grpc_finish(), once, and does not touch the request
 * afterwards.  The lock is held while sending, so that a worker that is told -EAGAIN is WAITING
 * before the loop can say that there is room. */
#include "api/grpc_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"

enum stage { READING, WORKING, WAITING, ENDED };

struct answer {
	struct pool_job job;
	struct http_request *req;
	struct api *api;
	const struct grpc_method *method;
	struct buffer question;
	bool asked;

	/* The worker's. */
	void *state;
	bool begun;
	struct buffer message; /* made, and not sent yet */

	pthread_mutex_t lock; /* guards: */
	enum stage stage;
};

void grpc_end_errno(struct grpc_end *end, int error)
{
	if (error == -ENOMEM) {
		end->status = GRPC_UNAVAILABLE;
		snprintf(end->message, sizeof(end->message), "out of memory; try again later");
	} else if (error == -E2BIG) {
		end->status = GRPC_RESOURCE_EXHAUSTED;
		snprintf(end->message, sizeof(end->message), "more than can be shown at once");
	} else if (error == -ETIMEDOUT) {
		end->status = GRPC_DEADLINE_EXCEEDED;
		snprintf(end->message, sizeof(end->message),
			 "it took longer than a question may: ask about a shorter time");
	} else if (error == -ECANCELED) {
		end->status = GRPC_CANCELLED;
		snprintf(end->message, sizeof(end->message), "the client has gone");
	} else {
		end->status = GRPC_INTERNAL;
		snprintf(end->message, sizeof(end->message), "%s", strerror(-error));
	}
}

/* Frees the answer and ends the stream.  The caller has made the stage ENDED and let go of the
 * lock. */
static void finish(struct answer *a, const struct grpc_end *end)
{
	struct http_request *req = a->req;

	if (a->begun)
		a->method->done(a->state);
	buffer_done(&a->question);
	buffer_done(&a->message);
	/* The answer's memory is the request's, and the loop may still be about to ask for its
	 * lock: both go when the loop has seen the end. */
	http_grpc_finish(req, end->status, end->message, slice_of(NULL, 0));
}

static void finish_with(struct answer *a, enum grpc_status status, const char *message)
{
	struct grpc_end end = {.status = status};

	snprintf(end.message, sizeof(end.message), "%s", message);
	finish(a, &end);
}

static void end_stage(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	a->stage = ENDED;
	pthread_mutex_unlock(&a->lock);
}

/* 0, or why not: -EAGAIN when the stage is WAITING now. */
static int send_message(struct answer *a)
{
	int r;

	pthread_mutex_lock(&a->lock);
	r = http_grpc_send(a->req, buffer_get(&a->message));
	if (r == -EAGAIN)
		a->stage = WAITING;
	else if (r < 0)
		a->stage = ENDED;
	pthread_mutex_unlock(&a->lock);
	if (r == 0)
		buffer_clear(&a->message);
	return r;
}

static void answer_make(struct answer *a)
{
	struct grpc_end end = {.status = GRPC_OK};
	int r;

	if (!a->begun) {
		a->begun =
			a->method->begin(a->req, a->api, buffer_get(&a->question), &a->state, &end);
		if (!a->begun) {
			end_stage(a);
			finish(a, &end);
			return;
		}
	}
	for (;;) {
		if (a->message.n == 0 && !a->method->next(a->state, &a->message, &end))
			break;
		if (a->message.failed) {
			grpc_end_errno(&end, -ENOMEM);
			break;
		}
		r = send_message(a);
		if (r == -EAGAIN)
			return; /* the loop's from here on */
		if (r < 0) {
			finish_with(a, GRPC_CANCELLED, "the client has gone");
			return;
		}
	}
	end_stage(a);
	finish(a, &end);
}

static void answer_run(struct pool_job *job)
{
	struct answer *a = container_of(job, struct answer, job);
	struct leash leash;

	api_leash_begin(&leash, a->req);
	leash_check(); /* its turn; whoever works for it sees whether it is stopped */
	answer_make(a);
	leash_end(&leash);
}

/* Hands the answer to a worker; the stage is WORKING. */
static void answer_submit(struct answer *a)
{
	if (pool_submit(a->api->pool, &a->job) == 0)
		return;
	end_stage(a);
	finish_with(a, GRPC_UNAVAILABLE, "too many questions are waiting; try again in a second");
}

static bool move(struct answer *a, enum stage from, enum stage to)
{
	bool moved;

	pthread_mutex_lock(&a->lock);
	moved = a->stage == from;
	if (moved)
		a->stage = to;
	pthread_mutex_unlock(&a->lock);
	return moved;
}

static void on_message(struct http_request *req, void *context, struct slice message)
{
	struct answer *a = context;

	if (!a->asked)
		buffer_slice(&a->question, message);
	a->asked = true;
}

static void on_half_close(struct http_request *req, void *context)
{
	struct answer *a = context;

	if (!a->asked || a->question.failed) {
		if (move(a, READING, ENDED))
			finish_with(a, a->asked ? GRPC_UNAVAILABLE : GRPC_INVALID_ARGUMENT,
				    a->asked ? "out of memory" : "the request has no message");
	} else if (move(a, READING, WORKING)) {
		answer_submit(a);
	}
}

static void on_writable(struct http_request *req, void *context)
{
	struct answer *a = context;

	if (move(a, WAITING, WORKING))
		answer_submit(a);
}

/* A worker that is at it notices when it sends. */
static void on_cancel(struct http_request *req, void *context)
{
	struct answer *a = context;

	if (move(a, READING, ENDED) || move(a, WAITING, ENDED))
		finish_with(a, GRPC_CANCELLED, "the client has gone");
}

void grpc_stream_open(struct http_request *req, struct api *api, const struct grpc_method *method)
{
	struct answer *a = arena_zalloc(&req->arena, 1, sizeof(*a));
	struct http_grpc_stream stream = {.on_message = on_message,
					  .on_half_close = on_half_close,
					  .on_writable = on_writable,
					  .on_cancel = on_cancel,
					  .context = a};

	if (!a) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*a = (struct answer){.job = {.run = answer_run},
			     .req = req,
			     .api = api,
			     .method = method,
			     .lock = PTHREAD_MUTEX_INITIALIZER};
	http_grpc_open(req, &stream);
}
