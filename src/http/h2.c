/* http/h2.c - HTTP/2 on a connection, with nghttp2 for frames, HPACK and flow control.
 *
 * Windows are several MiB, so that a client at full speed never waits for an update; bytes are
 * given back to the client's window as soon as they are in the request's buffer, except for a
 * paused gRPC stream.  Memory is bounded by the body limits, not by the windows. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "http/grpc_call_int.h"
#include "http/grpc_frame.h"
#include "http/loop_int.h"

#define STREAM_WINDOW  (4 << 20)
#define CONN_WINDOW    (16 << 20)
#define MAX_FRAME      (256 << 10)
#define FLOOD_MS       10000
#define CONTROL_FRAMES 20000 /* pings, settings, priorities and empty data per FLOOD_MS */

static struct http_exchange *exchange_at(nghttp2_session *session, int32_t stream_id)
{
	return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http_conn *c = user;
	const struct http_limits *limits = &c->loop->server->limits;
	struct http_exchange *x;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	x = exchange_new(c->loop, c);
	if (!x)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	x->stream_id = frame->hd.stream_id;
	x->req.version = 20;
	x->body_deadline_ms = c->loop->now_ms + limits->header_ms;
	/* All of them at once: slices into it must not move. */
	if (!buffer_reserve(&x->head, limits->header_bytes)) {
		exchange_detach(x);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	nghttp2_session_set_stream_user_data(session, x->stream_id, x);
	return 0;
}

static struct slice keep(struct http_exchange *x, const uint8_t *p, size_t n)
{
	char *to = x->head.p + x->head.n;

