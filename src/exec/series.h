/* exec/series.h - numbers over time: what TraceQL's metrics functions give.
 *
 * Time is cut into steps, each of them a multiple of the step's length since 1970, so that asking
 * again a moment later gives the same steps.  A series is one combination of keys; rows come series
 * by series, in order of time.  A step without spans counts 0 where rows are counted (count, rate)
 * and is left out elsewhere.  topk(n) and bottomk(n) keep, at each step, the n series with the
 * largest or smallest value there; among equal ones the first by their keys. */
#ifndef CAUSET_EXEC_SERIES_H
#define CAUSET_EXEC_SERIES_H

#include "exec/grouping.h"
#include "exec/run.h"

#define SERIES_STEPS_MOST 11000 /* as Prometheus has it */

struct series_steps {
	int64_t from_ns, step_ns;
	uint32_t n;
};

/* The steps for what is asked: the plan's, the caller's, or some hundred of a round length, over
 * the range asked about or all that is stored.  -EINVAL with the reason: too many. */
int series_steps_init(struct series_steps *s, struct query_at *run, const struct plan_node *node);

/* The same for what is no series in the plan; step_ns 0: the caller's. */
int series_steps_of(struct series_steps *s, struct query_at *run, int64_t step_ns);

/* Steps of a length that is known, over a range with both ends.  -EINVAL with the reason: too
 * many. */
int series_steps_cut(struct series_steps *s, struct plan_range range, int64_t step_ns,
		     struct error *error);

static inline bool series_step(const struct series_steps *s, uint64_t time_ns, uint32_t *ret_step)
{
	uint64_t step = (time_ns - (uint64_t)s->from_ns) / (uint64_t)s->step_ns;

	*ret_step = (uint32_t)step;
	return time_ns >= (uint64_t)s->from_ns && step < s->n;
}

/* Gives what a table of groups holds whose first key is the step's time. */
int series_give(struct query_at *run, const struct plan_node *node, const struct series_steps *s,
		struct grouping *groups, const struct run_sink *sink);

#endif
