/* http/reply.c - the answer of a handler, until the connection takes it up. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "http/grpc_call_int.h"
#include "http/grpc_frame.h"
#include "http/loop_int.h"

const char *http_status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{100, "Continue"},
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{204, "No Content"},
		{206, "Partial Content"},
		{301, "Moved Permanently"},
		{302, "Found"},
		{303, "See Other"},
		{304, "Not Modified"},
		{307, "Temporary Redirect"},
		{308, "Permanent Redirect"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{410, "Gone"},
		{411, "Length Required"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{417, "Expectation Failed"},
		{421, "Misdirected Request"},
		{422, "Unprocessable Content"},
		{426, "Upgrade Required"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{499, "Client Closed Request"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
		{507, "Insufficient Storage"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "";
}

static bool clean(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == '\0')
			return false;
	return true;
}

int http_reply_header(struct http_request *req, const char *name, struct slice value)
{
	struct http_exchange *x = exchange_of(req);
	struct slice n = slice_cstr(name);
	struct reply_header *h, **at;

	if (n.n == 0 || !clean(value))
		return -EINVAL;
	for (size_t i = 0; i < n.n; i++)
		if (!h1_is_token_char((unsigned char)n.p[i]))
			return -EINVAL;
	if (x->reply_header_count == HTTP_MAX_REPLY_HEADERS)
		return -E2BIG;
	h = arena_alloc(&req->arena, sizeof(*h));
	if (!h)
		return -ENOMEM;
	*h = (struct reply_header){NULL, arena_dup(&req->arena, n), arena_dup(&req->arena, value)};
	if (!h->name.p || !h->value.p)
		return -ENOMEM;
	for (at = &x->reply_headers; *at;)
		at = &(*at)->next;
	*at = h;
	x->reply_header_count++;
	return 0;
}

/* An answer that needs no memory, for when there is none. */
static void reply_exhausted(struct http_exchange *x)
{
	buffer_done(&x->reply_owned);
	x->status = 503;
	x->content_type = SLICE("text/plain");
	x->reply = SLICE("out of memory; try again\n");
	x->reply_headers = NULL;
	x->grpc_status = GRPC_RESOURCE_EXHAUSTED;
	x->grpc_message = SLICE("out of memory");
	x->reply_has_trailers = false;
	if (x->req.is_grpc)
		x->status = 200, x->reply = slice_of(NULL, 0);
}

/* True when the answer goes on as an HTTP answer. */
static bool reply_prepare(struct http_exchange *x, int status, const char *content_type,
			  struct slice body)
{
	if (x->req.is_grpc && status >= 400) {
		char text[512];

		while (body.n && body.p[body.n - 1] == '\n')
			body.n--;
		snprintf(text, sizeof(text), "%.*s",
			 SLICE_ARG(slice_first(body, sizeof(text) - 1)));
		http_reply_grpc(&x->req, (enum grpc_status)grpc_status_of_http(status), text,
				slice_of(NULL, 0), slice_of(NULL, 0));
		return false;
	}
	x->status = status;
	x->grpc_status = -1;
	if (content_type) {
		x->content_type = arena_dup(&x->req.arena, slice_cstr(content_type));
		if (!x->content_type.p) {
			reply_exhausted(x);
			exchange_answered(x);
			return false;
		}
	}
	return true;
}

void http_reply(struct http_request *req, int status, const char *content_type, struct slice body)
{
	struct http_exchange *x = exchange_of(req);

	if (!reply_prepare(x, status, content_type, body))
		return;
	buffer_slice(&x->reply_owned, body);
	if (x->reply_owned.failed)
		reply_exhausted(x);
	else
		x->reply = buffer_get(&x->reply_owned);
	reply_compress(x);
	exchange_answered(x);
}

void http_reply_buffer(struct http_request *req, int status, const char *content_type,
		       struct buffer *body)
{
	struct http_exchange *x = exchange_of(req);
	struct buffer taken = *body;

	*body = (struct buffer){0};
	if (!reply_prepare(x, status, content_type, buffer_get(&taken))) {
		buffer_done(&taken);
		return;
	}
	x->reply_owned = taken;
	x->reply = buffer_get(&taken);
	if (taken.failed)
		reply_exhausted(x);
	reply_compress(x);
	exchange_answered(x);
}

