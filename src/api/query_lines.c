/* api/query_lines.c - an answer that leaves line by line while it is made. */
#include "api/query_lines.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define PENDING_MOST ((size_t)1 << 20) /* bytes that wait for the client */
#define LOOK_NS      (100 * NS_PER_MS) /* how often a waiting query looks whether it is cancelled */

struct query_lines {
	struct http_request *req; /* a reference */
	_Atomic bool *cancel;
	int64_t end_ns; /* monotonic: then nobody is waited for any more */
	_Atomic int refs;
	pthread_mutex_t lock;
	pthread_cond_t room;
	struct buffer pending;
	bool waiting; /* the network asked and there was nothing */
	bool ended;   /* no line will follow */
	bool gone;    /* nobody takes lines any more */
};

static void let_go(struct query_lines *l)
{
	if (atomic_fetch_sub(&l->refs, 1) > 1)
		return;
	http_request_unref(l->req);
	buffer_done(&l->pending);
	pthread_cond_destroy(&l->room);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static enum http_pull lines_pull(void *context, struct buffer *out)
{
	struct query_lines *l = context;
	enum http_pull result = HTTP_PULL_LATER;

	pthread_mutex_lock(&l->lock);
	if (l->pending.failed) {
		result = HTTP_PULL_ABORT;
	} else if (l->pending.n > 0) {
		buffer_slice(out, buffer_get(&l->pending));
		buffer_clear(&l->pending);
		pthread_cond_signal(&l->room);
		result = HTTP_PULL_MORE;
	} else if (l->ended) {
		result = HTTP_PULL_END;
	}
	l->waiting = result == HTTP_PULL_LATER;
	pthread_mutex_unlock(&l->lock);
	return result;
}

static void lines_done(void *context)
{
	struct query_lines *l = context;

	pthread_mutex_lock(&l->lock);
	l->gone = true;
	if (!l->ended)
		atomic_store(l->cancel, true);
	pthread_cond_signal(&l->room);
	pthread_mutex_unlock(&l->lock);
	let_go(l);
}

struct query_lines *query_lines_begin(struct http_request *req, _Atomic bool *cancel,
				      int64_t end_ns)
{
	struct query_lines *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;
	struct http_stream stream;

	if (!l)
		return NULL;
	l->req = http_request_ref(req);
	l->cancel = cancel;
	l->end_ns = end_ns;
	atomic_store(&l->refs, 2);
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->room, &monotonic);
	pthread_condattr_destroy(&monotonic);
	stream = (struct http_stream){lines_pull, lines_done, l};
	http_reply_stream(req, 200, "application/x-ndjson", &stream);
	return l;
}

/* With the lock held: until the client has caught up. */
static void wait_for_room(struct query_lines *l)
{
	while (l->pending.n > PENDING_MOST && !l->gone && !atomic_load(l->cancel) &&
	       clock_mono_ns() < l->end_ns) {
		int64_t until = MIN(clock_mono_ns() + LOOK_NS, l->end_ns);
		struct timespec t = {until / NS_PER_S, until % NS_PER_S};

		pthread_cond_timedwait(&l->room, &l->lock, &t);
	}
}

/* With the lock held.  Should the network be woken? */
static bool append(struct query_lines *l, struct slice line)
{
	bool wake = l->waiting;

	buffer_slice(&l->pending, line);
	if (line.n)
		buffer_byte(&l->pending, '\n');
	l->waiting = false;
	return wake;
}

int query_lines_add(struct query_lines *l, struct slice line)
{
	bool wake, late;
	int r = 0;

	pthread_mutex_lock(&l->lock);
	wait_for_room(l);
	late = l->pending.n > PENDING_MOST && !l->gone && !atomic_load(l->cancel);
	wake = !late && append(l, line);
	if (late)
		r = -ETIMEDOUT;
	else if (l->pending.failed)
		r = -ENOMEM;
	else if (l->gone || atomic_load(l->cancel))
		r = -ECANCELED;
	pthread_mutex_unlock(&l->lock);
	if (wake)
		http_stream_wake(l->req);
	return r;
}

void query_lines_end(struct query_lines *l, struct slice line)
{
	pthread_mutex_lock(&l->lock);
	append(l, line);
	l->ended = true;
	pthread_mutex_unlock(&l->lock);
	http_stream_wake(l->req);
	let_go(l);
}
