/* http/h1.c - HTTP/1 on a connection: one request at a time, answers in order.
 *
 *   HEAD ─▶ LENGTH or CHUNKED ─▶ HANDLER ─▶ REPLY ─▶ HEAD …
 *
 * Bytes of a further request that came early (pipelining) wait in conn.in.  A body of known length
 * is read straight into its buffer: h1_read_target() points there. */
#include <stdio.h>

#include "base/cleanup.h"
#include "http/loop_int.h"

#define HEAD_READ  ((size_t)16 << 10) /* one read while a head is awaited */
#define BODY_READ  ((size_t)1 << 20)  /* one read of a body at most */
#define SMALL_BODY ((size_t)16 << 10) /* copied behind its head instead of sent from its place */

bool h1_wants_read(const struct http_conn *c)
{
	if (c->h1.eof)
		return false;
	switch (c->h1.state) {
	case H1_HEAD:
		return conn_pending(c) < CONN_OUT_HIGH;
	case H1_LENGTH:
	case H1_CHUNKED:
		return true;
	default:
		return false;
	}
}

struct iovec h1_read_target(struct http_conn *c)
{
	struct h1 *h = &c->h1;

	if (h->state == H1_HEAD)
		return (struct iovec){c->loop->scratch, HEAD_READ};
	if (h->state == H1_LENGTH) {
		struct buffer *wire = &h->x->wire;
		size_t room = wire->capacity - wire->n;

		if (room)
			return (struct iovec){wire->p + wire->n,
					      MIN(MIN(room, BODY_READ), h->body_left)};
	}
	return (struct iovec){c->loop->scratch, CONN_SCRATCH};
}

/* The exchange is over: on to the next head, or to the end. */
static void finish(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	const struct http_limits *limits = &c->loop->server->limits;

	exchange_detach(h->x);
	h->x = NULL;
	c->tail = slice_of(NULL, 0);
	c->served++;
	if (!h->keep_alive) {
		c->closing = true;
		c->deadline_ms = c->loop->now_ms + limits->linger_ms;
		return;
	}
	h->state = H1_HEAD;
	h->scan = (struct h1_scan){0};
	c->head_begun = c->in.n > c->in_at;
	c->deadline_ms = c->loop->now_ms + (c->head_begun ? limits->header_ms : limits->idle_ms);
}

static void append_head(struct http_conn *c, struct http_exchange *x, bool bodyless)
{
	struct h1 *h = &c->h1;
	struct buffer *out = &c->out;

	buffer_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", x->status, http_status_text(x->status),
		      loop_date(c->loop));
	if (x->content_type.n) {
		buffer_text(out, "Content-Type: ");
		buffer_slice(out, x->content_type);
		buffer_text(out, "\r\n");
	}
	for (struct reply_header *r = x->reply_headers; r; r = r->next) {
		buffer_slice(out, r->name);
		buffer_text(out, ": ");
		buffer_slice(out, r->value);
		buffer_text(out, "\r\n");
	}
	if (h->chunked_reply)
		buffer_text(out, "Transfer-Encoding: chunked\r\n");
	else if (!x->stream.pull && !bodyless)
		buffer_printf(out, "Content-Length: %zu\r\n", x->reply.n);
	if (!h->keep_alive)
		buffer_text(out, "Connection: close\r\n");
	else if (x->req.version == 10)
		buffer_text(out, "Connection: keep-alive\r\n");
	buffer_text(out, "\r\n");
}

void h1_answer(struct http_conn *c, struct http_exchange *x)
{
	struct h1 *h = &c->h1;
	bool bodyless = x->status == 204 || x->status == 304;
	bool is_head = slice_eq(x->req.method, SLICE("HEAD"));

	http_count(&c->loop->server->counters.responses[x->status / 100 % 6], 1);
	if (h->state == H1_LENGTH || h->state == H1_CHUNKED) {
		/* The rest of the body is not read as a request; the client gets time to notice. */
		h->keep_alive = false;
		c->linger = true;
	}
	if (c->loop->draining || h->eof)
		h->keep_alive = false;
	h->chunked_reply = x->stream.pull && x->req.version == 11 && !bodyless;
	if (x->stream.pull && x->req.version == 10)
		h->keep_alive = false; /* the end of the body is the end of the connection */
	h->state = H1_REPLY;
	x->state = EXCHANGE_REPLY;
	append_head(c, x, bodyless);
	if (bodyless || is_head) {
		x->reply = slice_of(NULL, 0);
		exchange_stream_done(x);
		x->stream.pull = NULL;
		h->chunked_reply = false;
	}
	if (!x->stream.pull && x->reply.n <= SMALL_BODY) {
		buffer_slice(&c->out, x->reply);
		x->reply = slice_of(NULL, 0);
		if (!c->out.failed)
			finish(c);
	} else if (!x->stream.pull) {
		c->tail = x->reply;
	}
	c->broken |= c->out.failed;
}