void http_reply_static(struct http_request *req, int status, const char *content_type,
		       struct slice body)
{
	struct http_exchange *x = exchange_of(req);

	if (!reply_prepare(x, status, content_type, body))
		return;
	x->reply = body;
	reply_compress(x);
	exchange_answered(x);
}

static void reply_vtext(struct http_request *req, int status, const char *format, va_list args)
{
	struct buffer text = {0};

	buffer_vprintf(&text, format, args);
	buffer_byte(&text, '\n');
	http_reply_buffer(req, status, "text/plain; charset=utf-8", &text);
}

void http_reply_text(struct http_request *req, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	reply_vtext(req, status, format, args);
	va_end(args);
}

void http_reply_stream(struct http_request *req, int status, const char *content_type,
		       const struct http_stream *stream)
{
	struct http_exchange *x = exchange_of(req);

	x->stream = *stream;
	x->stream_open = true;
	if (reply_prepare(x, status, content_type, SLICE("the answer failed")))
		exchange_answered(x);
}

void http_stream_wake(struct http_request *req)
{
	loop_post(exchange_of(req), POST_WAKE);
}

enum http_pull exchange_pull(struct http_exchange *x)
{
	enum http_pull r;

	if (x->reply.n)
		return HTTP_PULL_MORE;
	if (x->stream_ended)
		return HTTP_PULL_END;
	buffer_clear(&x->reply_owned);
	r = x->stream.pull(x->stream.context, &x->reply_owned);
	x->stream_waits = r == HTTP_PULL_LATER;
	if (x->reply_owned.failed)
		r = HTTP_PULL_ABORT;
	if (r <= HTTP_PULL_END) {
		x->stream_ended = true;
		exchange_stream_done(x);
		if (r < HTTP_PULL_END)
			return HTTP_PULL_ABORT;
	}
	x->reply = buffer_get(&x->reply_owned);
	if (x->reply.n)
		return HTTP_PULL_MORE;
	/* More was promised and nothing given: ask again on the next turn of the loop. */
	if (r == HTTP_PULL_MORE) {
		x->stream_waits = true;
		http_stream_wake(&x->req);
		return HTTP_PULL_LATER;
	}
	return r;
}

void exchange_stream_done(struct http_exchange *x)
{
	if (!x->stream_open)
		return;
	x->stream_open = false;
	x->stream_ended = true;
	if (x->stream.done)
		x->stream.done(x->stream.context);
}

void http_reply_grpc(struct http_request *req, enum grpc_status status, const char *message,
		     struct slice body, struct slice details)
{
	struct http_exchange *x = exchange_of(req);
	bool failed = false;

	x->status = 200;
	x->grpc_status = status;
	if (message && *message) {
		x->grpc_message = grpc_message_encode(&req->arena, slice_cstr(message));
		failed |= !x->grpc_message.p;
	}
	if (details.n) {
		x->grpc_details = grpc_binary_encode(&req->arena, details);
		failed |= !x->grpc_details.p;
	}
	if (status == GRPC_OK) {
		grpc_frame_append(&x->reply_owned, body);
		failed |= x->reply_owned.failed;
		x->reply = buffer_get(&x->reply_owned);
		x->reply_has_trailers = true;
	}
	if (failed)
		reply_exhausted(x);
	exchange_answered(x);
}

void exchange_answered(struct http_exchange *x)
{
	if (pthread_equal(pthread_self(), x->loop->self) && x->in_callback)
		x->answered = true;
	else
		loop_post(x, POST_ANSWER);
}

void exchange_refuse(struct http_exchange *x, int status, enum http_refusal cause,
		     const char *format, ...)
{
	bool nested = x->in_callback;
	va_list args;

	http_count(&x->loop->server->counters.refused[cause], 1);
	x->refused = true;
	x->in_callback = true;
	va_start(args, format);
	reply_vtext(&x->req, status, format, args);
	va_end(args);
	x->in_callback = nested;
}

void exchange_refuse_grpc(struct http_exchange *x, enum grpc_status status, enum http_refusal cause,
			  const char *text)
{
	bool nested = x->in_callback;

	http_count(&x->loop->server->counters.refused[cause], 1);
	x->refused = true;
	x->in_callback = true;
	http_reply_grpc(&x->req, status, text, slice_of(NULL, 0), slice_of(NULL, 0));
	x->in_callback = nested;
}