	memcpy(to, p, n);
	x->head.n += n;
	return slice_of(to, n);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *user)
{
	struct http_conn *c = user;
	struct http_exchange *x = exchange_at(session, frame->hd.stream_id);
	const struct http_limits *limits = &c->loop->server->limits;
	struct slice n = slice_of(name, name_n), v;

	if (!x || frame->headers.cat != NGHTTP2_HCAT_REQUEST || x->head_overflow)
		return 0;
	if (x->head.n + name_n + value_n > limits->header_bytes ||
	    x->req.header_count == limits->header_count) {
		x->head_overflow = true;
		return 0;
	}
	v = keep(x, value, value_n);
	if (name_n && name[0] == ':') {
		if (slice_eq(n, SLICE(":method")))
			x->req.method = v;
		else if (slice_eq(n, SLICE(":path")))
			x->target = v;
		else if (slice_eq(n, SLICE(":authority")))
			x->req.authority = v;
		return 0;
	}
	x->headers[x->req.header_count++] = (struct http_header){keep(x, name, name_n), v};
	return 0;
}

static void dispatch(struct http_conn *c, struct http_exchange *x)
{
	exchange_dispatch(x);
	if (x->answered)
		h2_answer(c, x);
}

/* All headers are there. */
static void begin(struct http_conn *c, struct http_exchange *x)
{
	struct slice length;
	uint64_t expected = 0;

	if (!x->req.authority.p)
		x->req.authority = http_header_get(&x->req, "host");
	if (x->head_overflow) {
		exchange_refuse(x, 431, HTTP_REFUSED_HEADER_SIZE,
				"the headers are too long (limit)");
	} else if (x->target.n == 0 ||
		   (x->target.p[0] != '/' && !slice_eq(x->target, SLICE("*")))) {
		exchange_refuse(x, 400, HTTP_REFUSED_MALFORMED, "the request target is not a path");
	} else {
		exchange_begin(x, x->target);
	}
	length = http_header_get(&x->req, "content-length");
	if (!x->answered && !x->grpc && length.p) {
		if (slice_parse_u64(length, &expected) < 0)
			expected = UINT64_MAX; /* too large for 64 bits */
		exchange_expect(x, expected);
		if (!x->answered && expected)
			exchange_body_room(x, (size_t)expected);
	}
	if (x->answered) {
		h2_answer(c, x);
		return;
	}
	if (slice_eq_nocase(http_header_get(&x->req, "expect"), SLICE("100-continue"))) {
		nghttp2_nv nv = {(uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "100", 7,
				 3, NGHTTP2_NV_FLAG_NONE};

		nghttp2_submit_headers(c->h2.session, NGHTTP2_FLAG_NONE, x->stream_id, NULL, &nv, 1,
				       NULL);
	}
}

/* The client has sent its last byte. */
static void body_ended(struct http_conn *c, struct http_exchange *x)
{
	x->body_ended = true;
	if (x->answered)
		return;
	if (x->grpc) {
		grpc_call_half_close(x);
		if (x->refused)
			h2_answer(c, x);
	} else {
		dispatch(c, x);
	}
}

/* Counts what costs us something and brings the client nothing. */
static void count_flood(struct http_conn *c, bool reset)
{
	struct h2 *h = &c->h2;

	if (c->loop->now_ms - h->flood_since_ms > FLOOD_MS) {
		h->flood_since_ms = c->loop->now_ms;
		h->resets = h->controls = 0;
	}
	if (reset)
		h->resets++;
	else
		h->controls++;
	if (h->flooded ||
	    (h->resets <= c->loop->server->limits.resets && h->controls <= CONTROL_FRAMES))
		return;
	h->flooded = true;
	http_count(&c->loop->server->counters.refused[HTTP_REFUSED_FLOOD], 1);
	nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http_conn *c = user;
	struct http_exchange *x;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
		if (frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 &&
		    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
			count_flood(c, false);
		x = exchange_at(session, frame->hd.stream_id);
		if (!x)
			return 0;
		if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
			begin(c, x);
		if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
			body_ended(c, x);
		return 0;
	case NGHTTP2_RST_STREAM:
		count_flood(c, true);
		return 0;
	case NGHTTP2_WINDOW_UPDATE:
	case NGHTTP2_GOAWAY:
		return 0;
	default:
		count_flood(c, false);
		return 0;
	}
}

/* Makes room for the whole body when its length is known, so that it does not grow in steps. */
static bool append_body(struct http_exchange *x, const uint8_t *p, size_t n)
{
	struct grpc_frame frame;

	if (x->req.is_grpc && x->wire.n == 0 && grpc_frame_head(slice_of(p, n), &frame) > 0 &&
	    !exchange_body_room(x, MAX(frame.length + GRPC_FRAME_HEAD, n)))
		return false;
	if (!exchange_body_room(x, n))
		return false;
	memcpy(x->wire.p + x->wire.n, p, n);
	x->wire.n += n;
	x->req.wire_bytes = (int64_t)x->wire.n;
	return true;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *p,
		   size_t n, void *user)
{
	struct http_conn *c = user;
	struct http_exchange *x = exchange_at(session, stream_id);

	nghttp2_session_consume_connection(session, n);
	if (x && x->grpc && !x->answered) {
		grpc_call_input(x, slice_of(p, n));
		if (x->answered)
			h2_answer(c, x);
		if (x->grpc->held.n) {
			x->grpc->unread += n;
			return 0;
		}
	} else if (x && !x->answered && !append_body(x, p, n)) {
		h2_answer(c, x);
	}
	nghttp2_session_consume_stream(session, stream_id, n);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t code, void *user)
{
	struct http_conn *c = user;
	struct http_exchange *x = exchange_at(session, stream_id);

	if (!x)
		return 0;
	nghttp2_session_set_stream_user_data(session, stream_id, NULL);
	exchange_detach(x);
	c->served++;
	c->deadline_ms = c->loop->now_ms + c->loop->server->limits.idle_ms;
	return 0;
}

/* The answer is out and the client still sends: what comes is thrown away for a while, then the
 * stream is reset.  At once would be allowed, but curl 7.88 then loses the answer. */
static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http_conn *c = user;
	struct http_exchange *x;

	if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	x = exchange_at(session, frame->hd.stream_id);
	if (x && !x->body_ended) {
		x->reply_sent = true;
		x->body_deadline_ms = c->loop->now_ms + c->loop->server->limits.linger_ms;
	}
	return 0;
}

int h2_start(struct http_conn *c)
{
	const struct http_limits *limits = &c->loop->server->limits;
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, (uint32_t)limits->streams},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, MAX_FRAME},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		 (uint32_t)(limits->header_bytes + 32 * limits->header_count)},
		{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 0},
	};
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int r = nghttp2_session_callbacks_new(&callbacks);

	if (r == 0)
		r = nghttp2_option_new(&option);
	if (r == 0) {
		nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
									on_begin_headers);
		nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
		nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
		nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
		nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		r = nghttp2_session_server_new2(&c->h2.session, callbacks, c, option);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	if (r == 0)
		r = nghttp2_submit_settings(c->h2.session, NGHTTP2_FLAG_NONE, settings,
					    ARRAY_SIZE(settings));
	if (r == 0)
		r = nghttp2_session_set_local_window_size(c->h2.session, NGHTTP2_FLAG_NONE, 0,
							  CONN_WINDOW);
	c->deadline_ms = c->loop->now_ms + limits->idle_ms;
	return r == 0 ? 0 : -ENOMEM;
}

