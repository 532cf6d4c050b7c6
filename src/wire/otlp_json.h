/* wire/otlp_json.h - OTLP traces and logs in JSON, both ways: the same rows as wire/otlp_proto.h.
 *
 * Ids are hex, 64-bit integers strings or numbers, enums numbers or names, keys lowerCamelCase or
 * snake_case, null is absent; keys nobody knows are passed over.  Of a key that stands twice in an
 * object the last counts.
 *
 * Not told apart: a field that is absent and one that has its default.  What JSON cannot hold is
 * written as near as it can be: fields of protobuf that nobody knows are left out, and bytes that
 * are not UTF-8 inside strings become U+FFFD. */
#ifndef CAUSET_WIRE_OTLP_JSON_H
#define CAUSET_WIRE_OTLP_JSON_H

#include "base/buffer.h"
#include "wire/decode.h"
#include "wire/json_writer.h"

/* An ExportTraceServiceRequest or TracesData.  Spans without a usable trace or span id are rejected
 * rows.  -EBADMSG: not JSON, or not of this shape.  -ENOMEM, -E2BIG: from the batch. */
int otlp_json_decode_traces(struct slice body, struct batch *batch, struct decode_tally *tally,
			    struct error *error);

/* An ExportLogsServiceRequest or LogsData.  Records without a trace id are rejected rows. */
int otlp_json_decode_logs(struct slice body, struct batch *batch, struct decode_tally *tally,
			  struct error *error);

/* Both in one: what a file may have on a line. */
int otlp_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		     struct error *error);

/* An ExportMetricsServiceRequest: its data points are counted as rejected; nothing is kept. */
int otlp_json_refuse_metrics(struct slice body, struct decode_tally *tally, struct error *error);

/* Appends an ExportTraceServiceRequest with the SPAN, POINT and LINK rows of `refs`, on one line,
 * without a newline; other rows are passed over.  A span's points and links must stand right behind
 * it.  Rows that follow each other with the same resource and scope share their group. */
void otlp_json_encode_traces(const struct event_ref *refs, size_t n, struct buffer *out);

/* The same as items of a list that the caller has begun: "resourceSpans":[…]. */
void otlp_json_put_resource_spans(struct json_writer *w, const struct event_ref *refs, size_t n);

/* The same for LOG rows, as an ExportLogsServiceRequest. */
void otlp_json_encode_logs(const struct event_ref *refs, size_t n, struct buffer *out);

/* Both in one object: the spans, then the log records if there are any. */
void otlp_json_encode(const struct event_ref *refs, size_t n, struct buffer *out);

#endif
