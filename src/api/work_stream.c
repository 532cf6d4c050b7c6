/* api/work_stream.c - an answer of any length, made by workers a piece at a time. */
#include "api/work_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"

struct work_stream {
	struct pool_job job;
	struct pool *pool;
	struct leash leash;       /* of all pieces, so that what they take is added up */
	struct http_request *req; /* holds a reference */
	struct work_pieces pieces;

	pthread_mutex_t lock;
	struct buffer ready; /* made and not sent */
	bool busy;           /* a worker has it, or will */
	bool ended, failed;
	_Atomic bool gone; /* nobody will pull any more; set with the lock held */
};

static void stream_free(struct work_stream *s)
{
	s->pieces.done(s->pieces.state);
	buffer_done(&s->ready);
	pthread_mutex_destroy(&s->lock);
	http_request_unref(s->req);
	free(s);
}

/* On the loop, what has nothing to say takes another turn of the loop, and nothing makes it wait.
 */
static void piece_make(struct work_stream *s, bool on_loop)
{
	bool held = !on_loop && leash_hold(&s->leash), gone;
	struct buffer out = {0};
	int r = leash_check();

	do {
		if (r >= 0)
			r = s->pieces.next(s->pieces.state, &out);
	} while (r > 0 && out.n == 0 && !out.failed && !on_loop && !atomic_load(&s->gone));
	if (held)
		leash_drop();
	pthread_mutex_lock(&s->lock);
	buffer_done(&s->ready); /* empty: pieces are made one at a time */
	s->ready = out;
	s->ended = r <= 0 || out.failed;
	s->failed = r < 0 || out.failed;
	s->busy = false;
	gone = atomic_load(&s->gone);
	if (!gone)
		http_stream_wake(s->req);
	pthread_mutex_unlock(&s->lock);
	if (gone)
		stream_free(s);
}

static void piece_run(struct pool_job *job)
{
	piece_make(container_of(job, struct work_stream, job), false);
}

/* With `busy` set.  Where too many questions wait, this one takes its turn here: an answer that has
 * begun cannot be refused any more. */
static void piece_begin(struct work_stream *s)
{
	s->job = (struct pool_job){.run = piece_run};
	if (pool_submit(s->pool, &s->job) < 0)
		piece_make(s, true);
}

static enum http_pull stream_pull(void *context, struct buffer *out)
{
	struct work_stream *s = context;
	enum http_pull answer = HTTP_PULL_LATER;
	bool begin = false;

	pthread_mutex_lock(&s->lock);
	if (s->ready.n > 0) {
		buffer_append(out, s->ready.p, s->ready.n);
		buffer_done(&s->ready);
		answer = HTTP_PULL_MORE;
	} else if (s->ended) {
		answer = s->failed ? HTTP_PULL_ABORT : HTTP_PULL_END;
	}
	if (!s->busy && !s->ended)
		begin = s->busy = true;
	pthread_mutex_unlock(&s->lock);
	if (begin)
		piece_begin(s);
	return out->failed ? HTTP_PULL_ABORT : answer;
}

static void stream_done(void *context)
{
	struct work_stream *s = context;
	bool busy;

	pthread_mutex_lock(&s->lock);
	atomic_store(&s->gone, true);
	busy = s->busy;
	pthread_mutex_unlock(&s->lock);
	if (!busy)
		stream_free(s);
}

void work_stream_send(struct http_request *req, struct api *api, const char *content_type,
		      const struct work_pieces *pieces)
{
	struct work_stream *s = malloc(sizeof(*s));
	const struct http_stream stream = {stream_pull, stream_done, s};

	if (!s) {
		pieces->done(pieces->state);
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*s = (struct work_stream){
		.pool = api->pool, .req = http_request_ref(req), .pieces = *pieces};
	/* Not the request's flag: the request is answered as soon as the answer begins. */
	leash_init(&s->leash, api->share, &s->gone, 0);
	pthread_mutex_init(&s->lock, NULL);
	http_reply_stream(req, 200, content_type, &stream);
}
