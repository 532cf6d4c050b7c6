/* http/conn.c - a connection without its socket: which protocol, what to send, what time is up. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/loop_int.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
#define PREFACE_LENGTH (sizeof(preface) - 1)
#define KEEP_BUFFER    ((size_t)64 << 10) /* memory an idle connection may hold on to */

void conn_init(struct http_conn *c, struct http_loop *loop, int tag, bool check_host,
	       const char *peer)
{
	*c = (struct http_conn){.loop = loop, .tag = tag, .check_host = check_host, .fd = -1};
	strncpy(c->peer, peer, sizeof(c->peer) - 1);
	c->deadline_ms = loop->now_ms + loop->server->limits.header_ms;
}

void conn_done(struct http_conn *c)
{
	h2_stop(c);
	while (c->exchanges)
		exchange_detach(c->exchanges);
	buffer_done(&c->in);
	buffer_done(&c->out);
	free((char *)(uintptr_t)c->client_subject.p);
	c->client_subject = slice_of(NULL, 0);
}

struct iovec conn_read_target(struct http_conn *c)
{
	if (c->protocol == CONN_H1 && !c->closing)
		return h1_read_target(c);
	return (struct iovec){c->loop->scratch, CONN_SCRATCH};
}

bool conn_wants_read(const struct http_conn *c)
{
	if (c->broken)
		return false;
	if (c->closing)
		return c->linger;
	if (c->protocol == CONN_H2)
		return h2_wants_read(c);
	return c->protocol == CONN_DETECT || h1_wants_read(c);
}

/* True when the protocol is known; everything is then in c->in or still at p. */
static bool detect(struct http_conn *c, const char *p, size_t n)
{
	size_t had = c->in.n, look = MIN(n, PREFACE_LENGTH - had);

	if (memcmp(p, preface + had, look) != 0) {
		c->protocol = CONN_H1;
	} else if (had + look == PREFACE_LENGTH) {
		c->protocol = CONN_H2;
		if (h2_start(c) < 0)
			c->broken = true;
	}
	return c->protocol != CONN_DETECT;
}

void conn_input(struct http_conn *c, char *p, size_t n)
{
	if (c->closing || c->broken || n == 0)
		return;
	if (c->protocol == CONN_DETECT) {
		if (!detect(c, p, n)) {
			buffer_append(&c->in, p, n);
			c->broken = c->in.failed;
			return;
		}
		if (c->protocol == CONN_H2 && c->in.n) {
			h2_input(c, c->in.p, c->in.n);
			buffer_done(&c->in);
		}
	}
	if (c->protocol == CONN_H1)
		h1_input(c, p, n);
	else if (!c->broken && !c->closing)
		h2_input(c, p, n);
}

void conn_eof(struct http_conn *c)
{
	if (c->protocol == CONN_H1 && !c->closing)
		h1_eof(c);
	else
		c->broken = true;
}

void conn_hangup(struct http_conn *c)
{
	if (c->protocol == CONN_H1 && c->h1.x)
		exchange_cancel(c->h1.x);
}

int conn_output(struct http_conn *c, struct iovec iov[2])
{
	int n = 0;

	if (c->protocol == CONN_H2 && !c->broken)
		h2_output(c);
	if (c->out.n > c->out_at)
		iov[n++] = (struct iovec){c->out.p + c->out_at, c->out.n - c->out_at};
	if (c->tail.n)
		iov[n++] = (struct iovec){(char *)(uintptr_t)c->tail.p, c->tail.n};
	return n;
}

void conn_sent(struct http_conn *c, size_t n)
{
	size_t first = MIN(n, c->out.n - c->out_at);

	c->out_at += first;
	c->tail = slice_from(c->tail, n - first);
	if (c->out_at == c->out.n) {
		c->out_at = 0;
		buffer_clear(&c->out);
		if (c->out.capacity > 2 * CONN_OUT_HIGH)
			buffer_done(&c->out);
	}
	if (c->protocol == CONN_H1 && !c->broken)
		h1_advance(c);
}

bool conn_is_silent(const struct http_conn *c)
{
	return c->closing && conn_pending(c) == 0;
}

bool conn_wants_close(const struct http_conn *c)
{
	return c->broken || (conn_is_silent(c) && !c->linger);
}

bool conn_body_late(struct http_exchange *x, int64_t now_ms)
{
	const struct http_limits *limits = &x->loop->server->limits;
	int64_t got = x->req.wire_bytes;

	if (x->state != EXCHANGE_BODY || x->grpc || now_ms < x->body_deadline_ms)
		return false;
	if ((got - x->body_mark) * 1000 >= (int64_t)limits->body_rate * limits->body_ms) {
		x->body_mark = got;
		x->body_deadline_ms = now_ms + limits->body_ms;
		return false;
	}
	exchange_refuse(x, 408, HTTP_REFUSED_BODY_TIME,
			"the body comes slower than %d bytes a second (limit)", limits->body_rate);
	return true;
}

void conn_tick(struct http_conn *c, int64_t now_ms)
{
	if (c->broken)
		return;
	if (c->closing) {
		if (c->linger && now_ms >= c->deadline_ms)
			c->broken = true;
	} else if (c->protocol == CONN_H2) {
		h2_tick(c, now_ms);
	} else if (c->protocol == CONN_H1) {
		h1_tick(c, now_ms);
	} else if (now_ms >= c->deadline_ms) {
		http_count(&c->loop->server->counters.refused[HTTP_REFUSED_HEADER_TIME], 1);
		c->broken = true;
	}
	/* An idle connection keeps no large buffers. */
	if (c->exchange_count == 0 && c->in.n == 0 && c->in.capacity > KEEP_BUFFER)
		buffer_done(&c->in);
	if (c->exchange_count == 0 && c->out.n == 0 && c->out.capacity > KEEP_BUFFER)
		buffer_done(&c->out);
}

void conn_drain(struct http_conn *c)
{
	if (c->closing || c->broken)
		return;
	if (c->protocol == CONN_H2)
		h2_drain(c);
	else if (c->protocol == CONN_H1)
		h1_drain(c);
	else
		c->broken = true;
}

void conn_answer(struct http_conn *c, struct http_exchange *x)
{
	if (c->protocol == CONN_H2) {
		h2_answer(c, x);
	} else {
		h1_answer(c, x);
		h1_advance(c);
	}
}

void conn_wake(struct http_conn *c, struct http_exchange *x)
{
	x->stream_waits = false;
	if (c->protocol == CONN_H2)
		h2_wake(c, x);
	else
		h1_advance(c);
}
