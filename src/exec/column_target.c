/* exec/column_target.c - where rows of a query over columns go: groups, found the short way. */
#include "exec/column_target.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define HALVES_FIRST 4096 /* places; a power of two */

int row_target_init(struct row_target *t, const struct column_query *q,
		    const struct series_steps *steps, struct grouping *groups,
		    struct budget *budget)
{
	*t = (struct row_target){.query = q, .steps = steps, .groups = groups, .budget = budget};
	return grouping_init(&t->series, q->key_n, NULL, 0, budget);
}

void row_target_done(struct row_target *t)
{
	if (t->budget)
		budget_give(t->budget, t->cell_n * sizeof(*t->cells));
	grouping_done(&t->series);
	free(t->cells);
	free(t->key_rows);
	free(t->halves);
	*t = (struct row_target){0};
}

int row_target_follow(struct row_target *t, const struct column_shapes *shapes)
{
	size_t n = shapes->groups.n;

	if (t->shapes == shapes)
		return 0;
	t->shapes = NULL;
	if (!vec_reserve(&t->key_rows, &t->key_row_capacity, n + 1, sizeof(*t->key_rows)))
		return -ENOMEM;
	memset(t->key_rows, 0xff, n * sizeof(*t->key_rows));
	if (t->half_n)
		memset(t->halves, 0, t->half_capacity * sizeof(*t->halves));
	t->half_n = 0;
	t->shapes = shapes;
	return 0;
}

int row_target_cell(struct row_target *t, uint32_t series, uint64_t time_ns, uint32_t *ret_group)
{
	const struct series_steps *s = t->steps;
	size_t need = ((size_t)series + 1) * s->n;
	struct value all[GROUPING_KEYS_MOST + 1];
	uint32_t step, *cell;
	int r = 0;

	if (!series_step(s, time_ns, &step))
		return -EINVAL; /* rows were asked for their time before */
	if (need > t->cell_n) {
		r = budget_take(t->budget, (need - t->cell_n) * sizeof(*t->cells));
		if (r == 0 && !vec_reserve(&t->cells, &t->cell_capacity, need, sizeof(*t->cells)))
			r = -ENOMEM;
		if (r < 0)
			return r;
		memset(t->cells + t->cell_n, 0xff, (need - t->cell_n) * sizeof(*t->cells));
		t->cell_n = need;
	}
	cell = &t->cells[(size_t)series * s->n + step];
	if (*cell == MAP_NONE) {
		all[0] = value_of(V_TIME, s->from_ns + (int64_t)step * s->step_ns);
		if (t->query->key_n)
			memcpy(all + 1, grouping_keys(&t->series, series),
			       t->query->key_n * sizeof(*all));
		r = grouping_find(t->groups, all, cell);
	}
	*ret_group = *cell;
	return r;
}

/* Of a series its number. */
static int find(struct row_target *t, const struct value *keys, uint32_t *ret_group)
{
	return grouping_find(t->query->kind == COLUMN_SERIES ? &t->series : t->groups, keys,
			     ret_group);
}

int row_target_find(struct row_target *t, const struct value *keys, uint64_t time_ns,
		    uint32_t *ret_group)
{
	uint32_t group = 0;
	int r = find(t, keys, &group);

	if (r == 0 && t->query->kind == COLUMN_SERIES)
		return row_target_cell(t, group, time_ns, ret_group);
	*ret_group = group;
	return r;
}

int row_target_settled(struct row_target *t, uint32_t key, uint32_t *ret_group)
{
	uint32_t *known = &t->key_rows[key];
	int r = *known == MAP_NONE ? find(t, grouping_keys(&t->shapes->groups, key), known) : 0;

	*ret_group = *known;
	return r;
}

/* --- shapes that lack a key --- */

static struct half *half_place(struct half *halves, size_t capacity, uint64_t key)
{
	size_t at = (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (capacity - 1);

	while (halves[at].key && halves[at].key != key)
		at = (at + 1) & (capacity - 1);
	return &halves[at];
}

static int halves_grow(struct row_target *t)
{
	size_t capacity = t->half_capacity ? t->half_capacity * 2 : HALVES_FIRST;
	struct half *halves = calloc(capacity, sizeof(*halves));

	if (!halves)
		return -ENOMEM;
	for (size_t i = 0; i < t->half_capacity; i++)
		if (t->halves[i].key)
			*half_place(halves, capacity, t->halves[i].key) = t->halves[i];
	free(t->halves);
	t->halves = halves;
	t->half_capacity = capacity;
	return 0;
}

int row_target_half(struct row_target *t, uint32_t half, uint32_t code, uint32_t *ret_group)
{
	uint64_t key = (uint64_t)half << 32 | ((uint64_t)(uint32_t)(code + 1) + 1);
	struct value keys[GROUPING_KEYS_MOST];
	const struct value *known;
	struct half *place;
	int r = 0;

	if (t->half_n * 2 >= t->half_capacity)
		r = halves_grow(t);
	if (r < 0)
		return r;
	place = half_place(t->halves, t->half_capacity, key);
	if (!place->key) {
		known = grouping_keys(&t->shapes->halves, half);
		memcpy(keys, known + 2, t->query->key_n * sizeof(*keys));
		if (code != UINT32_MAX)
			keys[known[1].i] = value_text(tables_text(t->shapes->tables, code));
		r = find(t, keys, &place->group);
		if (r < 0)
			return r;
		place->key = key;
		t->half_n++;
	}
	*ret_group = place->group;
	return 0;
}
