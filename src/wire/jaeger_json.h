/* wire/jaeger_json.h - Jaeger's JSON (what its UI downloads and its HTTP API answers), both ways.
 *
 *   {"data":[{"traceID":…,"spans":[…],"processes":{"p1":{…}},"warnings":[…]}]}
 *
 * A span is a SPAN row of FORMAT_JAEGER, its logs POINT rows, its references LINK rows:
 *
 *   reference CHILD_OF in the same trace, the first    parent (id2)
 *   other references                                   LINK; attribute opentracing.ref_type says
 *                                                      child_of unless it FOLLOWS_FROM
 *   process.serviceName, process.tags                  resource: service.name first, then the tags
 *   log field "event"                                  the point's name
 *   tag span.kind                                      kind
 *   tag error (true), otel.status_code                 status; which of them were there is in bits
 *   tag otel.status_description                        status message
 *   tag w3c.tracestate                                 trace state
 *   tags otel.scope.name, otel.scope.version           scope
 *   tags otel.dropped_{attributes,events,links}_count  dropped counts
 *   warnings                                           attribute jaeger.warnings, a list; of the
 *                                                      trace: jaeger.trace_warnings of its first
 *                                                      span
 *   other tags                                         attributes
 *
 * The first tag of such a name with a fitting value is taken, any further stays an attribute.  On
 * the way out these tags come first.  What Jaeger's format cannot hold is listed in
 * docs/design/wire.md. */
#ifndef CAUSET_WIRE_JAEGER_JSON_H
#define CAUSET_WIRE_JAEGER_JSON_H

#include "base/buffer.h"
#include "wire/decode.h"
#include "wire/json_writer.h"

/* In event.bits of a SPAN row: these tags were there.  (In a LINK row EVENT_TRACE_ID_64 is about
 * the trace that is linked to.) */
enum jaeger_bits {
	JAEGER_ERROR_TAG = EVENT_FORMAT_BIT << 0,
	JAEGER_STATUS_TAG = EVENT_FORMAT_BIT << 1,
};

/* An answer {"data":[…]}, a list of traces, or a single trace.  Spans without a usable trace or
 * span id are rejected rows.  -EBADMSG: not JSON, or not of this shape.  -ENOMEM, -E2BIG: from the
 * batch. */
int jaeger_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error);

/* Appends an answer with the SPAN rows of `refs`, of whatever format, and their points and links;
 * other rows are passed over.  Spans of a trace that stand together become one trace, and each
 * trace repeats what the resources of its spans say: hand over large results in pieces. */
void jaeger_json_encode(const struct event_ref *refs, size_t n, struct buffer *out);

/* Only the list of traces, as one value of a larger text. */
void jaeger_json_put_traces(struct json_writer *w, const struct event_ref *refs, size_t n);

/* The same without brackets: items of a list that the caller has begun.  Rows of one trace are one
 * item, as a rule.  `unnamed` is what a service without a name is called. */
void jaeger_json_put_trace(struct json_writer *w, const struct event_ref *refs, size_t n,
			   struct slice unnamed);

#endif
