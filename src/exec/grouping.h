/* exec/grouping.h - rows by key: a hash table of groups, each with states of aggregates.
 *
 * For one thread; the tables of several are merged.  Groups have numbers in the order they came up;
 * results come sorted by key, so they are the same every time.  Memory is bounded by a budget, and
 * over it the answer is a clear refusal: a group-by that does not fit was hardly meant. */
#ifndef CAUSET_EXEC_GROUPING_H
#define CAUSET_EXEC_GROUPING_H

#include "base/map.h"
#include "exec/aggregate.h"
#include "exec/budget.h"

#define GROUPING_KEYS_MOST 64

struct group_row {
	uint64_t hash;
	struct value keys[]; /* key_n; behind them the states */
};

struct grouping {
	const struct aggregate *aggregates; /* borrowed */
	uint32_t key_n, aggregate_n;
	size_t row_bytes;
	size_t state_at[AGGREGATES_MOST]; /* from the row's beginning */

	struct group_row **rows;
	size_t n, capacity;
	struct map by_key;
	struct arena arena;
	struct budget *budget; /* borrowed */
	size_t held;           /* taken of it */
};

/* The aggregates are borrowed.  -E2BIG: too many keys or aggregates. */
int grouping_init(struct grouping *g, uint32_t key_n, const struct aggregate *aggregates,
		  uint32_t aggregate_n, struct budget *budget);
void grouping_done(struct grouping *g);

/* The group of these keys, made if it is new; texts are copied.  -ENOMEM, -ENOSPC. */
int grouping_find(struct grouping *g, const struct value *keys, uint32_t *ret_row);

/* Is there such a group? */
bool grouping_has(const struct grouping *g, const struct value *keys);

static inline void *grouping_state(const struct grouping *g, uint32_t row, uint32_t aggregate)
{
	return (char *)g->rows[row] + g->state_at[aggregate];
}

static inline const struct value *grouping_keys(const struct grouping *g, uint32_t row)
{
	return g->rows[row]->keys;
}

/* Adds one row with its arguments, one for each aggregate.  -ENOMEM. */
int grouping_add(struct grouping *g, uint32_t row, const struct value *args,
		 const struct sample *sample);

/* Says what memory is held by now: after rows were added.  -ENOSPC. */
int grouping_account(struct grouping *g);

/* Adds what `from` has; it is only good for grouping_done() then. */
int grouping_merge(struct grouping *to, struct grouping *from);

/* Groups by key, in order; values are keys, then results.  Good during the call. */
typedef int grouping_each_fn(void *context, const struct value *values,
			     const struct estimate *estimates);

/* Anything but 0 from `each` ends it and is returned.  estimates: one for each aggregate. */
int grouping_each(struct grouping *g, grouping_each_fn *each, void *context);

/* The aggregate that a plan asks for.  -EINVAL when parameters are missing. */
int aggregate_from_plan(const struct plan_aggregate *p, double range_seconds,
			struct aggregate *ret_aggregate);

#endif
