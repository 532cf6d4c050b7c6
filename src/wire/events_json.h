/* wire/events_json.h - native events in JSON, both ways: the same rows as wire/events_proto.h.
 *
 * The form of docs/format/events.md: the fields of docs/format/events.proto in lowerCamelCase
 * (snake_case is read, too), ids in hex, 64-bit integers as strings (numbers are read, too), the
 * type by name or number, other enums by number (names are read, too).  What JSON cannot hold is
 * written as near as it can be: as in wire/otlp_json.h. */
#ifndef CAUSET_WIRE_EVENTS_JSON_H
#define CAUSET_WIRE_EVENTS_JSON_H

#include "base/buffer.h"
#include "wire/decode.h"

/* An ExportEventsRequest.  Rejected rows as in protobuf.  -EBADMSG: not JSON, or not of this shape.
 * -ENOMEM, -E2BIG: from the batch. */
int events_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error);

/* Appends an ExportEventsRequest with all rows of `refs`, on one line, without a line feed. */
void events_json_encode(const struct event_ref *refs, size_t n, struct buffer *out);

/* Appends the ExportEventsResponse for a decoded request. */
void events_json_response(const struct decode_tally *tally, struct buffer *out);

#endif
