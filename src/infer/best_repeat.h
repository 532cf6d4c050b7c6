/* infer/best_repeat.h - a node that calls an endpoint several times for a parent: its model.
 *
 * What a parent does is a chain of its own events in the order of time: its start, starts and ends
 * of its calls, its finish.  Each event is followed by the start of a call, by the finish, or by
 * the end of a call that is still out (the chain waits for it); how likely each is, and after what
 * delay, depends on the event before it alone (a semi-Markov process).  Loops, retries, optional
 * calls and fan-outs are all chains.
 *
 *   start ─▶ call a ┈▶ a ends ─▶ call b ┈▶ b ends ─▶ call b ┈▶ b ends ─▶ finish     (┈ waiting) */
#ifndef CAUSET_INFER_BEST_REPEAT_H
#define CAUSET_INFER_BEST_REPEAT_H

#include "infer/best_assign.h"
#include "infer/best_density.h"
#include "infer/best_view.h"

#define REPEAT_OUT_MAX 64 /* calls of one parent out at once; beyond, the oldest count as ended */

struct repeat_model {
	uint16_t type_n, endpoint_n;
	uint32_t before_n, after_n; /* kinds of events before (T + 2 E) and after (E + 1) */
	/* [before * after_n + after]; NULL: never seen. */
	struct density **delay;
	float *log_next; /* the same: log-probability of that successor */
	float *log_wait; /* [before] */
	double *next;    /* counts, as log_next */
	double *wait;
	struct density *flat; /* for what was never seen */
	bool fitted;
};

/* Kinds of events. */
static inline uint32_t repeat_begun(const struct repeat_model *m, unsigned endpoint)
{
	return m->type_n + 2U * endpoint;
}
static inline uint32_t repeat_ended(const struct repeat_model *m, unsigned endpoint)
{
	return m->type_n + 2U * endpoint + 1;
}
static inline uint32_t repeat_finish(const struct repeat_model *m)
{
	return m->endpoint_n;
}

/* The answer as chains: children of a parent in the order of start. */
struct chains {
	const struct view *view;
	uint32_t *first; /* per parent, or VIEW_NONE */
	uint32_t *next;  /* per child, or VIEW_NONE */
};

int repeat_model_new(uint16_t type_n, uint16_t endpoint_n, struct repeat_model **ret_model);
struct repeat_model *repeat_model_free(struct repeat_model *m);

/* Log-likelihood of `after` following `before` by `gap` ticks. */
static inline float repeat_step(const struct repeat_model *m, uint32_t before, uint32_t after,
				int64_t gap)
{
	size_t at = (size_t)before * m->after_n + after;
	const struct density *d = m->delay[at] ? m->delay[at] : m->flat;

	return m->log_next[at] + density_log(d, gap);
}

/* The same for the finish of a parent, which may not have been seen: then as usual. */
static inline float repeat_finish_step(const struct repeat_model *m, const struct view *v,
				       uint32_t parent, uint32_t before, int64_t since)
{
	size_t at = (size_t)before * m->after_n + repeat_finish(m);
	const struct density *d = m->delay[at] ? m->delay[at] : m->flat;

	return m->log_next[at] + (v->parent_end[parent] == VIEW_OPEN
					  ? d->mean
					  : density_log(d, v->parent_end[parent] - since));
}

/* Log-likelihood of a parent with the chain that starts at `first`. */
double repeat_score(const struct repeat_model *m, const struct chains *c, uint32_t parent,
		    uint32_t first);

/* Learns anew from the chains; `keep` of what was learnt before stays.  -ENOMEM. */
int repeat_fit(struct repeat_model *m, const struct chains *c, double keep);

/* First delays, from correlations.  -ENOMEM. */
int repeat_seed(struct repeat_model *m, const struct view *v);

/* Builds the chains from view->owner. */
void chains_build(struct chains *c);

#endif
