/* ingest/receipt.c - the answer to a request that was taken.
 *
 *   Export…ServiceResponse { Export…PartialSuccess partial_success = 1; }
 *   Export…PartialSuccess  { int64 rejected_… = 1; string error_message = 2; } */
#include "ingest/receipt.h"

#include <stdio.h>

#include "http/grpc.h"
#include "wire/json_writer.h"
#include "wire/protobuf.h"

static const char *const rejected_names[INGEST_KINDS] = {
	[INGEST_TRACES] = "rejectedSpans",
	[INGEST_LOGS] = "rejectedLogRecords",
	[INGEST_METRICS] = "rejectedDataPoints",
	[INGEST_EVENTS] = "rejectedEvents",
};

static void write_protobuf(struct buffer *out, const struct decode_tally *tally)
{
	size_t partial;

	if (tally->rejected == 0)
		return;
	partial = pb_begin(out, 1);
	pb_put_varint(out, 1, tally->rejected);
	pb_put_bytes(out, 2, slice_cstr(tally->reason));
	pb_end(out, partial);
}

static void write_json(struct buffer *out, enum ingest_kind kind, const struct decode_tally *tally)
{
	struct json_writer w = json_write(out);
	char digits[24];

	json_begin_object(&w);
	if (tally->rejected > 0) {
		json_put_name(&w, "partialSuccess");
		json_begin_object(&w);
		json_put_name(&w, rejected_names[kind]);
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)tally->rejected);
		json_put_cstr(&w, digits); /* 64-bit numbers are strings in protobuf's JSON */
		json_put_name(&w, "errorMessage");
		json_put_cstr(&w, tally->reason);
		json_end_object(&w);
	}
	json_end_object(&w);
}

void receipt_give(struct http_request *req, enum ingest_kind kind, const struct ingest_form *form,
		  const struct decode_tally *tally)
{
	struct buffer out = {0};

	if (kind == INGEST_ZIPKIN) {
		http_reply(req, 202, NULL, slice_of(NULL, 0));
		return;
	}
	if (form->protobuf)
		write_protobuf(&out, tally);
	else
		write_json(&out, kind, tally);
	if (!req->is_grpc)
		http_reply_buffer(req, 200, form->content_type, &out);
	else if (out.failed)
		http_reply_grpc(req, GRPC_UNAVAILABLE, "out of memory", slice_of(NULL, 0),
				slice_of(NULL, 0));
	else
		http_reply_grpc(req, GRPC_OK, NULL, buffer_get(&out), slice_of(NULL, 0));
	buffer_done(&out);
}
