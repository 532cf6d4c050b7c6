/* api/jaeger_answer.c - the envelope of Jaeger's HTTP API, version 1. */
#include "api/jaeger_answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/jaeger_operations.h"
#include "api/plain.h"
#include "wire/jaeger_json.h"

#define MESSAGE_BYTES 512

void jaeger_begin(struct json_writer *w)
{
	json_begin_object(w);
	json_put_name(w, "data");
}

static void put_counts(struct json_writer *w, size_t total)
{
	json_put_name(w, "total");
	json_put_u64(w, total);
	json_put_name(w, "limit");
	json_put_u64(w, 0);
	json_put_name(w, "offset");
	json_put_u64(w, 0);
	json_put_name(w, "errors");
}

void jaeger_end(struct json_writer *w, size_t total)
{
	put_counts(w, total);
	json_put_null(w);
	json_end_object(w);
}

void jaeger_end_with_errors(struct json_writer *w)
{
	put_counts(w, 0);
	json_begin_array(w);
}

void jaeger_put_error(struct json_writer *w, int code, struct slice message, struct slice trace_id)
{
	json_begin_object(w);
	json_put_name(w, "code");
	json_put_i64(w, code);
	json_put_name(w, "msg");
	json_put_string(w, message);
	if (trace_id.n > 0) {
		json_put_name(w, "traceID");
		json_put_string(w, trace_id);
	}
	json_end_object(w);
}

void jaeger_reply(struct http_request *req, struct buffer *out)
{
	http_reply_buffer(req, 200, "application/json", out);
	buffer_done(out);
}

void jaeger_fail(struct http_request *req, int status, const char *format, ...)
{
	char message[MESSAGE_BYTES];
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	jaeger_begin(&w);
	json_put_null(&w);
	jaeger_end_with_errors(&w);
	jaeger_put_error(&w, status, slice_cstr(message), slice_of(NULL, 0));
	json_end_array(&w);
	json_end_object(&w);
	http_reply_buffer(req, status, "application/json", &out);
	buffer_done(&out);
}

void jaeger_fail_errno(struct http_request *req, int error)
{
	if (error == -E2BIG)
		jaeger_fail(req, 413,
			    "more than can be shown at once; ask for fewer traces, or export them "
			    "with /api/v1/export");
	else
		api_fail_errno(req, error);
}

int jaeger_put_trace(struct json_writer *w, const struct event_set *set)
{
	struct plain plain = {0};
	int r = plain_rows(codec_find(SLICE("jaeger-json")), set->refs, set->n, &plain);

	if (r < 0)
		return r;
	jaeger_json_put_trace(w, plain.refs, plain.n, SLICE(JAEGER_UNNAMED));
	plain_done(&plain);
	if (w->out->failed)
		return -ENOMEM;
	return w->out->n > JAEGER_ANSWER_BYTES ? -E2BIG : 0;
}
