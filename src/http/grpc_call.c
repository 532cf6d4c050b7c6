/* http/grpc_call.c - a gRPC stream of messages on its exchange.
 *
 * Messages to send are framed into one buffer under a lock by whatever thread has them; the loop
 * takes them out as HTTP/2's windows and the socket allow. */
#include "http/grpc_call_int.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/grpc_frame.h"
#include "http/loop_int.h"

#define OUT_HIGH ((size_t)1 << 20) /* waiting bytes at which http_grpc_send() says -EAGAIN */
#define OUT_LOW  ((size_t)256 << 10)

struct grpc_call *grpc_call_free(struct grpc_call *g)
{
	if (g) {
		buffer_done(&g->in);
		buffer_done(&g->held);
		buffer_done(&g->out);
		pthread_mutex_destroy(&g->lock);
		free(g);
	}
	return NULL;
}

void http_grpc_open(struct http_request *req, const struct http_grpc_stream *stream)
{
	struct http_exchange *x = exchange_of(req);
	struct grpc_call *g = calloc(1, sizeof(*g));

	if (!g) {
		http_reply_grpc(req, GRPC_RESOURCE_EXHAUSTED, "out of memory", slice_of(NULL, 0),
				slice_of(NULL, 0));
		return;
	}
	pthread_mutex_init(&g->lock, NULL);
	g->handler = *stream;
	x->grpc = g;
	x->handler_ref = true;
	http_request_ref(req);
}

int http_grpc_send(struct http_request *req, struct slice message)
{
	struct http_exchange *x = exchange_of(req);
	struct grpc_call *g = x->grpc;
	size_t before;
	int r = 0;

	pthread_mutex_lock(&g->lock);
	before = g->out.n;
	if (g->gone) {
		r = -EPIPE;
	} else if (g->out.n - g->out_at > OUT_HIGH) {
		g->writable_due = true;
		r = -EAGAIN;
	} else {
		grpc_frame_append(&g->out, message);
		if (g->out.failed) {
			g->out.failed = false;
			g->out.n = before; /* no half message */
			r = -ENOMEM;
		}
	}
	pthread_mutex_unlock(&g->lock);
	if (r == 0)
		loop_post(x, POST_WAKE);
	return r;
}

void http_grpc_finish(struct http_request *req, enum grpc_status status, const char *message,
		      struct slice details)
{
	struct http_exchange *x = exchange_of(req);
	struct grpc_call *g = x->grpc;
	struct slice text = {0}, binary = {0};

	if (message && *message)
		text = grpc_message_encode(&req->arena, slice_cstr(message));
	if (details.n)
		binary = grpc_binary_encode(&req->arena, details);
	pthread_mutex_lock(&g->lock);
	g->finished = true;
	g->status = status;
	g->message = text;
	g->details = binary;
	pthread_mutex_unlock(&g->lock);
	loop_post(x, POST_ANSWER);
}

void grpc_call_cancelled(struct http_exchange *x)
{
	struct grpc_call *g = x->grpc;
	bool first;

	pthread_mutex_lock(&g->lock);
	first = !g->gone;
	g->gone = true;
	pthread_mutex_unlock(&g->lock);
	if (first && x->handler_ref && g->handler.on_cancel)
		g->handler.on_cancel(&x->req, g->handler.context);
}

/* The server itself ends the stream.  Nothing here may touch the arena: it is the handler's. */
static void refuse(struct http_exchange *x, enum grpc_status status, enum http_refusal cause,
		   const char *text)
{
	http_count(&x->loop->server->counters.refused[cause], 1);
	grpc_call_cancelled(x);
	x->refused = true;
	x->answered = true;
	x->status = 200;
	x->grpc_status = status;
	x->grpc_message = slice_cstr(text);
}

static void refuse_memory(struct http_exchange *x)
{
	refuse(x, GRPC_UNAVAILABLE, HTTP_REFUSED_MEMORY,
	       "too much is being received at once; try again");
}

/* One whole message, perhaps compressed. */
static void deliver(struct http_exchange *x, bool compressed, struct slice message)
{
	struct grpc_call *g = x->grpc;
	int r;

	if (compressed) {
		enum coding coding = coding_parse(http_header_get(&x->req, "grpc-encoding"));

		if (coding == CODING_UNKNOWN || coding == CODING_IDENTITY) {
			refuse(x, GRPC_UNIMPLEMENTED, HTTP_REFUSED_ENCODING,
			       "this grpc-encoding is not known here; gzip, deflate and zstd are");
			return;
		}
		buffer_clear(&x->decoded);
		r = coder_decode(x->loop->coder, coding, message, x->req.max_decoded, &x->decoded);
		if (r < 0) {
			refuse(x, r == -EBADMSG ? GRPC_INTERNAL : GRPC_RESOURCE_EXHAUSTED,
			       r == -EBADMSG ? HTTP_REFUSED_ENCODING : HTTP_REFUSED_DECODED_SIZE,
			       r == -EBADMSG ? "a compressed message is damaged"
					     : "a decompressed message is too large (limit)");
			return;
		}
		message = buffer_get(&x->decoded);
	}
	if (!exchange_charge(x, g->in.n + g->held.n + x->decoded.n)) {
		refuse_memory(x);
		return;
	}
	if (g->handler.on_message)
		g->handler.on_message(&x->req, g->handler.context, message);
}

