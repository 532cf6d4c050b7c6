/* exec/ordering.c - rows in order, all of them or the first N. */
#include "exec/ordering.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define PRUNE_FIRST 1024 /* rows that are kept before the first pruning */

int ordering_init(struct ordering *o, uint32_t key_n, const bool *descending, uint32_t value_n,
		  uint64_t limit, struct budget *budget)
{
	*o = (struct ordering){
		.key_n = key_n,
		.value_n = value_n,
		.descending = descending,
		.limit = limit,
		.budget = budget,
	};
	return key_n > ORDERING_KEYS_MOST ? -E2BIG : 0;
}

void ordering_done(struct ordering *o)
{
	free(o->rows);
	arena_done(&o->arena);
	if (o->budget)
		budget_give(o->budget, o->held);
	*o = (struct ordering){0};
}

static int order_rows(const struct ordering *o, const struct value *xk, const struct value *xv,
		      const struct value *yk, const struct value *yv)
{
	int c = 0;

	for (uint32_t i = 0; c == 0 && i < o->key_n; i++) {
		c = value_order(xk[i], yk[i]);
		if (o->descending[i])
			c = -c;
	}
	for (uint32_t i = 0; c == 0 && i < o->value_n; i++)
		c = value_order(xv[i], yv[i]);
	return c;
}

static int by_order(const void *a, const void *b, void *context)
{
	const struct ordering *o = context;
	const struct value *x = *(struct value *const *)a, *y = *(struct value *const *)b;

	return order_rows(o, x, x + o->key_n, y, y + o->key_n);
}

static int account(struct ordering *o)
{
	size_t bytes = o->arena.bytes + o->capacity * sizeof(struct value *);

	return bytes == o->held || !o->budget ? 0 : budget_hold(o->budget, &o->held, bytes);
}

static bool row_copy(struct arena *arena, const struct ordering *o, const struct value *keys,
		     const struct value *values, const struct value *plus_minus,
		     struct value **ret_row)
{
	struct value *row =
		arena_zalloc(arena, o->key_n + 2 * (size_t)o->value_n + 1, sizeof(*row));

	if (!row)
		return false;
	for (uint32_t i = 0; i < o->key_n; i++)
		if (!value_dup(arena, keys[i], &row[i]))
			return false;
	for (uint32_t i = 0; i < o->value_n; i++) {
		if (!value_dup(arena, values[i], &row[o->key_n + i]))
			return false;
		row[o->key_n + o->value_n + i] = plus_minus ? plus_minus[i] : value_float(0);
	}
	*ret_row = row;
	return true;
}

/* What is not among the first `limit` goes, and its memory with it. */
static int prune(struct ordering *o)
{
	struct arena arena = {0};

	qsort_r(o->rows, o->n, sizeof(struct value *), by_order, o);
	o->n = MIN(o->n, (size_t)o->limit);
	for (size_t i = 0; i < o->n; i++) {
		const struct value *row = o->rows[i];

		if (!row_copy(&arena, o, row, row + o->key_n, row + o->key_n + o->value_n,
			      &o->rows[i])) {
			o->n = 0;
			arena_done(&arena);
			return -ENOMEM;
		}
	}
	arena_done(&o->arena);
	o->arena = arena;
	o->pruned = o->n == o->limit;
	return 0;
}

/* 1, or 0 when it is not among the first. */
static int row_add(struct ordering *o, const struct value *keys, const struct value *values,
		   const struct value *plus_minus)
{
	int r;

	if (o->limit && o->n >= MAX((uint64_t)PRUNE_FIRST, 2 * o->limit)) {
		r = prune(o);
		if (r < 0)
			return r;
	}
	if (o->pruned) {
		const struct value *last = o->rows[o->limit - 1];

		if (order_rows(o, keys, values, last, last + o->key_n) >= 0)
			return 0;
	}
	if (!vec_reserve(&o->rows, &o->capacity, o->n + 1, sizeof(struct value *)) ||
	    !row_copy(&o->arena, o, keys, values, plus_minus, &o->rows[o->n]))
		return -ENOMEM;
	o->n++;
	return 1;
}

int ordering_add(struct ordering *o, const struct value *keys, const struct value *values,
		 const double *plus_minus)
{
	int r = row_add(o, keys, values, NULL);

	/* Most rows have none, and most that do are not dropped right away. */
	for (uint32_t i = 0; r == 1 && plus_minus && i < o->value_n; i++)
		o->rows[o->n - 1][o->key_n + o->value_n + i].f = plus_minus[i];
	return r > 0 ? account(o) : r;
}

int ordering_merge(struct ordering *to, const struct ordering *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++) {
		const struct value *row = from->rows[i];

		r = row_add(to, row, row + to->key_n, row + to->key_n + to->value_n);
		if (r > 0)
			r = account(to);
	}
	return r;
}

int ordering_each(struct ordering *o, ordering_each_fn *each, void *context)
{
	_cleanup_(freep)
	double *plus_minus = calloc(o->value_n + 1, sizeof(*plus_minus));
	size_t n = o->limit ? MIN(o->n, (size_t)o->limit) : o->n;
	int r = plus_minus ? 0 : -ENOMEM;

	if (r == 0 && o->n > 1)
		qsort_r(o->rows, o->n, sizeof(struct value *), by_order, o);
	for (size_t i = 0; r == 0 && i < n; i++) {
		for (uint32_t k = 0; k < o->value_n; k++)
			plus_minus[k] = o->rows[i][o->key_n + o->value_n + k].f;
		r = each(context, o->rows[i] + o->key_n, plus_minus);
	}
	return r;
}
