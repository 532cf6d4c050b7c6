/* http/loop.c - one thread with its connections: sockets and time.
 *
 * Sockets are read and written here directly (uv_poll tells when), so that a body can be received
 * into its final place and nothing has to stay alive while a write is in flight. */
#include "http/loop_int.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/heap.h"
#include "http/listen_int.h"
#include "http/post_int.h"
#include "http/tls_int.h"

#define READS_PER_EVENT  8
#define WRITES_PER_EVENT 16
#define DRAIN_TICK_MS    5
#define KEEPALIVE_S      60 /* silence after which the kernel asks whether the client still lives */
#define KEEPALIVE_STEP_S 15

int loop_init(struct http_loop *loop, struct http_server *server)
{
	*loop = (struct http_loop){.server = server};
	pthread_mutex_init(&loop->lock, NULL);
	loop->post_tail = &loop->post_head;
	loop->self = pthread_self();
	loop->coder = coder_new();
	loop->scratch = malloc(CONN_SCRATCH);
	return loop->coder && loop->scratch ? 0 : -ENOMEM;
}

void loop_done(struct http_loop *loop)
{
	while (loop->pool) {
		struct http_exchange *next = loop->pool->next;

		exchange_destroy(loop->pool);
		loop->pool = next;
	}
	loop->coder = coder_free(loop->coder);
	free(loop->scratch);
	free(loop->incoming);
	pthread_mutex_destroy(&loop->lock);
}

