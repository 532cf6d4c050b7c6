/* exec/column_fast.c - rows of which only group and duration are needed, many at a time. */
#include "exec/column_fast.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum fast_keeps fast_rows_need(const struct aggregate *aggregates, const uint8_t *arguments,
			       uint32_t n)
{
	enum fast_keeps keeps = FAST_COUNTS;

	for (uint32_t i = 0; i < n; i++) {
		if (aggregates[i].kind == AGG_COUNT && arguments[i] == ARGUMENT_ROWS)
			continue;
		if (arguments[i] != ARGUMENT_DURATION ||
		    (aggregates[i].kind != AGG_QUANTILE && aggregates[i].kind != AGG_HISTOGRAM &&
		     aggregates[i].kind != AGG_COUNT))
			return FAST_NS;
		keeps = FAST_PLACES;
	}
	return keeps;
}

static int rows_room(struct fast_rows *f)
{
	size_t each = f->keeps == FAST_NS ? sizeof(*f->ns) : sizeof(*f->places);

	if (f->room)
		return 0;
	f->room = malloc(FAST_ROWS * (2 * each + sizeof(*f->groups)));
	if (!f->room)
		return -ENOMEM;
	f->ns = f->room;
	f->sorted = f->ns + FAST_ROWS;
	f->places = f->room;
	f->sorted_places = f->places + FAST_ROWS;
	f->groups = (uint32_t *)(void *)((char *)f->room + FAST_ROWS * 2 * each);
	return 0;
}

int fast_rows_room(struct fast_rows *f, size_t groups)
{
	size_t from = f->group_n, more = groups - MIN(groups, from);

	if (f->keeps != FAST_COUNTS && rows_room(f) < 0)
		return -ENOMEM;
	if (more == 0)
		return 0;
	if (!vec_reserve(&f->counts, &f->count_capacity, groups + 1, sizeof(*f->counts)) ||
	    (f->keeps == FAST_PLACES &&
	     (!vec_reserve(&f->low, &f->low_capacity, groups, sizeof(*f->low)) ||
	      !vec_reserve(&f->high, &f->high_capacity, groups, sizeof(*f->high)))))
		return -ENOMEM;
	memset(f->counts + from, 0, (more + 1) * sizeof(*f->counts));
	for (size_t i = from; f->keeps == FAST_PLACES && i < groups; i++) {
		f->low[i] = INT64_MAX;
		f->high[i] = -1;
	}
	f->group_n = groups;
	return 0;
}

void fast_rows_done(struct fast_rows *f)
{
	free(f->room);
	free(f->counts);
	free(f->low);
	free(f->high);
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

/* Rows of one group.  ns is NULL where places are kept. */
struct run {
	const int64_t *ns;
	const uint16_t *places;
	uint32_t n;
	int64_t low, high;
};

static int places_add(const struct aggregate *a, void *state, struct arena *arena,
		      const struct run *run)
{
	struct agg_sketch *sketch = state;
	uint32_t none = 0;

	for (uint32_t i = 0; i < run->n; i++)
		none += run->places[i] == SKETCH_PLACE_NONE;
	if (a->kind == AGG_COUNT)
		agg_count_rows(state, run->n - none);
	if (a->kind == AGG_COUNT || none == run->n)
		return 0;
	if (sketch->type == V_NIL) {
		sketch_init(&sketch->sketch);
		sketch->type = V_DURATION;
	}
	return sketch_add_places(&sketch->sketch, arena, run->places, run->n, run->low, run->high)
		       ? 0
		       : -ENOMEM;
}

static int add(struct grouping *g, const uint8_t *arguments, uint32_t group, const struct run *run)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < g->aggregate_n; i++) {
		const struct aggregate *a = &g->aggregates[i];
		void *state = grouping_state(g, group, i);

		if (arguments[i] == ARGUMENT_DURATION)
			r = run->ns ? durations_add(a, state, &g->arena, run->ns, run->n)
				    : places_add(a, state, &g->arena, run);
		else if (a->kind == AGG_COUNT)
			agg_count_rows(state, run->n);
		else
			for (uint32_t k = 0; r == 0 && k < run->n; k++)
				r = aggregate_add(a, state, &g->arena, value_nil(), &one);
	}
	return r;
}

static int flush_counts(struct fast_rows *f, struct grouping *g, const uint8_t *arguments)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < f->group_n; i++) {
		const struct run run = {.n = f->counts[i]};

		f->counts[i] = 0;
		if (run.n)
			r = add(g, arguments, i, &run);
	}
	return r;
}

/* The waiting rows, group by group. */
static void sort(struct fast_rows *f, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		f->counts[f->groups[i]]++;
	for (size_t i = 0; i < f->group_n; i++) { /* counts become places … */
		uint32_t count = f->counts[i];

		f->counts[i] = at;
		at += count;
	}
	/* … and ends. */
	if (f->keeps == FAST_NS)
		for (uint32_t i = 0; i < n; i++)
			f->sorted[f->counts[f->groups[i]]++] = f->ns[i];
	else
		for (uint32_t i = 0; i < n; i++)
			f->sorted_places[f->counts[f->groups[i]]++] = f->places[i];
}

int fast_rows_flush(struct fast_rows *f, struct grouping *g, const uint8_t *arguments)
{
	uint32_t n = f->n, from = 0;
	int r = 0;

	f->n = 0;
	if (n == 0)
		return 0;
	if (f->keeps == FAST_COUNTS)
		return flush_counts(f, g, arguments);
	sort(f, n);
	for (uint32_t i = 0; i < f->group_n; i++) {
		struct run run = {.ns = f->keeps == FAST_NS ? f->sorted + from : NULL,
				  .places = f->sorted_places + from,
				  .n = f->counts[i] - from};

		from = f->counts[i];
		f->counts[i] = 0;
		if (run.n == 0)
			continue;
		if (f->keeps == FAST_PLACES) {
			run.low = f->low[i];
			run.high = f->high[i];
			f->low[i] = INT64_MAX;
			f->high[i] = -1;
		}
		if (r == 0)
			r = add(g, arguments, i, &run);
	}
	return r;
}
