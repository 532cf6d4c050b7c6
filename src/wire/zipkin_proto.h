/* wire/zipkin_proto.h - Zipkin's spans in protobuf, both ways: the same rows as wire/zipkin_json.h.
 *
 * Fields of a span that we do not know are kept and come back; those of an endpoint or annotation
 * are not.  An address that is text but no address (JSON allows it) cannot be written and is left
 * out. */
#ifndef CAUSET_WIRE_ZIPKIN_PROTO_H
#define CAUSET_WIRE_ZIPKIN_PROTO_H

#include "base/buffer.h"
#include "wire/decode.h"

/* A ListOfSpans.  Spans without usable ids, addresses, ports or times are rejected rows.  -EBADMSG:
 * not protobuf of this shape.  -ENOMEM, -E2BIG: from the batch. */
int zipkin_proto_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
			struct error *error);

/* Appends a ListOfSpans with the SPAN rows of `refs` and the points and links behind them; other
 * rows are passed over.  Concatenating two outputs is again one list. */
void zipkin_proto_encode(const struct event_ref *refs, size_t n, struct buffer *out);

#endif
