/* exec/grouping.c - rows by key: a hash table of groups. */
#include "exec/grouping.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"

int grouping_init(struct grouping *g, uint32_t key_n, const struct aggregate *aggregates,
		  uint32_t aggregate_n, struct budget *budget)
{
	*g = (struct grouping){
		.aggregates = aggregates,
		.key_n = key_n,
		.aggregate_n = aggregate_n,
		.budget = budget,
	};
	map_init(&g->by_key);
	if (key_n > GROUPING_KEYS_MOST || aggregate_n > AGGREGATES_MOST)
		return -E2BIG;
	g->row_bytes = (sizeof(struct group_row) + key_n * sizeof(struct value) + 15) & ~(size_t)15;
	for (uint32_t i = 0; i < aggregate_n; i++) {
		g->state_at[i] = g->row_bytes;
		g->row_bytes += aggregate_bytes(&aggregates[i]);
	}
	return 0;
}

void grouping_done(struct grouping *g)
{
	for (size_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->aggregate_n; k++)
			aggregate_done(&g->aggregates[k], grouping_state(g, (uint32_t)i, k));
	free(g->rows);
	map_done(&g->by_key);
	arena_done(&g->arena);
	if (g->budget)
		budget_give(g->budget, g->held);
	*g = (struct grouping){0};
}

static bool row_is(const void *context, uint32_t row, const void *key)
{
	const struct grouping *g = context;
	const struct value *a = g->rows[row]->keys, *b = key;

	for (uint32_t i = 0; i < g->key_n; i++)
		if (!value_same(a[i], b[i]))
			return false;
	return true;
}

int grouping_account(struct grouping *g)
{
	size_t bytes = g->arena.bytes + g->capacity * sizeof(*g->rows) +
		       g->by_key.capacity * sizeof(struct map_slot);

	return bytes == g->held || !g->budget ? 0 : budget_hold(g->budget, &g->held, bytes);
}

static int row_new(struct grouping *g, const struct value *keys, uint64_t hash, uint32_t *ret_row)
{
	struct group_row *row = arena_zalloc(&g->arena, 1, g->row_bytes);

	if (!row || g->n == MAP_NONE ||
	    !vec_reserve(&g->rows, &g->capacity, g->n + 1, sizeof(struct group_row *)))
		return -ENOMEM;
	row->hash = hash;
	for (uint32_t i = 0; i < g->key_n; i++)
		if (!value_dup(&g->arena, keys[i], &row->keys[i]))
			return -ENOMEM;
	if (!map_put(&g->by_key, hash, (uint32_t)g->n))
		return -ENOMEM;
	g->rows[g->n] = row;
	*ret_row = (uint32_t)g->n++;
	return grouping_account(g);
}

static int find_hashed(struct grouping *g, const struct value *keys, uint64_t hash,
		       uint32_t *ret_row)
{
	uint32_t row = map_get(&g->by_key, hash, row_is, g, keys);

	if (row == MAP_NONE)
		return row_new(g, keys, hash, ret_row);
	*ret_row = row;
	return 0;
}

static uint64_t keys_hash(const struct grouping *g, const struct value *keys)
{
	uint64_t hash = rng_process_seed();

	for (uint32_t i = 0; i < g->key_n; i++)
		hash = value_hash(keys[i], hash);
	return hash;
}

int grouping_find(struct grouping *g, const struct value *keys, uint32_t *ret_row)
{
	return find_hashed(g, keys, keys_hash(g, keys), ret_row);
}

bool grouping_has(const struct grouping *g, const struct value *keys)
{
	return map_get(&g->by_key, keys_hash(g, keys), row_is, g, keys) != MAP_NONE;
}

int grouping_add(struct grouping *g, uint32_t row, const struct value *args,
		 const struct sample *sample)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < g->aggregate_n; i++)
		r = aggregate_add(&g->aggregates[i], grouping_state(g, row, i), &g->arena, args[i],
				  sample);
	return r;
}

int grouping_merge(struct grouping *to, struct grouping *from)
{
	for (size_t i = 0; i < from->n; i++) {
		uint32_t row;
		int r = find_hashed(to, from->rows[i]->keys, from->rows[i]->hash, &row);

		for (uint32_t k = 0; r == 0 && k < to->aggregate_n; k++)
			r = aggregate_merge(&to->aggregates[k], grouping_state(to, row, k),
					    &to->arena, grouping_state(from, (uint32_t)i, k));
		if (r < 0)
			return r;
	}
	return grouping_account(to);
}

static int by_keys(const void *a, const void *b, void *context)
{
	const struct grouping *g = context;
	const struct group_row *x = *(struct group_row *const *)a,
			       *y = *(struct group_row *const *)b;
	int c = 0;

	for (uint32_t i = 0; c == 0 && i < g->key_n; i++)
		c = value_order(x->keys[i], y->keys[i]);
	return c;
}

int grouping_each(struct grouping *g, grouping_each_fn *each, void *context)
{
	struct value values[GROUPING_KEYS_MOST + AGGREGATES_MOST];
	struct estimate estimates[AGGREGATES_MOST];
	struct arena arena = {0};
	int r = 0;

	if (g->n > 1)
		qsort_r(g->rows, g->n, sizeof(struct group_row *), by_keys, g);
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		arena_clear(&arena);
		if (g->key_n)
			memcpy(values, g->rows[i]->keys, g->key_n * sizeof(*values));
		for (uint32_t k = 0; r == 0 && k < g->aggregate_n; k++)
			r = aggregate_result(&g->aggregates[k], grouping_state(g, (uint32_t)i, k),
					     &arena, &values[g->key_n + k], &estimates[k]);
		if (r == 0)
			r = each(context, values, estimates);
	}
	arena_done(&arena);
	return r;
}

int aggregate_from_plan(const struct plan_aggregate *p, double range_seconds,
			struct aggregate *ret_aggregate)
{
	struct aggregate a = {.kind = p->kind, .of_rows = !p->arg};

	if (p->kind == AGG_QUANTILE) {
		if (p->parameter_n == 0)
			return -EINVAL;
		for (; a.q_n < p->parameter_n; a.q_n++)
			a.q[a.q_n] = p->parameters[a.q_n];
	}
	if (p->kind == AGG_TOPK)
		a.k = p->parameter_n > 0 && p->parameters[0] >= 1 ? (uint32_t)p->parameters[0] : 10;
	if (p->kind == AGG_RATE)
		a.seconds = range_seconds;
	*ret_aggregate = a;
	return 0;
}
