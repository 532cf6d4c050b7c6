/* sampling/trace_sampling.h - the sampling that travels with a trace: `ot=th:…;rv:…` in tracestate.
 */
#ifndef CAUSET_SAMPLING_TRACE_SAMPLING_H
#define CAUSET_SAMPLING_TRACE_SAMPLING_H

#include "core/tracestate.h"
#include "sampling/threshold.h"

struct trace_sampling {
	uint64_t threshold;  /* THRESHOLD_UNKNOWN when nobody said */
	uint64_t randomness; /* R: `rv` if it is there and good, else from the trace id */
	bool explicit_randomness;
};

/* Reads both.  What is against its grammar counts as not said.  A threshold that would have
 * rejected this very trace (R < T) is a contradiction, since the trace is here: it becomes UNKNOWN,
 * as OpenTelemetry asks, so that no count is weighted by it. */
struct trace_sampling trace_sampling_get(const struct tracestate *t, struct trace_id id);

/* The same from a header's text, as spans carry it.  A text that is no tracestate says nothing. */
struct trace_sampling trace_sampling_parse(struct slice trace_state, struct trace_id id);

/* Writes the threshold into the `ot` member, keeping its other sub-keys; UNKNOWN and NEVER remove
 * `th`.  `storage` holds the member's text and must live as long as *t.  -ENOBUFS when the member
 * is too full; *t is then unchanged. */
int trace_sampling_set(struct tracestate *t, uint64_t threshold,
		       char storage[TRACESTATE_MAX_VALUE_CHARS]);

#endif
