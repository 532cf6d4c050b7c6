/* http/h2_reply.c - answers on HTTP/2: headers, body as it is asked for, gRPC's trailers. */
#include <stdio.h>

#include "base/cleanup.h"
#include "http/grpc_call_int.h"
#include "http/loop_int.h"

#define ACCEPTED_CODINGS "identity,gzip,deflate,zstd"
#define MAX_FIELDS       (HTTP_MAX_REPLY_HEADERS + 8)

struct fields {
	nghttp2_nv nv[MAX_FIELDS];
	size_t n;
	char status[8], length[24], grpc_status[12];
};

static void add(struct fields *f, struct slice name, struct slice value)
{
	f->nv[f->n++] = (nghttp2_nv){(uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p,
				     name.n, value.n, NGHTTP2_NV_FLAG_NONE};
}

static void add_trailers(struct fields *f, const struct http_exchange *x)
{
	snprintf(f->grpc_status, sizeof(f->grpc_status), "%d", x->grpc_status);
	add(f, SLICE("grpc-status"), slice_cstr(f->grpc_status));
	if (x->grpc_message.n)
		add(f, SLICE("grpc-message"), x->grpc_message);
	if (x->grpc_details.n)
		add(f, SLICE("grpc-status-details-bin"), x->grpc_details);
}

/* HTTP/2 has names in lower case only; ours live in the request's arena. */
static struct slice lower(struct slice name)
{
	char *p = (char *)(uintptr_t)name.p;

	for (size_t i = 0; i < name.n; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] |= 0x20;
	return name;
}

static void add_head(struct fields *f, struct http_conn *c, struct http_exchange *x)
{
	snprintf(f->status, sizeof(f->status), "%d", x->status % 1000);
	add(f, SLICE(":status"), slice_cstr(f->status));
	add(f, SLICE("date"), slice_cstr(loop_date(c->loop)));
	if (x->req.is_grpc && x->grpc_status >= 0) {
		add(f, SLICE("content-type"), SLICE("application/grpc"));
		if (x->grpc_status == GRPC_UNIMPLEMENTED)
			add(f, SLICE("grpc-accept-encoding"), SLICE(ACCEPTED_CODINGS));
	} else if (x->content_type.n) {
		add(f, SLICE("content-type"), x->content_type);
	}
	for (struct reply_header *h = x->reply_headers; h; h = h->next)
		add(f, lower(h->name), h->value);
}

static void send_trailers(nghttp2_session *session, const struct http_exchange *x)
{
	struct fields f = {0};

	add_trailers(&f, x);
	nghttp2_submit_trailer(session, x->stream_id, f.nv, f.n);
}

/* The body, a piece at a time, when windows and socket have room. */
static ssize_t read_body(nghttp2_session *session, int32_t stream_id, uint8_t *to, size_t room,
			 uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct http_exchange *x = source->ptr;
	int64_t n = 0;

	x->moved_ms = x->loop->now_ms;
	if (x->grpc) {
		n = grpc_call_output(x, (char *)to, room);
		if (n == 0)
			return NGHTTP2_ERR_DEFERRED;
		if (n < 0)
			*flags |= NGHTTP2_DATA_FLAG_EOF;
		n = MAX(n, 0);
	} else {
		if (x->stream.pull) {
			switch (exchange_pull(x)) {
			case HTTP_PULL_ABORT:
				return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
			case HTTP_PULL_LATER:
				return NGHTTP2_ERR_DEFERRED;
			default:
				break;
			}
		}
		n = (int64_t)MIN(room, x->reply.n);
		if (n > 0)
			memcpy(to, x->reply.p, (size_t)n);
		x->reply = slice_from(x->reply, (size_t)n);
		if (x->reply.n == 0 && (!x->stream.pull || x->stream_ended))
			*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	if ((*flags & NGHTTP2_DATA_FLAG_EOF) && x->reply_has_trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		send_trailers(session, x);
	}
	return (ssize_t)n;
}

static void submit(struct http_conn *c, struct http_exchange *x, struct fields *f, bool body)
{
	nghttp2_data_provider provider = {.source.ptr = x, .read_callback = read_body};

	if (nghttp2_submit_response(c->h2.session, x->stream_id, f->nv, f->n,
				    body ? &provider : NULL) < 0)
		c->broken = true;
}

/* A message stream says something for the first time. */
static void open_call(struct http_conn *c, struct http_exchange *x)
{
	struct fields f = {0};

	x->grpc->opened = true;
	x->moved_ms = c->loop->now_ms;
	x->reply_has_trailers = true;
	x->status = 200;
	x->grpc_status = GRPC_OK;
	add_head(&f, c, x);
	submit(c, x, &f, true);
}

static void answer_call(struct http_conn *c, struct http_exchange *x)
{
	int status = x->grpc_status;

	if (!x->grpc->opened && !grpc_call_is_empty(x))
		open_call(c, x);
	x->grpc_status = status;
	if (x->grpc->opened) {
		nghttp2_session_resume_data(c->h2.session, x->stream_id);
	} else {
		struct fields f = {0};

		add_head(&f, c, x);
		add_trailers(&f, x);
		submit(c, x, &f, false);
	}
}

void h2_answer(struct http_conn *c, struct http_exchange *x)
{
	struct http_counters *counters = &c->loop->server->counters;
	struct fields f = {0};
	bool bodyless =
		x->status == 204 || x->status == 304 || slice_eq(x->req.method, SLICE("HEAD"));

	if (x->state == EXCHANGE_REPLY)
		return;
	x->state = EXCHANGE_REPLY;
	x->moved_ms = c->loop->now_ms;
	http_count(&counters->responses[x->status / 100 % 6], 1);
	if (x->req.is_grpc && x->grpc_status > 0)
		http_count(&counters->grpc_errors, 1);
	if (x->grpc) {
		answer_call(c, x);
		return;
	}
	add_head(&f, c, x);
	if (x->req.is_grpc && x->grpc_status >= 0) {
		if (!x->reply_has_trailers)
			add_trailers(&f, x);
		submit(c, x, &f, x->reply_has_trailers);
		return;
	}
	if (!x->stream.pull && x->status != 204 && x->status != 304) {
		snprintf(f.length, sizeof(f.length), "%zu", x->reply.n);
		add(&f, SLICE("content-length"), slice_cstr(f.length));
	}
	if (bodyless)
		exchange_stream_done(x);
	submit(c, x, &f, !bodyless && (x->stream.pull || x->reply.n));
}

void h2_wake(struct http_conn *c, struct http_exchange *x)
{
	if (x->grpc && !x->answered) {
		size_t n = grpc_call_resume(x);

		if (n)
			nghttp2_session_consume_stream(c->h2.session, x->stream_id, n);
		if (x->answered) {
			h2_answer(c, x);
			return;
		}
	}
	if (x->grpc && !x->answered && !x->grpc->opened && !grpc_call_is_empty(x))
		open_call(c, x);
	else if (x->state == EXCHANGE_REPLY || (x->grpc && x->grpc->opened))
		nghttp2_session_resume_data(c->h2.session, x->stream_id);
}