const char *loop_date(struct http_loop *loop)
{
	time_t now = time(NULL);
	struct tm tm;

	if (now != loop->date_s) {
		loop->date_s = now;
		gmtime_r(&now, &tm);
		strftime(loop->date, sizeof(loop->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	}
	return loop->date;
}

static void closed(uv_handle_t *handle)
{
	free(container_of(handle, struct http_conn, poll));
}

static void conn_close(struct http_conn *c)
{
	struct http_loop *loop = c->loop;

	if (c->closed)
		return;
	c->closed = true;
	conn_done(c);
	tls_close(c);
	if (c->prev)
		c->prev->next = c->next;
	else
		loop->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	loop->conn_count--;
	atomic_fetch_sub(&loop->load, 1);
	atomic_fetch_sub_explicit(&loop->server->counters.connections_open, 1,
				  memory_order_relaxed);
	if (c->poll_ready) {
		int fd = c->fd;

		/* First forgotten by this loop, then closed: another may get the number at once. */
		uv_close((uv_handle_t *)&c->poll, closed);
		close(fd);
	} else {
		close(c->fd);
		free(c);
	}
}

/* What is ready for the socket; 0 when nothing is. */
static int pieces(struct http_conn *c, struct iovec iov[2])
{
	struct slice s;

	if (!c->tls)
		return conn_output(c, iov);
	tls_encrypt(c);
	s = tls_pending(c);
	iov[0] = (struct iovec){(char *)(uintptr_t)s.p, s.n};
	return s.n > 0;
}

/* Sends until there is nothing or the socket is full. */
static void flush(struct http_conn *c)
{
	struct iovec iov[2];
	int n;

	for (int turn = 0; turn < WRITES_PER_EVENT && !c->broken; turn++) {
		struct msghdr message = {.msg_iov = iov};
		ssize_t sent;

		n = pieces(c, iov);
		if (n == 0) {
			c->write_deadline_ms = 0;
			return;
		}
		message.msg_iovlen = (size_t)n;
		sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
		if (sent < 0) {
			if (errno != EAGAIN && errno != EINTR)
				c->broken = true;
			break;
		}
		http_count(&c->loop->server->counters.bytes_out, (uint64_t)sent);
		c->write_deadline_ms = 0;
		if (c->tls)
			tls_sent(c, (size_t)sent);
		else
			conn_sent(c, (size_t)sent);
	}
	if (c->write_deadline_ms == 0)
		c->write_deadline_ms = c->loop->now_ms + c->loop->server->limits.write_ms;
}

static bool wants_read(struct http_conn *c)
{
	if (c->tls && !tls_is_open(c))
		return !c->closing && !c->broken;
	return conn_wants_read(c);
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Most clients send nothing while they wait for an answer: the socket stays as it is then, for to
 * look elsewhere and back takes four calls of the system.  Only when something does come it is
 * asked for its end alone. */
static int reading_events(struct http_conn *c)
{
	if (wants_read(c)) {
		c->early = false;
		return UV_READABLE | UV_DISCONNECT;
	}
	if (c->hung_up)
		return 0;
	return c->early ? UV_DISCONNECT : UV_READABLE | UV_DISCONNECT;
}

/* After anything has happened: decrypt, send, close or wait for the right thing. */
void loop_run(struct http_conn *c)
{
	struct iovec iov[2];
	bool unsent;
	int events;

	if (c->closed || !c->poll_ready)
		return;
	if (c->tls)
		tls_pump(c);
	flush(c);
	if (c->tls && !c->broken)
		tls_pump(c); /* the answer may have made room for the next request */
	unsent = !c->broken && pieces(c, iov) > 0;
	if (!c->broken && !unsent && conn_is_silent(c) && !c->shut) {
		c->shut = true;
		if (c->tls) {
			tls_shutdown(c);
			flush(c);
			unsent = !c->broken && tls_pending(c).n > 0;
		}
		if (!unsent)
			shutdown(c->fd, SHUT_WR);
	}
	if (c->broken || (!unsent && conn_wants_close(c))) {
		conn_close(c);
		return;
	}
	events = reading_events(c) | (unsent ? UV_WRITABLE : 0);
	if (events == c->poll_events)
		return;
	c->poll_events = events;
	if (events)
		uv_poll_start(&c->poll, events, on_poll);
	else
		uv_poll_stop(&c->poll);
}

static void receive(struct http_conn *c)
{
	for (int turn = 0; turn < READS_PER_EVENT && wants_read(c); turn++) {
		struct iovec to = c->tls ? (struct iovec){c->loop->scratch, CONN_SCRATCH}
					 : conn_read_target(c);
		ssize_t n = recv(c->fd, to.iov_base, to.iov_len, 0);

		if (n < 0) {
			if (errno != EAGAIN && errno != EINTR)
				c->broken = true;
			return;
		}
		if (n == 0) {
			conn_eof(c);
			return;
		}
		http_count(&c->loop->server->counters.bytes_in, (uint64_t)n);
		if (c->tls) {
			tls_received(c, to.iov_base, (size_t)n);
			tls_pump(c);
		} else {
			conn_input(c, to.iov_base, (size_t)n);
		}
		if ((size_t)n < to.iov_len)
			return;
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct http_conn *c = container_of(poll, struct http_conn, poll);

	c->loop->now_ms = (int64_t)uv_now(&c->loop->uv);
	if (status < 0)
		c->broken = true;
	else if (wants_read(c) && (events & (UV_READABLE | UV_DISCONNECT)))
		receive(c);
	else if (events & UV_DISCONNECT) {
		c->hung_up = true;
		conn_hangup(c);
	} else if (events & UV_READABLE) {
		c->early = true;
	}
	loop_run(c);
}

static void set_socket(int fd)
{
	int on = 1, idle = KEEPALIVE_S, step = KEEPALIVE_STEP_S;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &step, sizeof(step));
}

void loop_adopt(struct http_loop *loop, const struct accepted *a)
{
	struct http_conn *c = malloc(sizeof(*c));

	if (!c || loop->draining) {
		free(c);
		close(a->fd);
		atomic_fetch_sub(&loop->load, 1);
		atomic_fetch_sub_explicit(&loop->server->counters.connections_open, 1,
					  memory_order_relaxed);
		return;
	}
	conn_init(c, loop, a->endpoint->tag, a->endpoint->loopback, a->peer);
	c->fd = a->fd;
	c->next = loop->conns;
	if (c->next)
		c->next->prev = c;
	loop->conns = c;
	loop->conn_count++;
	set_socket(c->fd);
	if (uv_poll_init_socket(&loop->uv, &c->poll, c->fd) < 0) {
		conn_close(c);
		return;
	}
	c->poll_ready = true;
	if (a->endpoint->is_tls && tls_open(c) < 0)
		c->broken = true;
	if (!c->broken)
		receive(c); /* most clients have sent something already */
	loop_run(c);
}

/* Other threads cannot give back what this one's heap has left over. */
static void tidy(struct http_loop *loop)
{
	unsigned asked = atomic_load_explicit(&loop->server->tidy, memory_order_relaxed);

	if (asked != loop->tidied)
		heap_trim_own();
	loop->tidied = asked;
}

static void on_tick(uv_timer_t *timer)
{
	struct http_loop *loop = container_of(timer, struct http_loop, timer);
	struct http_conn *next;

	loop->now_ms = (int64_t)uv_now(&loop->uv);
	for (struct http_conn *c = loop->conns; c; c = next) {
		next = c->next;
		conn_tick(c, loop->now_ms);
		if (c->write_deadline_ms && loop->now_ms >= c->write_deadline_ms) {
			http_count(&loop->server->counters.refused[HTTP_REFUSED_WRITE_TIME], 1);
			c->broken = true;
		}
		if (loop->draining && loop->now_ms >= loop->drain_deadline_ms)
			c->broken = true;
		loop_run(c);
	}
	tidy(loop);
	if (loop->draining && loop->conn_count == 0 && loop->live == 0) {
		uv_close((uv_handle_t *)&loop->timer, NULL);
		post_close(loop);
	}
}

void loop_drain(struct http_loop *loop)
{
	struct http_conn *next;

	loop->draining = true;
	loop->drain_deadline_ms = loop->now_ms + loop->server->drain_ms;
	if (loop == loop->server->loops)
		listen_close(loop->server);
	for (struct http_conn *c = loop->conns; c; c = next) {
		next = c->next;
		conn_drain(c);
		loop_run(c);
	}
	uv_timer_start(&loop->timer, on_tick, DRAIN_TICK_MS, DRAIN_TICK_MS);
}

int loop_open(struct http_loop *loop)
{
	int r = uv_loop_init(&loop->uv);

	if (r < 0)
		return r;
	r = post_open(loop);
	if (r < 0) {
		uv_loop_close(&loop->uv);
		return r;
	}
	uv_timer_init(&loop->uv, &loop->timer);
	uv_timer_start(&loop->timer, on_tick, (uint64_t)loop->server->tick_ms,
		       (uint64_t)loop->server->tick_ms);
	loop->uv_ready = true;
	loop->now_ms = (int64_t)uv_now(&loop->uv);
	return 0;
}

static void *run_thread(void *context)
{
	struct http_loop *loop = context;

	loop->self = pthread_self();
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	return NULL;
}

int loop_start(struct http_loop *loop)
{
	int r = pthread_create(&loop->thread, NULL, run_thread, loop);

	loop->thread_ready = r == 0;
	if (r == 0)
		pthread_setname_np(loop->thread, "network"); /* for top and ps, and to be watched */
	return -r;
}

void loop_stop(struct http_loop *loop)
{
	if (!loop->uv_ready)
		return;
	if (loop->thread_ready) {
		post_stop(loop);
		pthread_join(loop->thread, NULL);
	} else {
		if (loop == loop->server->loops)
			listen_close(loop->server);
		uv_close((uv_handle_t *)&loop->timer, NULL);
		post_close(loop);
		uv_run(&loop->uv, UV_RUN_DEFAULT);
	}
	/* A thread that posted last may still hold the lock. */
	pthread_mutex_lock(&loop->lock);
	loop->uv_ready = false;
	pthread_mutex_unlock(&loop->lock);
	post_done(loop);
	uv_loop_close(&loop->uv);
}
