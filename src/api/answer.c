/* api/answer.c - failures in the form each kind of client reads. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/routes.h"
#include "base/cleanup.h"
#include "http/grpc.h"
#include "wire/json_writer.h"
#include "wire/protobuf.h"

#define MESSAGE_BYTES 1024
#define RETRY_SECONDS 1
#define RETRY_TEXT    "1"

static const struct {
	int status;
	const char *code; /* for {"error":{"code":…}} */
	enum grpc_status grpc;
} kinds[] = {
	{400, "bad_request", GRPC_INVALID_ARGUMENT},
	{401, "unauthenticated", GRPC_UNAUTHENTICATED},
	{403, "forbidden", GRPC_PERMISSION_DENIED},
	{404, "not_found", GRPC_UNIMPLEMENTED},
	{405, "method_not_allowed", GRPC_UNIMPLEMENTED},
	{406, "not_acceptable", GRPC_INVALID_ARGUMENT},
	{413, "too_large", GRPC_RESOURCE_EXHAUSTED},
	{415, "unsupported_type", GRPC_INVALID_ARGUMENT},
	{429, "too_many_requests", GRPC_UNAVAILABLE},
	{500, "internal", GRPC_INTERNAL},
	{503, "unavailable", GRPC_UNAVAILABLE},
};

static size_t kind_of(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].status == status)
			return i;
	return status < 500 ? 0 : ARRAY_SIZE(kinds) - 2;
}

static bool is_retryable(int status)
{
	return status == 429 || status == 503;
}

/* When to come again, in the place where gRPC's clients look for it:
 *
 *   google.protobuf.Any  { string type_url = 1; bytes value = 2; }
 *   google.rpc.RetryInfo { google.protobuf.Duration retry_delay = 1; }
 *   Duration             { int64 seconds = 1; } */
static void retry_info(struct buffer *out)
{
	size_t any = pb_begin(out, 3), value, delay;

	pb_put_bytes(out, 1, SLICE("type.googleapis.com/google.rpc.RetryInfo"));
	value = pb_begin(out, 2);
	delay = pb_begin(out, 1);
	pb_put_varint(out, 1, RETRY_SECONDS);
	pb_end(out, delay);
	pb_end(out, value);
	pb_end(out, any);
}

/* google.rpc.Status { int32 code = 1; string message = 2; repeated Any details = 3; }, which OTLP
 * wants in failures. */
static void status_proto(size_t kind, struct slice message, struct buffer *out)
{
	pb_put_varint(out, 1, (uint64_t)kinds[kind].grpc);
	pb_put_bytes(out, 2, message);
	if (is_retryable(kinds[kind].status))
		retry_info(out);
}

static void status_json(enum grpc_status code, struct slice message, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	json_put_name(&w, "code");
	json_put_i64(&w, (int64_t)code);
	json_put_name(&w, "message");
	json_put_string(&w, message);
	json_end_object(&w);
}

static void error_json(const char *code, struct slice message, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	json_put_name(&w, "error");
	json_begin_object(&w);
	json_put_name(&w, "code");
	json_put_cstr(&w, code);
	json_put_name(&w, "message");
	json_put_string(&w, message);
	json_end_object(&w);
	json_end_object(&w);
	buffer_byte(out, '\n');
}

static bool is_protobuf(const struct http_request *req)
{
	struct slice type = http_header_get(req, "content-type");

	return slice_eq_nocase(slice_trim(slice_cut(&type, ';')), SLICE("application/x-protobuf"));
}

void api_fail(struct http_request *req, int status, const char *format, ...)
{
	size_t kind = kind_of(status);
	char message[MESSAGE_BYTES];
	struct buffer out = {0};
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (is_retryable(status))
		http_reply_header(req, "Retry-After", slice_cstr(RETRY_TEXT));
	if (req->is_grpc) {
		if (is_retryable(status))
			status_proto(kind, slice_cstr(message), &out);
		http_reply_grpc(req, kinds[kind].grpc, message, slice_of(NULL, 0),
				out.failed ? slice_of(NULL, 0) : buffer_get(&out));
	} else if (req->tag == SERVICE_OTLP_HTTP && is_protobuf(req)) {
		status_proto(kind, slice_cstr(message), &out);
		http_reply_buffer(req, status, "application/x-protobuf", &out);
	} else if (req->tag == SERVICE_OTLP_HTTP && slice_eq(req->method, SLICE("POST"))) {
		status_json(kinds[kind].grpc, slice_cstr(message), &out);
		http_reply_buffer(req, status, "application/json", &out);
	} else {
		error_json(kinds[kind].code, slice_cstr(message), &out);
		http_reply_buffer(req, status, "application/json", &out);
	}
	buffer_done(&out);
}

void api_fail_errno(struct http_request *req, int error)
{
	if (error == -ENOMEM)
		api_fail(req, 503, "out of memory; try again later");
	else if (error == -ETIMEDOUT)
		api_fail(req, 503,
			 "stopped, as it took longer than a question may: ask about a shorter "
			 "time, or filter by service or name");
	else if (error == -ECANCELED)
		api_fail(req, 503, "the client has gone"); /* nobody reads it */
	else
		api_fail(req, 500, "%s", strerror(-error));
}