/* Puts the next piece of a streamed body into the output; true when the reply is over. */
static bool send_piece(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	struct http_exchange *x = h->x;

	switch (exchange_pull(x)) {
	case HTTP_PULL_MORE:
		if (h->chunked_reply)
			buffer_printf(&c->out, "%zx\r\n", x->reply.n);
		buffer_slice(&c->out, x->reply);
		if (h->chunked_reply)
			buffer_text(&c->out, "\r\n");
		x->reply = slice_of(NULL, 0);
		break;
	case HTTP_PULL_LATER:
		break;
	case HTTP_PULL_END:
		if (h->chunked_reply)
			buffer_text(&c->out, "0\r\n\r\n");
		c->broken |= c->out.failed;
		return true;
	case HTTP_PULL_ABORT:
		c->broken = true;
		break;
	}
	c->broken |= c->out.failed;
	return false;
}

/* Parses a head from `in`.  Returns the bytes taken; 0 when more are needed or all is over. */
static size_t take_head(struct http_conn *c, struct slice in)
{
	const struct http_limits *limits = &c->loop->server->limits;
	struct http_header headers[HTTP_MAX_HEADERS];
	struct h1 *h = &c->h1;
	struct http_exchange *x;
	struct h1_head head = {.content_length = -1};
	struct h1_error error;
	int64_t taken;
	ptrdiff_t delta;

	if (!c->head_begun) {
		c->head_begun = true;
		c->deadline_ms = c->loop->now_ms + limits->header_ms;
	}
	taken = h1_parse(in, &h->scan, limits->header_bytes, headers, limits->header_count, &head,
			 &error);
	if (taken == 0)
		return 0;
	x = exchange_new(c->loop, c);
	if (!x) {
		c->broken = true;
		return 0;
	}
	h->x = x;
	x->req.version = 11;
	if (taken < 0) {
		c->linger = true;
		h->keep_alive = false;
		exchange_refuse(x, error.status,
				error.status == 431 ? HTTP_REFUSED_HEADER_SIZE
						    : HTTP_REFUSED_MALFORMED,
				"%s%s", error.text, error.status == 431 ? " (limit)" : "");
		h1_answer(c, x);
		return 0;
	}

	/* The head moves to memory that lives as long as the request. */
	buffer_append(&x->head, in.p, (size_t)taken);
	if (x->head.failed) {
		c->broken = true;
		return 0;
	}
	delta = (intptr_t)x->head.p - (intptr_t)in.p;
#define MOVED(s) slice_of((const char *)((intptr_t)(s).p + delta), (s).n)
	for (size_t i = 0; i < head.count; i++)
		x->headers[i] =
			(struct http_header){MOVED(headers[i].name), MOVED(headers[i].value)};
	x->req.method = MOVED(head.method);
	if (head.authority.p)
		x->req.authority = MOVED(head.authority);
	head.target = MOVED(head.target);
#undef MOVED
	x->req.header_count = head.count;
	x->req.version = head.version;
	h->keep_alive = head.keep_alive;
	h->continue_due = head.expect_continue;
	h->body_left = head.content_length > 0 ? (uint64_t)head.content_length : 0;
	h->chunked = (struct chunked){0};
	h->state = head.chunked ? H1_CHUNKED : h->body_left ? H1_LENGTH : H1_HANDLER;

	exchange_begin(x, head.target);
	if (!x->answered)
		exchange_expect(x, h->body_left);
	if (!x->answered && h->body_left)
		exchange_body_room(x, (size_t)h->body_left);
	if (x->answered) {
		h1_answer(c, x);
	} else if (h->state == H1_HANDLER) {
		exchange_dispatch(x);
		if (x->answered)
			h1_answer(c, x);
	} else if (h->continue_due) {
		buffer_text(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
	}
	return (size_t)taken;
}

static void body_complete(struct http_conn *c)
{
	struct http_exchange *x = c->h1.x;

	c->h1.state = H1_HANDLER;
	exchange_dispatch(x);
	if (x->answered)
		h1_answer(c, x);
}

/* n bytes of a body of known length are in place. */
static void body_grew(struct http_conn *c, size_t n)
{
	struct http_exchange *x = c->h1.x;

	x->wire.n += n;
	x->req.wire_bytes = (int64_t)x->wire.n;
	c->h1.body_left -= n;
	if (c->h1.body_left == 0)
		body_complete(c);
	else if (x->wire.n == x->wire.capacity && !exchange_body_room(x, (size_t)c->h1.body_left))
		h1_answer(c, x);
}

static size_t take_length(struct http_conn *c, const char *p, size_t n)
{
	struct http_exchange *x = c->h1.x;

	n = MIN(n, x->wire.capacity - x->wire.n);
	n = (size_t)MIN((uint64_t)n, c->h1.body_left);
	memcpy(x->wire.p + x->wire.n, p, n);
	body_grew(c, n);
	return n;
}

static size_t take_chunked(struct http_conn *c, const char *p, size_t n)
{
	struct http_exchange *x = c->h1.x;
	struct slice in = slice_of(p, n), data;
	const char *why = NULL;

	for (;;) {
		switch (chunked_next(&c->h1.chunked, &in, &data, &why)) {
		case CHUNKED_DATA:
			if (!exchange_body_room(x, data.n)) {
				h1_answer(c, x);
				return n;
			}
			memcpy(x->wire.p + x->wire.n, data.p, data.n);
			x->wire.n += data.n;
			x->req.wire_bytes = (int64_t)x->wire.n;
			continue;
		case CHUNKED_MORE:
			return n;
		case CHUNKED_END:
			body_complete(c);
			return n - in.n;
		case CHUNKED_ERROR:
			exchange_refuse(x, 400, HTTP_REFUSED_MALFORMED, "%s", why);
			h1_answer(c, x);
			return n;
		}
	}
}

/* Understands as much as it can; returns how much. */
static size_t consume(struct http_conn *c, const char *p, size_t n)
{
	size_t at = 0, taken;

	while (at < n && !c->closing && !c->broken) {
		switch (c->h1.state) {
		case H1_HEAD:
			if (conn_pending(c) >= CONN_OUT_HIGH)
				return at;
			taken = take_head(c, slice_of(p + at, n - at));
			if (taken == 0)
				return at;
			at += taken;
			break;
		case H1_LENGTH:
			at += take_length(c, p + at, n - at);
			break;
		case H1_CHUNKED:
			at += take_chunked(c, p + at, n - at);
			break;
		default:
			return at;
		}
	}
	return at;
}

/* Goes on with what waits in conn.in. */
static void consume_waiting(struct http_conn *c)
{
	c->in_at += consume(c, c->in.p + c->in_at, c->in.n - c->in_at);
	if (c->in_at == c->in.n) {
		c->in_at = 0;
		buffer_clear(&c->in);
	} else if (c->in_at >= c->in.capacity / 2) {
		memmove(c->in.p, c->in.p + c->in_at, c->in.n - c->in_at);
		c->in.n -= c->in_at;
		c->in_at = 0;
	}
}

void h1_input(struct http_conn *c, char *p, size_t n)
{
	struct h1 *h = &c->h1;

	if (h->state == H1_LENGTH && p == h->x->wire.p + h->x->wire.n) {
		body_grew(c, n);
		h1_advance(c);
		return;
	}
	if (c->in.n == c->in_at) {
		size_t taken = consume(c, p, n);

		buffer_append(&c->in, p + taken, n - taken);
	} else {
		buffer_append(&c->in, p, n);
		consume_waiting(c);
	}
	c->broken |= c->in.failed;
	h1_advance(c);
}

void h1_advance(struct http_conn *c)
{
	struct h1 *h = &c->h1;

	while (!c->closing && !c->broken) {
		if (h->state == H1_REPLY) {
			if (conn_pending(c) > 0)
				return;
			if (!h->x->stream.pull || (!h->x->stream_waits && send_piece(c)))
				finish(c);
			else if (conn_pending(c) == 0)
				return; /* nothing now: a wake will come */
		} else if (c->in.n > c->in_at) {
			size_t before = c->in.n - c->in_at;

			consume_waiting(c);
			if (c->in.n - c->in_at == before)
				break;
		} else {
			break;
		}
	}
	if (h->eof && h->state == H1_HEAD && !c->closing)
		c->closing = true;
}

void h1_eof(struct http_conn *c)
{
	struct h1 *h = &c->h1;

	h->eof = true;
	if (h->state == H1_LENGTH || h->state == H1_CHUNKED)
		c->broken = true;
	else if (h->state == H1_HEAD)
		c->closing = true; /* answers on their way still go out */
	else
		conn_hangup(c);
}

void h1_tick(struct http_conn *c, int64_t now_ms)
{
	struct h1 *h = &c->h1;

	if (h->x && conn_body_late(h->x, now_ms)) {
		conn_answer(c, h->x);
	} else if (h->state == H1_HEAD && now_ms >= c->deadline_ms) {
		if (!c->head_begun) {
			c->closing = true;
			return;
		}
		h->x = exchange_new(c->loop, c);
		if (!h->x) {
			c->broken = true;
			return;
		}
		h->x->req.version = 11;
		h->keep_alive = false;
		exchange_refuse(h->x, 408, HTTP_REFUSED_HEADER_TIME,
				"the headers took longer than %d ms (limit)",
				c->loop->server->limits.header_ms);
		conn_answer(c, h->x);
	}
}

void h1_drain(struct http_conn *c)
{
	c->h1.keep_alive = false;
	if (c->h1.state == H1_HEAD && !c->head_begun)
		c->closing = true;
}
