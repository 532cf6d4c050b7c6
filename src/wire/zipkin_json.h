/* wire/zipkin_json.h - Zipkin v2 spans in JSON, both ways.  What becomes what: wire/zipkin.h. */
#ifndef CAUSET_WIRE_ZIPKIN_JSON_H
#define CAUSET_WIRE_ZIPKIN_JSON_H

#include "base/buffer.h"
#include "wire/decode.h"
#include "wire/json_writer.h"

/* A list of spans, a list of such lists (what /api/v2/traces answers), or a single span.  Spans
 * without a usable trace id or id are rejected rows.  -EBADMSG: not JSON, or not of this shape.
 * -ENOMEM, -E2BIG: from the batch. */
int zipkin_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error);

/* Appends a list with the SPAN rows of `refs`; other rows but their points and links are passed
 * over.  Of spans born elsewhere each repeats what its resource says: hand over large results in
 * pieces. */
void zipkin_json_encode(const struct event_ref *refs, size_t n, struct buffer *out);

/* The same as one value of a larger text. */
void zipkin_json_put(struct json_writer *w, const struct event_ref *refs, size_t n);

struct zipkin_span;

/* One span. */
void zipkin_json_put_span(struct json_writer *w, const struct zipkin_span *s);

#endif