void grpc_call_input(struct http_exchange *x, struct slice bytes)
{
	struct grpc_call *g = x->grpc;

	while (bytes.n && !x->answered) {
		struct grpc_frame frame = {0};
		bool waiting = g->in.n > 0;
		struct slice have = waiting ? buffer_get(&g->in) : bytes;
		size_t need = GRPC_FRAME_HEAD;
		int r;

		if (g->paused || g->held.n) {
			buffer_slice(&g->held, bytes); /* at most a window's worth */
			if (g->held.failed || !exchange_charge(x, g->in.n + g->held.n))
				refuse_memory(x);
			return;
		}
		r = grpc_frame_head(have, &frame);
		if (r < 0) {
			refuse(x, GRPC_INTERNAL, HTTP_REFUSED_MALFORMED,
			       "a message frame is malformed");
			return;
		}
		if (r > 0 && frame.length > x->req.max_body) {
			refuse(x, GRPC_RESOURCE_EXHAUSTED, HTTP_REFUSED_BODY_SIZE,
			       "a message is too large (limit)");
			return;
		}
		if (r > 0)
			need += frame.length;
		if (!waiting && have.n >= need) {
			bytes = slice_from(bytes, need);
			deliver(x, frame.compressed,
				slice_of(have.p + GRPC_FRAME_HEAD, frame.length));
			continue;
		}
		/* Collect: first the head, then the rest. */
		have = slice_first(bytes, need - g->in.n);
		buffer_slice(&g->in, have);
		bytes = slice_from(bytes, have.n);
		if (g->in.failed || !exchange_charge(x, g->in.n + g->held.n)) {
			refuse_memory(x);
			return;
		}
		if (grpc_frame_head(buffer_get(&g->in), &frame) > 0 &&
		    g->in.n == GRPC_FRAME_HEAD + frame.length) {
			deliver(x, frame.compressed,
				slice_of(g->in.p + GRPC_FRAME_HEAD, frame.length));
			buffer_clear(&g->in);
		}
	}
}

void grpc_call_half_close(struct http_exchange *x)
{
	struct grpc_call *g = x->grpc;

	g->half_closed = true;
	if (g->half_close_told || x->answered || g->paused || g->held.n)
		return;
	g->half_close_told = true;
	if (g->in.n)
		refuse(x, GRPC_INTERNAL, HTTP_REFUSED_MALFORMED,
		       "the stream ended inside a message");
	else if (g->handler.on_half_close)
		g->handler.on_half_close(&x->req, g->handler.context);
}

size_t grpc_call_resume(struct http_exchange *x)
{
	struct grpc_call *g = x->grpc;
	struct buffer held = g->held;
	size_t unread = g->unread;

	if (g->paused)
		return 0;
	g->held = (struct buffer){0};
	grpc_call_input(x, buffer_get(&held));
	buffer_done(&held);
	if (g->paused)
		return 0; /* again, before all was delivered */
	g->unread = 0;
	if (g->half_closed)
		grpc_call_half_close(x);
	return unread;
}

void http_grpc_pause(struct http_request *req)
{
	exchange_of(req)->grpc->paused = true;
}

void http_grpc_resume(struct http_request *req)
{
	exchange_of(req)->grpc->paused = false;
	loop_post(exchange_of(req), POST_WAKE);
}

int64_t grpc_call_output(struct http_exchange *x, char *to, size_t room)
{
	struct grpc_call *g = x->grpc;
	bool tell = false;
	int64_t n;

	pthread_mutex_lock(&g->lock);
	n = (int64_t)MIN(room, g->out.n - g->out_at);
	if (n > 0)
		memcpy(to, g->out.p + g->out_at, (size_t)n);
	g->out_at += (size_t)n;
	if (g->out_at == g->out.n) {
		g->out_at = 0;
		buffer_clear(&g->out);
	} else if (g->out_at > OUT_HIGH) {
		memmove(g->out.p, g->out.p + g->out_at, g->out.n - g->out_at);
		g->out.n -= g->out_at;
		g->out_at = 0;
	}
	if (g->writable_due && g->out.n - g->out_at < OUT_LOW) {
		g->writable_due = false;
		tell = !g->gone && !g->finished;
	}
	if (n == 0 && (x->answered || g->gone))
		n = -1;
	pthread_mutex_unlock(&g->lock);
	if (tell && g->handler.on_writable)
		g->handler.on_writable(&x->req, g->handler.context);
	return n;
}

void grpc_call_take_status(struct http_exchange *x)
{
	struct grpc_call *g = x->grpc;

	pthread_mutex_lock(&g->lock);
	x->status = 200;
	x->grpc_status = g->status;
	x->grpc_message = g->message;
	x->grpc_details = g->details;
	pthread_mutex_unlock(&g->lock);
}

bool grpc_call_is_empty(struct http_exchange *x)
{
	bool empty;

	pthread_mutex_lock(&x->grpc->lock);
	empty = x->grpc->out.n == x->grpc->out_at;
	pthread_mutex_unlock(&x->grpc->lock);
	return empty;
}
