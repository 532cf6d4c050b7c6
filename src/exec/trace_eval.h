/* exec/trace_eval.h - operators of a plan over one trace at a time: the inside of the trace path.
 */
#ifndef CAUSET_EXEC_TRACE_EVAL_H
#define CAUSET_EXEC_TRACE_EVAL_H

#include "exec/trace_at.h"

/* A tuple of a trace; everything lies in the arena of the trace. */
struct trace_tuple {
	struct value *values;
	struct element anchor;
};

struct tuples {
	struct trace_tuple *items;
	uint32_t n, capacity;
};

#define TUPLES_MOST (1u << 24) /* of one operator and one trace; more is refused */

/* Adds one; values are not copied.  -ENOMEM; -E2BIG over TUPLES_MOST. */
int tuples_add(struct trace_at *at, struct tuples *out, struct value *values,
	       struct element anchor);

/* The operator's tuples of the trace at hand.  `ranged`: only elements in the run's range. -ENOMEM,
 * -ENOSPC, -E2BIG, or what an expression failed with. */
int trace_eval(struct trace_at *at, const struct plan_node *node, bool ranged, struct tuples *out);

/* --- parts --- */

int eval_hbjoin(struct trace_at *at, const struct plan_node *node, bool ranged, struct tuples *out);
int eval_sequence(struct trace_at *at, const struct plan_node *node, bool ranged,
		  struct tuples *out);
int eval_pipe(struct trace_at *at, const struct plan_node *node, struct tuples *out);

/* One bit for each block of the trace: is it in the set?  In the arena; NULL: at->env.failed. */
uint64_t *trace_set(struct trace_at *at, const struct plan_set *set);

/* Did the anchor of a happen before that of b?  1, 0, negative errno.  Notes what leaned on a
 * clock. */
int anchors_before(struct trace_at *at, struct element a, struct element b);
/* Is there one edge between them, and the order, too? */
int anchors_direct(struct trace_at *at, struct element a, struct element b);

/* The first or last n of the tuples, in causal order: chosen ones to the front of `items`, in the
 * order they were in; how many, or a negative errno. */
int tuples_pick(struct trace_at *at, struct trace_tuple **items, uint32_t n, enum plan_pick pick,
		uint32_t most);

/* exec/element_field.c */
struct value element_value_of(struct trace_at *at, struct element el, const struct plan_expr *e);
struct value row_host(struct event_ref ref, struct arena *arena);

/* Points at the ends of an edge that somebody sent are not events of their own. */
static inline bool element_is_made(const struct trace *t, struct element el)
{
	return el.kind == ELEMENT_POINT &&
	       trace_row(t, t->points[el.index].row)->type == EVENT_EDGE;
}

static inline bool set_has(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void set_put(uint64_t *set, uint32_t i)
{
	set[i / 64] |= (uint64_t)1 << (i % 64);
}

#endif
