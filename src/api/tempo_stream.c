/* api/tempo_stream.c - a method of tempopb.StreamingQuerier.
 *
 *            half close               the query ends
 *   READING ────────────▶ RUNNING ─────────────────▶ ENDED
 *      └──────────────── cancelled ─────────────────────┘
 *
 * Who moves the stage to ENDED calls http_grpc_finish(), once, and does not touch the request
 * afterwards.  A cancelled query notices itself, and ends. */
#include "api/tempo_stream.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "api/tempo_query.h"
#include "core/clock.h"

#define LOOK_NS                                                                                    \
	(200 * (int64_t)1000000) /* a wait is interrupted to see whether it is cancelled           \
				  */

enum stage { READING, RUNNING, ENDED };

struct tempo_stream {
	struct http_request *req;
	struct api *api;
	const struct tempo_method *method;
	struct slice question; /* in the request's arena */
	bool asked, no_memory;

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t moved; /* there may be room, or nobody to have it */
	enum stage stage;
	bool writable, gone;
	_Atomic bool *cancel; /* the job's */
	int64_t end_ns;       /* its time is over, monotonic */
};

struct tempo_stream *tempo_stream_of(struct query_job *job)
{
	return job->req->is_grpc ? api_request(job->req)->stream : NULL;
}

/* With the lock held, as below. */
static bool is_over(const struct tempo_stream *s)
{
	return s->gone || (s->cancel && atomic_load(s->cancel));
}

/* A client that reads slowly would keep others from asking for ever. */
static bool is_late(const struct tempo_stream *s)
{
	return clock_mono_ns() > s->end_ns;
}

static void wait_a_while(struct tempo_stream *s)
{
	int64_t until = clock_mono_ns() + LOOK_NS;
	struct timespec at = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};

	pthread_cond_clockwait(&s->moved, &s->lock, CLOCK_MONOTONIC, &at);
}

int tempo_stream_send(struct tempo_stream *s, struct slice message)
{
	int r;

	pthread_mutex_lock(&s->lock);
	do {
		s->writable = false;
		r = http_grpc_send(s->req, message);
		while (r == -EAGAIN && !s->writable && !is_over(s) && !is_late(s))
			wait_a_while(s);
	} while (r == -EAGAIN && !is_over(s) && !is_late(s));
	if (r == -EAGAIN && !is_over(s))
		r = -ETIMEDOUT;
	else if (r == -EPIPE || r == -EAGAIN)
		r = -ECANCELED;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void tempo_stream_end(struct tempo_stream *s, enum grpc_status status, const char *message)
{
	pthread_mutex_lock(&s->lock);
	s->stage = ENDED;
	s->cancel = NULL;
	pthread_mutex_unlock(&s->lock);
	/* The memory is the request's, and goes when the loop has seen the end. */
	http_grpc_finish(s->req, status, message, slice_of(NULL, 0));
}

static void job_run(struct query_job *job)
{
	struct tempo_stream *s = tempo_stream_of(job);

	pthread_mutex_lock(&s->lock);
	s->cancel = job->cancel;
	s->end_ns = job->began_ns + query_jobs_limits(job->jobs)->time_ns;
	if (s->gone)
		atomic_store(job->cancel, true);
	pthread_mutex_unlock(&s->lock);
	s->method->run(job);
}

static void on_message(struct http_request *req, void *context, struct slice message)
{
	struct tempo_stream *s = context;

	if (s->asked)
		return;
	s->asked = true;
	s->question = message.n ? arena_dup(&req->arena, message) : SLICE("");
	s->no_memory = !s->question.p;
}

/* Starts the query; what comes back is why not. */
static enum grpc_status start(struct tempo_stream *s, struct error *error)
{
	struct query_request query = {0};
	int r = 0;

	if (s->no_memory)
		r = -ENOMEM;
	else if (!s->asked)
		r = error_set(error, -EINVAL, "the request has no message");
	if (r == 0)
		r = s->method->read(s->req, s->question, &query, s->method->second, error);
	if (r == 0)
		r = tempo_query_check(&query, error);
	if (r == -EINVAL)
		return GRPC_INVALID_ARGUMENT;
	if (r == 0)
		r = query_jobs_start(s->api->queries, s->req, &query, job_run, error);
	if (r < 0 && error->text[0] == '\0')
		error_set(error, r, "out of memory; try again later");
	return r < 0 ? GRPC_UNAVAILABLE : GRPC_OK;
}

static void on_half_close(struct http_request *req, void *context)
{
	struct tempo_stream *s = context;
	struct error error = {0};
	enum grpc_status status;
	bool first;

	pthread_mutex_lock(&s->lock);
	first = s->stage == READING;
	if (first)
		s->stage = RUNNING;
	pthread_mutex_unlock(&s->lock);
	if (!first)
		return;
	status = start(s, &error);
	if (status != GRPC_OK)
		tempo_stream_end(s, status, error.text);
}

static void on_writable(struct http_request *req, void *context)
{
	struct tempo_stream *s = context;

	pthread_mutex_lock(&s->lock);
	s->writable = true;
	pthread_cond_signal(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

static void on_cancel(struct http_request *req, void *context)
{
	struct tempo_stream *s = context;
	bool end;

	pthread_mutex_lock(&s->lock);
	s->gone = true;
	end = s->stage == READING;
	if (s->cancel)
		atomic_store(s->cancel, true);
	pthread_cond_signal(&s->moved);
	pthread_mutex_unlock(&s->lock);
	if (end)
		tempo_stream_end(s, GRPC_CANCELLED, "the client has gone");
}

void tempo_stream_open(struct http_request *req, struct api *api, const struct tempo_method *method)
{
	struct tempo_stream *s = arena_zalloc(&req->arena, 1, sizeof(*s));
	struct http_grpc_stream stream = {.on_message = on_message,
					  .on_half_close = on_half_close,
					  .on_writable = on_writable,
					  .on_cancel = on_cancel,
					  .context = s};

	if (!s) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*s = (struct tempo_stream){.req = req,
				   .api = api,
				   .method = method,
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .moved = PTHREAD_COND_INITIALIZER};
	api_request(req)->stream = s;
	http_grpc_open(req, &stream);
}
