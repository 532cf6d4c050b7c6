/* exec/probability.c - how many traces a stored one stands for. */
#include "exec/probability.h"

#include "base/cleanup.h"
#include "sampling/second.h"
#include "sampling/trace_sampling.h"

void probability_init(struct probability *p, uint64_t threshold)
{
	*p = (struct probability){.first = THRESHOLD_UNKNOWN, .second = threshold};
}

void probability_add(struct probability *p, struct slice trace_state, uint64_t kept,
		     struct trace_id id)
{
	uint64_t first = THRESHOLD_UNKNOWN;

	p->second = MAX(p->second, kept);
	if (trace_state.n > 0)
		first = trace_sampling_parse(trace_state, id).threshold;
	if (first != THRESHOLD_UNKNOWN && (p->first == THRESHOLD_UNKNOWN || first > p->first))
		p->first = first;
}

double probability_weight(const struct probability *p)
{
	bool known;
	double weight = second_weight(p->first, p->second, &known);

	return weight >= 1 ? weight : 1;
}

double trace_weight(struct trace_id id, const struct event_ref *refs, size_t n, uint64_t threshold)
{
	struct probability p;

	probability_init(&p, threshold);
	for (size_t i = 0; i < n; i++) {
		const struct batch *b = refs[i].batch;
		const struct event_extra *extra = batch_extra_get(b, event_get(refs[i]));

		/* Nearly always neither is said. */
		if (extra->trace_state || b->kept_threshold)
			probability_add(&p, batch_text(b, extra->trace_state), b->kept_threshold,
					id);
	}
	return probability_weight(&p);
}
