/* exec/probability.h - how many traces a stored one stands for.
 *
 * A trace has one weight: the samplers on its way state thresholds in tracestate, on each span, and
 * the largest that is stated counts, since a sampler that keeps fewer keeps a subset; times the
 * weight of the store's own sampling (sampling/second.h), which a query's Sample goes on with.  A
 * trace of which nobody says how it was sampled counts as one. */
#ifndef CAUSET_EXEC_PROBABILITY_H
#define CAUSET_EXEC_PROBABILITY_H

#include "model/batch.h"

struct probability {
	uint64_t first;  /* threshold; THRESHOLD_UNKNOWN: nobody said */
	uint64_t second; /* of the store */
};

/* Nothing is known yet but that a query looks at a sample of this threshold; 0: at all. */
void probability_init(struct probability *p, uint64_t threshold);

/* A span's tracestate, and the threshold of what it was kept with. */
void probability_add(struct probability *p, struct slice trace_state, uint64_t kept,
		     struct trace_id id);

/* 1/p, at least 1. */
double probability_weight(const struct probability *p);

/* Of a whole trace, in a sample of this threshold. */
double trace_weight(struct trace_id id, const struct event_ref *refs, size_t n, uint64_t threshold);

#endif
