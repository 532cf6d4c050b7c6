/* exec/column_fast.c - rows of which only group and duration are needed, many at a time. */
#include "exec/column_fast.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define GROUPS_SORTED FAST_ROWS /* with more, rows of a group are hardly neighbours */

int fast_rows_room(struct fast_rows *f)
{
	if (f->groups)
		return 0;
	f->ns = malloc(2 * FAST_ROWS * sizeof(*f->ns));
	f->groups = f->ns ? malloc(FAST_ROWS * sizeof(*f->groups)) : NULL;
	if (!f->groups) {
		free(f->ns);
		f->ns = NULL;
		return -ENOMEM;
	}
	f->sorted = f->ns + FAST_ROWS;
	return 0;
}

void fast_rows_done(struct fast_rows *f)
{
	free(f->groups);
	free(f->ns);
	free(f->places);
	*f = (struct fast_rows){0};
}

bool aggregate_is_exact(const struct aggregate *a)
{
	switch (a->kind) {
	case AGG_COUNT:
	case AGG_SUM:
	case AGG_AVG:
	case AGG_MIN:
	case AGG_MAX:
	case AGG_QUANTILE:
	case AGG_HISTOGRAM:
	case AGG_DISTINCT:
	case AGG_RATE:
		return true;
	default: /* a mean that moves, counters that are pruned */
		return false;
	}
}

static const struct sample one = {.weight = 1, .trace = 1};

/* --- durations of one group --- */

static uint32_t durations_count(const int64_t *ns, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += ns[i] >= 0;
	return count;
}

static void durations_sum(struct agg_sum *state, const int64_t *ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ns[i] >= 0)
			agg_sum_whole(state, V_DURATION, ns[i]);
}

static bool durations_sketch(struct agg_sketch *state, struct arena *arena, const int64_t *ns,
			     uint32_t n)
{
	if (durations_count(ns, n) == 0)
		return true;
	if (state->type == V_NIL) {
		sketch_init(&state->sketch);
		state->type = V_DURATION;
	}
	return sketch_add_whole(&state->sketch, arena, ns, n);
}

/* The largest or the smallest, and no other. */
static int durations_extreme(const struct aggregate *a, void *state, struct arena *arena,
			     const int64_t *ns, uint32_t n)
{
	int64_t found = -1;

	for (uint32_t i = 0; i < n; i++)
		if (ns[i] >= 0 &&
		    (found < 0 || (a->kind == AGG_MIN ? ns[i] < found : ns[i] > found)))
			found = ns[i];
	return found < 0 ? 0 : aggregate_add(a, state, arena, value_of(V_DURATION, found), &one);
}

static int durations_add(const struct aggregate *a, void *state, struct arena *arena,
			 const int64_t *ns, uint32_t n)
{
	int r = 0;

	switch (a->kind) {
	case AGG_COUNT:
		agg_count_rows(state, durations_count(ns, n));
		return 0;
	case AGG_SUM:
	case AGG_AVG:
		durations_sum(state, ns, n);
		return 0;
	case AGG_QUANTILE:
	case AGG_HISTOGRAM:
		return durations_sketch(state, arena, ns, n) ? 0 : -ENOMEM;
	case AGG_MIN:
	case AGG_MAX:
		return durations_extreme(a, state, arena, ns, n);
	default:
		for (uint32_t i = 0; r == 0 && i < n; i++)
			if (ns[i] >= 0)
				r = aggregate_add(a, state, arena, value_of(V_DURATION, ns[i]),
						  &one);
		return r;
	}
}

/* --- all --- */

static int add(struct grouping *g, const uint8_t *arguments, uint32_t group, const int64_t *ns,
	       uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < g->aggregate_n; i++) {
		const struct aggregate *a = &g->aggregates[i];
		void *state = grouping_state(g, group, i);

		if (arguments[i] == ARGUMENT_DURATION)
			r = durations_add(a, state, &g->arena, ns, n);
		else if (a->kind == AGG_COUNT)
			agg_count_rows(state, n);
		else
			for (uint32_t k = 0; r == 0 && k < n; k++)
				r = aggregate_add(a, state, &g->arena, value_nil(), &one);
	}
	return r;
}

int fast_rows_flush(struct fast_rows *f, struct grouping *g, const uint8_t *arguments)
{
	uint32_t n = f->n, groups = (uint32_t)g->n, from = 0;
	int r = 0;

	f->n = 0;
	if (n == 0)
		return 0;
	for (uint32_t i = 0; r == 0 && groups > GROUPS_SORTED && i < n; i++)
		r = add(g, arguments, f->groups[i], &f->ns[i], 1);
	if (r < 0 || groups > GROUPS_SORTED)
		return r;
	if (!vec_reserve(&f->places, &f->place_capacity, (size_t)groups + 1, sizeof(*f->places)))
		return -ENOMEM;
	memset(f->places, 0, ((size_t)groups + 1) * sizeof(*f->places));
	for (uint32_t i = 0; i < n; i++)
		f->places[f->groups[i] + 1]++;
	for (uint32_t i = 0; i < groups; i++)
		f->places[i + 1] += f->places[i];
	for (uint32_t i = 0; i < n; i++)
		f->sorted[f->places[f->groups[i]]++] = f->ns[i];
	for (uint32_t i = 0; r == 0 && i < groups; i++) { /* places are ends by now */
		if (f->places[i] > from)
			r = add(g, arguments, i, f->sorted + from, f->places[i] - from);
		from = f->places[i];
	}
	return r;
}
