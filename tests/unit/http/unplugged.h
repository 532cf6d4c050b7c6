/* tests/unit/http/unplugged.h - a connection without a socket: bytes in, bytes out, and a clock
 * that moves when told.  For unit tests and for the fuzzer. */
#ifndef CAUSET_TESTS_UNIT_HTTP_UNPLUGGED_H
#define CAUSET_TESTS_UNIT_HTTP_UNPLUGGED_H

#include <assert.h>

#include "http/listen_int.h"

struct unplugged {
	struct http_server server;
	struct http_loop loop;
	struct http_conn conn;
	struct buffer sent;         /* what the client would have received */
	struct http_request *later; /* the handler keeps it for the test to answer */
};

static inline void unplugged_init(struct unplugged *u,
				  void (*admit)(struct http_request *req, void *context),
				  void (*dispatch)(struct http_request *req, void *context))
{
	*u = (struct unplugged){.server = {.admit = admit, .dispatch = dispatch, .context = u}};
	limits_default(&u->server.limits);
	if (loop_init(&u->loop, &u->server) < 0)
		abort();
	u->loop.now_ms = 1000;
}

static inline void unplugged_connect(struct unplugged *u)
{
	conn_init(&u->conn, &u->loop, 7, true, "127.0.0.1:1");
}

/* Takes all output and everything that follows from its being sent. */
static inline void unplugged_pump(struct unplugged *u)
{
	struct iovec iov[2];
	int n;

	for (;;) {
		size_t all = 0;

		loop_take_posts(&u->loop);
		n = u->conn.broken ? 0 : conn_output(&u->conn, iov);
		if (n == 0 && !u->loop.post_head)
			return;
		for (int i = 0; i < n; i++) {
			buffer_append(&u->sent, iov[i].iov_base, iov[i].iov_len);
			all += iov[i].iov_len;
		}
		conn_sent(&u->conn, all);
	}
}

/* Gives bytes as a transport would: where the connection wants them, as long as it wants them.
 * Returns how many it did not want. */
static inline size_t unplugged_feed(struct unplugged *u, struct slice bytes, size_t step)
{
	while (bytes.n && conn_wants_read(&u->conn)) {
		struct iovec to = conn_read_target(&u->conn);
		size_t n = bytes.n < step ? bytes.n : step;

		assert(to.iov_len > 0);
		n = n < to.iov_len ? n : to.iov_len;
		memcpy(to.iov_base, bytes.p, n);
		conn_input(&u->conn, to.iov_base, n);
		bytes = slice_from(bytes, n);
		unplugged_pump(u);
	}
	return bytes.n;
}

static inline void unplugged_tick(struct unplugged *u, int64_t ms)
{
	u->loop.now_ms += ms;
	conn_tick(&u->conn, u->loop.now_ms);
	unplugged_pump(u);
}

static inline void unplugged_disconnect(struct unplugged *u)
{
	conn_done(&u->conn);
	u->conn = (struct http_conn){0};
	loop_take_posts(&u->loop);
}

static inline void unplugged_done(struct unplugged *u)
{
	loop_take_posts(&u->loop);
	assert(u->loop.live == 0);
	assert(atomic_load(&u->server.counters.memory_bytes) == 0);
	loop_done(&u->loop);
	buffer_done(&u->sent);
}

#endif
