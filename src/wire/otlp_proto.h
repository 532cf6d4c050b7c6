/* wire/otlp_proto.h - OTLP traces and logs in protobuf, both ways.  Field numbers are in the .c
 * files.
 *
 * Spans become SPAN rows, their events POINT rows and their links LINK rows right behind them; log
 * records with a trace id become LOG rows.  Everything a message carries comes back on encoding,
 * unknown fields included.  Not told apart: a field that is absent and one that has its default. */
#ifndef CAUSET_WIRE_OTLP_PROTO_H
#define CAUSET_WIRE_OTLP_PROTO_H

#include "base/buffer.h"
#include "wire/decode.h"

/* An ExportTraceServiceRequest or TracesData.  Spans without a usable trace or span id are rejected
 * rows.  -EBADMSG: not protobuf of this shape.  -ENOMEM, -E2BIG: from the batch. */
int otlp_proto_decode_traces(struct slice body, struct batch *batch, struct decode_tally *tally,
			     struct error *error);

/* An ExportLogsServiceRequest or LogsData.  Records without a trace id are rejected rows. */
int otlp_proto_decode_logs(struct slice body, struct batch *batch, struct decode_tally *tally,
			   struct error *error);

/* An ExportMetricsServiceRequest: its data points are counted as rejected; nothing is kept. */
int otlp_proto_refuse_metrics(struct slice body, struct decode_tally *tally, struct error *error);

/* Appends an ExportTraceServiceRequest with the SPAN, POINT and LINK rows of `refs`; other rows are
 * passed over.  A span's points and links must stand right behind it.  Concatenating two outputs is
 * again one request. */
void otlp_proto_encode_traces(const struct event_ref *refs, size_t n, struct buffer *out);

/* The same for LOG rows, as an ExportLogsServiceRequest. */
void otlp_proto_encode_logs(const struct event_ref *refs, size_t n, struct buffer *out);

#endif
