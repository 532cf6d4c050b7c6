/* core/propagation.h - what a request's headers say about the trace it belongs to, whatever dialect
 * they speak.
 *
 * W3C's traceparent is asked first, then B3 in one header, then B3 in several: the first that is
 * there and good counts.  A traceparent sent twice is no traceparent (the specification has it
 * discarded); tracestate and baggage lines are joined; of other headers sent twice the first
 * counts. Names are compared without case. */
#ifndef CAUSET_CORE_PROPAGATION_H
#define CAUSET_CORE_PROPAGATION_H

#include "core/b3.h"
#include "core/baggage_header.h"
#include "core/traceparent.h"
#include "core/tracestate.h"

#define PROPAGATION_MAX_HEADERS                                                                    \
	256 /* looked at; a request with more is another layer's to refuse */

struct header_field {
	struct slice name, value;
};

enum propagation_dialect {
	PROPAGATION_NONE, /* no context: start a new trace */
	PROPAGATION_W3C,
	PROPAGATION_B3_SINGLE,
	PROPAGATION_B3_MULTI,
};

struct propagation {
	enum propagation_dialect dialect;
	struct trace_id trace; /* all zero when B3 sent only a sampling state */
	span_id_t parent;
	bool random; /* the sender says the trace id's low 56 bits are random */
	enum b3_sampling sampling;
	struct tracestate tracestate;  /* only with W3C */
	struct baggage_header baggage; /* whatever the dialect */
};

/* Slices in *ret borrow from the header values. */
void propagation_extract(const struct header_field *headers, size_t n, struct propagation *ret);

#endif
