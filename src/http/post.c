/* http/post.c - what other threads have for a loop: answers, connections, the wish that it ends.
 *
 * It is queued under the loop's lock.  A loop looks at its queues each time before it sleeps, and
 * is woken only when it does sleep: while it is at work a post costs no call of the system, neither
 * here nor there.  (uv_async_send() would always make two; and who wakes up by it waits, burning
 * time, until the thread that called has returned from its own.) */
#include "http/post_int.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "http/grpc_call_int.h"
#include "http/listen_int.h"

#define TURNS 4 /* before the sockets are looked at again, if posts do not end */

/* With the lock: does the loop have to be woken?  Then wake() must follow, without the lock: who
 * is woken takes it first of all. */
static bool must_wake(struct http_loop *loop)
{
	if (!loop->uv_ready || !atomic_load_explicit(&loop->asleep, memory_order_relaxed))
		return false;
	atomic_store_explicit(&loop->asleep, false, memory_order_relaxed);
	atomic_fetch_add_explicit(&loop->wakers, 1, memory_order_relaxed);
	return true;
}

static void wake(struct http_loop *loop)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(loop->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	atomic_fetch_sub_explicit(&loop->wakers, 1, memory_order_release);
}

void loop_post(struct http_exchange *x, unsigned bits)
{
	struct http_loop *loop = x->loop;
	bool asleep = false;

	pthread_mutex_lock(&loop->lock);
	if (x->posted == 0) {
		http_request_ref(&x->req); /* the queue's */
		x->post_next = NULL;
		*loop->post_tail = x;
		loop->post_tail = &x->post_next;
		asleep = must_wake(loop);
	}
	x->posted |= bits;
	pthread_mutex_unlock(&loop->lock);
	if (asleep)
		wake(loop);
}

int loop_give(struct http_loop *loop, const struct accepted *a)
{
	bool asleep = false;
	int r = -ENOMEM;

	pthread_mutex_lock(&loop->lock);
	if (vec_reserve(&loop->incoming, &loop->incoming_capacity, loop->incoming_count + 1,
			sizeof(*loop->incoming))) {
		loop->incoming[loop->incoming_count++] = *a;
		asleep = must_wake(loop);
		r = 0;
	}
	pthread_mutex_unlock(&loop->lock);
	if (asleep)
		wake(loop);
	return r;
}

void post_stop(struct http_loop *loop)
{
	bool asleep;

	pthread_mutex_lock(&loop->lock);
	loop->stop = true;
	asleep = must_wake(loop);
	pthread_mutex_unlock(&loop->lock);
	if (asleep)
		wake(loop);
}

/* What another thread, or a callback, has asked for an exchange. */
static void on_posted(struct http_exchange *x, unsigned bits)
{
	struct http_conn *c = x->conn;
	bool ignored = x->answered; /* the server itself has ended it before */

	if ((bits & POST_ANSWER) && !ignored) {
		x->answered = true;
		if (x->grpc)
			grpc_call_take_status(x);
	}
	if (!c || c->broken) {
		if (bits & POST_ANSWER)
			exchange_stream_done(x);
	} else if ((bits & POST_ANSWER) && !ignored) {
		conn_answer(c, x);
		loop_run(c);
	} else if (bits & POST_WAKE) {
		conn_wake(c, x);
		loop_run(c);
	}
	if ((bits & POST_ANSWER) && x->handler_ref) {
		x->handler_ref = false;
		http_request_unref(&x->req);
	}
	http_request_unref(&x->req); /* the queue's */
}

void loop_take_posts(struct http_loop *loop)
{
	struct http_exchange *x, *next;

	pthread_mutex_lock(&loop->lock);
	x = loop->post_head;
	loop->post_head = NULL;
	loop->post_tail = &loop->post_head;
	pthread_mutex_unlock(&loop->lock);
	for (; x; x = next) {
		unsigned bits;

		/* Until `posted` is 0 nobody queues it again, so post_next stays ours. */
		next = x->post_next;
		pthread_mutex_lock(&loop->lock);
		bits = x->posted;
		x->posted = 0;
		pthread_mutex_unlock(&loop->lock);
		on_posted(x, bits);
	}
}

/* Takes all that was queued; false if that was nothing, and the loop counts as asleep then. */
static bool take(struct http_loop *loop)
{
	struct accepted *incoming;
	size_t count;
	bool stop, some;

	pthread_mutex_lock(&loop->lock);
	incoming = loop->incoming;
	count = loop->incoming_count;
	loop->incoming = NULL;
	loop->incoming_count = loop->incoming_capacity = 0;
	stop = loop->stop && !loop->draining;
	some = count > 0 || loop->post_head || stop;
	atomic_store_explicit(&loop->asleep, !some, memory_order_relaxed);
	pthread_mutex_unlock(&loop->lock);
	if (!some)
		return false;
	for (size_t i = 0; i < count; i++)
		loop_adopt(loop, &incoming[i]);
	free(incoming);
	loop_take_posts(loop);
	if (stop)
		loop_drain(loop);
	return true;
}

static void before_sleep(uv_prepare_t *prepare)
{
	struct http_loop *loop = container_of(prepare, struct http_loop, prepare);

	loop->now_ms = (int64_t)uv_now(&loop->uv);
	for (int turn = 0; turn < TURNS; turn++)
		if (!take(loop))
			return;
	atomic_fetch_add_explicit(&loop->wakers, 1, memory_order_relaxed);
	wake(loop); /* the sockets once, and then here again */
}

static void after_sleep(uv_check_t *check)
{
	struct http_loop *loop = container_of(check, struct http_loop, check);

	atomic_store_explicit(&loop->asleep, false, memory_order_relaxed);
}

static void on_wake(uv_poll_t *poll, int status, int events)
{
	struct http_loop *loop = container_of(poll, struct http_loop, wake);
	uint64_t n;

	while (read(loop->wake_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

int post_open(struct http_loop *loop)
{
	int r;

	loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (loop->wake_fd < 0)
		return -errno;
	r = uv_poll_init(&loop->uv, &loop->wake, loop->wake_fd);
	if (r < 0) {
		close(loop->wake_fd);
		return r;
	}
	uv_poll_start(&loop->wake, UV_READABLE, on_wake);
	uv_prepare_init(&loop->uv, &loop->prepare);
	uv_prepare_start(&loop->prepare, before_sleep);
	uv_check_init(&loop->uv, &loop->check);
	uv_check_start(&loop->check, after_sleep);
	return 0;
}

void post_close(struct http_loop *loop)
{
	uv_close((uv_handle_t *)&loop->wake, NULL);
	uv_close((uv_handle_t *)&loop->prepare, NULL);
	uv_close((uv_handle_t *)&loop->check, NULL);
}

void post_done(struct http_loop *loop)
{
	/* A thread that has posted last may still be waking it. */
	while (atomic_load_explicit(&loop->wakers, memory_order_acquire) > 0)
		sched_yield();
	close(loop->wake_fd);
}
