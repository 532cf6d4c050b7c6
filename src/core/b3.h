/* core/b3.h - Zipkin's B3 propagation, in one header or in several.
 *
 *   b3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1-05e3ac9a4f6e3b90
 *   b3: 0                                           (only "do not sample")
 *   X-B3-TraceId, X-B3-SpanId, X-B3-ParentSpanId, X-B3-Sampled, X-B3-Flags */
#ifndef CAUSET_CORE_B3_H
#define CAUSET_CORE_B3_H

#include "core/ids.h"

enum b3_sampling {
	B3_DEFER,  /* not said: whoever receives decides */
	B3_DENY,   /* 0 */
	B3_ACCEPT, /* 1 */
	B3_DEBUG,  /* d: sample, and do not sample away later */
};

struct b3 {
	struct trace_id trace; /* all zero: only a sampling state was sent */
	span_id_t span;        /* 0 exactly when the trace id is zero */
	span_id_t parent;      /* 0: none */
	enum b3_sampling sampling;
};

#define B3_SINGLE_CHARS (TRACE_ID_HEX + 1 + SPAN_ID_HEX + 2 + 1 + SPAN_ID_HEX)

/* What the headers of the several-header form hold; p is NULL for one that is absent. */
struct b3_headers {
	struct slice trace, span, parent, sampled, flags;
};

/* The texts to send in the several-header form; an empty one is not sent. */
struct b3_texts {
	char trace[TRACE_ID_HEX + 1];
	char span[SPAN_ID_HEX + 1];
	char parent[SPAN_ID_HEX + 1];
	char sampled[2];
	char flags[2];
};

/* Trace ids of 16 or 32 digits (a short one is padded with zeros), span ids of 16, in either case.
 * -EINVAL otherwise, and for zero ids: the caller starts a new trace. */
int b3_parse_single(struct slice text, struct b3 *ret_b3);

/* X-B3-Sampled is 0, 1, or the older false, true; X-B3-Flags: 1 is debug and wins over Sampled.
 * -EINVAL also when only one of trace and span is there.  All absent: -ENOENT. */
int b3_parse_multi(const struct b3_headers *headers, struct b3 *ret_b3);

/* With a NUL; returns the length.  "" when there are neither ids nor a sampling state. */
size_t b3_format_single(const struct b3 *b3, char out[B3_SINGLE_CHARS + 1]);
void b3_format_multi(const struct b3 *b3, struct b3_texts *ret_texts);

#endif
