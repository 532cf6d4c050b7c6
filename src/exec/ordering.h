/* exec/ordering.h - rows in order, all of them or the first N.
 *
 * For one thread; several are merged.  Rows that the order does not tell apart are ordered by all
 * of their values, so the same rows come out whatever order they came in.  With a limit, memory is
 * for some multiple of it; without, a budget bounds it. */
#ifndef CAUSET_EXEC_ORDERING_H
#define CAUSET_EXEC_ORDERING_H

#include "exec/budget.h"
#include "exec/value.h"

#define ORDERING_KEYS_MOST 64

struct ordering {
	uint32_t key_n, value_n;
	const bool *descending; /* [key_n]; borrowed */
	uint64_t limit;         /* 0: all */
	struct value **rows;    /* keys, values, then plus-minus as floats */
	size_t n, capacity;
	struct arena arena;
	struct budget *budget; /* borrowed; may be NULL */
	size_t held;
	bool pruned; /* the last of the first `limit` rows is rows[limit - 1] */
};

/* -E2BIG: too many keys. */
int ordering_init(struct ordering *o, uint32_t key_n, const bool *descending, uint32_t value_n,
		  uint64_t limit, struct budget *budget);
void ordering_done(struct ordering *o);

/* Texts are copied.  `plus_minus` is NULL, or one for each value.  -ENOMEM, -ENOSPC. */
int ordering_add(struct ordering *o, const struct value *keys, const struct value *values,
		 const double *plus_minus);

/* Adds what `from` has. */
int ordering_merge(struct ordering *to, const struct ordering *from);

/* In order.  Anything but 0 from `each` ends it and is returned.  plus_minus is never NULL. */
typedef int ordering_each_fn(void *context, const struct value *values, const double *plus_minus);
int ordering_each(struct ordering *o, ordering_each_fn *each, void *context);

#endif
