/* exec/heavy.c - which values come up most: Misra and Gries' counters. */
#include "exec/heavy.h"

#include <stdlib.h>

#include "base/cleanup.h"

void heavy_init(struct heavy *h, uint32_t capacity)
{
	*h = (struct heavy){.capacity = MAX(capacity, 2U)};
	map_init(&h->by_value);
}

void heavy_done(struct heavy *h)
{
	free(h->rows);
	map_done(&h->by_value);
	*h = (struct heavy){0};
}

static bool row_has(const void *context, uint32_t value, const void *key)
{
	return value_same(((const struct heavy *)context)->rows[value].value,
			  *(const struct value *)key);
}

static int by_weight(const void *a, const void *b)
{
	const struct heavy_row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return value_order(x->value, y->value);
}

void heavy_sort(struct heavy *h)
{
	if (h->n > 1)
		qsort(h->rows, h->n, sizeof(*h->rows), by_weight);
}

/* Halves the table: what the middle one weighs is taken off all. */
static bool prune(struct heavy *h)
{
	uint32_t left = 0;
	double off;

	heavy_sort(h);
	off = h->rows[h->capacity / 2].weight;
	while (left < h->n && h->rows[left].weight > off)
		left++;
	h->n = left;
	h->error += off;
	map_clear(&h->by_value);
	for (uint32_t i = 0; i < h->n; i++) {
		h->rows[i].weight -= off;
		if (!map_put(&h->by_value, value_hash(h->rows[i].value, h->by_value.seed), i))
			return false;
	}
	return true;
}

bool heavy_add(struct heavy *h, struct arena *arena, struct value v, double weight)
{
	uint64_t hash = value_hash(v, h->by_value.seed);
	uint32_t at = map_get(&h->by_value, hash, row_has, h, &v);

	if (at != MAP_NONE) {
		h->rows[at].weight += weight;
		return true;
	}
	if (!h->rows) {
		h->rows = calloc(h->capacity, sizeof(*h->rows));
		if (!h->rows)
			return false;
	}
	if (h->n == h->capacity && !prune(h))
		return false;
	if (!value_dup(arena, v, &h->rows[h->n].value) || !map_put(&h->by_value, hash, h->n))
		return false;
	h->rows[h->n++].weight = weight;
	return true;
}

bool heavy_merge(struct heavy *to, struct arena *arena, const struct heavy *from)
{
	for (uint32_t i = 0; i < from->n; i++)
		if (!heavy_add(to, arena, from->rows[i].value, from->rows[i].weight))
			return false;
	to->error += from->error;
	return true;
}