void h2_stop(struct http_conn *c)
{
	nghttp2_session_del(c->h2.session);
	c->h2.session = NULL;
}

void h2_input(struct http_conn *c, const char *p, size_t n)
{
	ssize_t r = nghttp2_session_mem_recv(c->h2.session, (const uint8_t *)p, n);

	if (r >= 0)
		return;
	http_count(&c->loop->server->counters
			    .refused[r == NGHTTP2_ERR_FLOODED ? HTTP_REFUSED_FLOOD
							      : HTTP_REFUSED_MALFORMED],
		   1);
	c->broken = true;
}

bool h2_wants_read(const struct http_conn *c)
{
	return conn_pending(c) < 2 * CONN_OUT_HIGH && nghttp2_session_want_read(c->h2.session);
}

void h2_output(struct http_conn *c)
{
	while (conn_pending(c) < CONN_OUT_HIGH) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(c->h2.session, &p);

		if (n < 0)
			c->broken = true;
		if (n <= 0)
			break;
		buffer_append(&c->out, p, (size_t)n);
		c->broken |= c->out.failed;
	}
	if (!nghttp2_session_want_read(c->h2.session) && !nghttp2_session_want_write(c->h2.session))
		c->closing = true;
}

/* Does the client keep its window shut although there is something to send? */
static bool stalled(struct http_exchange *x, int64_t now_ms)
{
	if (now_ms < x->moved_ms + x->loop->server->limits.write_ms || x->reply_sent)
		return false;
	if (x->grpc)
		return x->grpc->opened && !grpc_call_is_empty(x);
	return x->state == EXCHANGE_REPLY && !x->stream_waits;
}

void h2_tick(struct http_conn *c, int64_t now_ms)
{
	for (struct http_exchange *x = c->exchanges; x; x = x->next) {
		if (conn_body_late(x, now_ms)) {
			h2_answer(c, x);
		} else if (x->reply_sent && now_ms >= x->body_deadline_ms) {
			x->reply_sent = false;
			nghttp2_submit_rst_stream(c->h2.session, NGHTTP2_FLAG_NONE, x->stream_id,
						  NGHTTP2_NO_ERROR);
		} else if (stalled(x, now_ms)) {
			x->moved_ms = now_ms;
			http_count(&c->loop->server->counters.refused[HTTP_REFUSED_WRITE_TIME], 1);
			nghttp2_submit_rst_stream(c->h2.session, NGHTTP2_FLAG_NONE, x->stream_id,
						  NGHTTP2_CANCEL);
		} else if (x->state == EXCHANGE_HEAD && now_ms >= x->body_deadline_ms) {
			http_count(&c->loop->server->counters.refused[HTTP_REFUSED_HEADER_TIME], 1);
			nghttp2_session_terminate_session(c->h2.session, NGHTTP2_NO_ERROR);
			return;
		}
	}
	if (c->exchange_count == 0 && now_ms >= c->deadline_ms)
		nghttp2_session_terminate_session(c->h2.session, NGHTTP2_NO_ERROR);
}

void h2_drain(struct http_conn *c)
{
	if (c->h2.goaway_sent)
		return;
	c->h2.goaway_sent = true;
	nghttp2_submit_goaway(c->h2.session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(c->h2.session),
			      NGHTTP2_NO_ERROR, NULL, 0);
}
