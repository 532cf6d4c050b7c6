/* sampling/trace_sampling.c - the sampling that travels with a trace. */
#include "sampling/trace_sampling.h"

#define OT_MEMBER SLICE("ot")

struct trace_sampling trace_sampling_get(const struct tracestate *t, struct trace_id id)
{
	struct slice member = tracestate_get(t, OT_MEMBER);
	struct trace_sampling s = {.threshold = THRESHOLD_UNKNOWN,
				   .randomness = trace_randomness(id)};
	uint64_t value = 0;

	if (!member.p)
		return s;
	if (randomness_parse(ot_get(member, SLICE("rv")), &value) == 0) {
		s.randomness = value;
		s.explicit_randomness = true;
	}
	if (threshold_parse(ot_get(member, SLICE("th")), &value) == 0 &&
	    threshold_keeps(value, s.randomness))
		s.threshold = value;
	return s;
}

struct trace_sampling trace_sampling_parse(struct slice trace_state, struct trace_id id)
{
	struct tracestate t;

	t.n = 0; /* 1 KiB that need not be cleared for each span */
	tracestate_parse(&t, trace_state);
	return trace_sampling_get(&t, id);
}

int trace_sampling_set(struct tracestate *t, uint64_t threshold,
		       char storage[TRACESTATE_MAX_VALUE_CHARS])
{
	struct slice member = tracestate_get(t, OT_MEMBER);
	char text[THRESHOLD_DIGITS + 1];
	size_t n = threshold_format(threshold, text);
	int r = ot_set(member, SLICE("th"), n ? slice_of(text, n) : slice_of(NULL, 0), storage);

	if (r < 0)
		return r;
	if (r == 0) {
		tracestate_remove(t, OT_MEMBER);
		return 0;
	}
	return tracestate_set(t, OT_MEMBER, slice_of(storage, (size_t)r));
}
