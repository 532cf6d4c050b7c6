/* wire/events_proto.h - native events in protobuf, both ways: causet.v1 of
 * docs/format/events.proto.
 *
 * Every field of every row comes back on encoding, unknown fields included, and rows that came in
 * other formats can be handed on in this one: it holds all that the model holds.  Not told apart: a
 * field that is absent and one that has its default. */
#ifndef CAUSET_WIRE_EVENTS_PROTO_H
#define CAUSET_WIRE_EVENTS_PROTO_H

#include "base/buffer.h"
#include "wire/decode.h"

/* An ExportEventsRequest.  Events without a type we know or without an id that their type needs are
 * rejected rows.  -EBADMSG: not protobuf of this shape.  -ENOMEM, -E2BIG: from the batch. */
int events_proto_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
			struct error *error);

/* Appends an ExportEventsRequest with all rows of `refs`.  Concatenating two outputs is again one
 * request. */
void events_proto_encode(const struct event_ref *refs, size_t n, struct buffer *out);

/* Appends the ExportEventsResponse for a decoded request; nothing when every row was accepted. */
void events_proto_response(const struct decode_tally *tally, struct buffer *out);

#endif
