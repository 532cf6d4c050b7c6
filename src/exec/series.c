/* exec/series.c - numbers over time: steps, and rows series by series. */
#include "exec/series.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/ordering.h"

#define NS_PER_S     1000000000LL
#define STEPS_CHOSEN 100 /* about so many when nobody says */

/* --- steps --- */

static void widen(struct plan_range *r, int64_t from_ns, int64_t to_ns)
{
	if (from_ns > 0 && (r->from_ns == 0 || from_ns < r->from_ns))
		r->from_ns = from_ns;
	r->to_ns = MAX(r->to_ns, to_ns);
}

/* When the spans that are stored began. */
static struct plan_range stored_range(const struct snapshot *s)
{
	const struct view *v = s->view;
	struct plan_range r = {0};

	for (size_t i = 0; i < v->segment_n; i++) {
		const struct segment_info *info = segment_info(v->segments[i]->segment);
		int64_t end;

		if (info->start_max_ns == 0)
			continue;
		if (__builtin_add_overflow(info->start_max_ns, info->duration_max_ns, &end))
			end = info->start_max_ns;
		widen(&r, info->start_min_ns, end + 1);
	}
	for (size_t h = 0; h < v->head_n; h++)
		for (uint32_t i = 0; i < s->marks[h].batches; i++) {
			const struct batch *b = runs_batch(&v->heads[h]->runs, i);

			for (size_t k = 0; k < b->event_n; k++)
				if (b->events[k].type == EVENT_SPAN && b->events[k].time_ns > 0 &&
				    b->events[k].time_ns < INT64_MAX)
					widen(&r, (int64_t)b->events[k].time_ns,
					      (int64_t)b->events[k].time_ns + 1);
		}
	return r;
}

/* A round length: some hundred of them fill the range. */
static int64_t chosen_step(int64_t range_ns)
{
	static const int64_t rounds[] = {
		1000000,        10000000,       100000000,      NS_PER_S,        2 * NS_PER_S,
		5 * NS_PER_S,   10 * NS_PER_S,  15 * NS_PER_S,  30 * NS_PER_S,   60 * NS_PER_S,
		120 * NS_PER_S, 300 * NS_PER_S, 600 * NS_PER_S, 1800 * NS_PER_S, 3600 * NS_PER_S,
	};

	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++)
		if (range_ns / rounds[i] <= STEPS_CHOSEN)
			return rounds[i];
	return (range_ns / STEPS_CHOSEN / (3600 * NS_PER_S) + 1) * 3600 * NS_PER_S;
}

int series_steps_cut(struct series_steps *s, struct plan_range range, int64_t step_ns,
		     struct error *error)
{
	int64_t n;

	*s = (struct series_steps){.step_ns = step_ns,
				   .from_ns = range.from_ns / step_ns * step_ns};
	n = (range.to_ns - s->from_ns - 1) / step_ns + 1;
	if (n > SERIES_STEPS_MOST)
		return error_set(
			error, -EINVAL,
			"%lld steps are more than %d: ask for a longer step (%lld s) or a "
			"shorter range",
			(long long)n, SERIES_STEPS_MOST,
			(long long)((range.to_ns - range.from_ns) / SERIES_STEPS_MOST / NS_PER_S +
				    1));
	s->n = n > 0 ? (uint32_t)n : 1;
	return 0;
}

int series_steps_init(struct series_steps *s, struct query_at *run, const struct plan_node *node)
{
	return series_steps_of(s, run, node->series.step_ns);
}

int series_steps_of(struct series_steps *s, struct query_at *run, int64_t step)
{
	struct plan_range range = run->range, stored = {0};

	if (!range.from_ns || !range.to_ns)
		stored = stored_range(run->options->snapshot);
	if (!range.from_ns)
		range.from_ns = stored.from_ns;
	if (!range.to_ns)
		range.to_ns = MAX(stored.to_ns, range.from_ns);
	/* Nothing is stored from before 1970, and differences stay in range. */
	range.from_ns = MIN(MAX(range.from_ns, (int64_t)0), INT64_MAX - 1);
	range.to_ns = MAX(range.to_ns, range.from_ns + 1);
	if (step <= 0)
		step = run->options->step_ns;
	if (step <= 0)
		step = chosen_step(range.to_ns - range.from_ns);
	return series_steps_cut(s, range, step, run->error);
}

/* --- rows --- */

struct giving {
	const struct plan_node *node;
	const struct series_steps *steps;
	const struct run_sink *sink;
	uint32_t key_n, value_n; /* without the time */
	struct ordering step;    /* series at the step at hand, by value: for topk */
	struct ordering rows;    /* by keys, then time */
	struct value time;
	/* The series that is given: its keys, and the next step. */
	struct value *keys;
	struct arena arena;
	uint32_t next;
	bool begun;
	struct value *row;
	bool counts; /* a step without spans is 0 */
};

/* Into the order they are given in. */
static int row_add(void *context, const struct value *values, const double *plus_minus)
{
	struct giving *g = context;
	struct value keys[GROUPING_KEYS_MOST + 1];

	if (g->key_n)
		memcpy(keys, values + 1, g->key_n * sizeof(*keys));
	keys[g->key_n] = values[0];
	return ordering_add(&g->rows, keys, values, plus_minus);
}

static const bool rising[ORDERING_KEYS_MOST];

/* The step is complete: what topk keeps goes on. */
static int step_flush(struct giving *g, struct budget *budget)
{
	static const bool falling[1] = {true};
	int r = ordering_each(&g->step, row_add, g);

	ordering_done(&g->step);
	if (r == 0)
		r = ordering_init(&g->step, 1, g->node->series.bottom ? rising : falling,
				  1 + g->key_n + g->value_n, g->node->series.topk, budget);
	return r;
}

struct taking {
	struct giving *giving;
	struct budget *budget;
};

static int take(void *context, const struct value *values, const struct estimate *estimates)
{
	struct taking *t = context;
	struct giving *g = t->giving;
	double plus_minus[1 + GROUPING_KEYS_MOST + AGGREGATES_MOST] = {0};
	int r = 0;

	for (uint32_t i = 0; i < g->value_n; i++)
		plus_minus[1 + g->key_n + i] = estimates[i].estimated ? estimates[i].plus_minus : 0;
	if (!g->node->series.topk)
		return row_add(g, values, plus_minus);
	/* Groups come by time first. */
	if (value_order(values[0], g->time) != 0)
		r = step_flush(g, t->budget);
	g->time = values[0];
	return r == 0 ? ordering_add(&g->step, &values[1 + g->key_n], values, plus_minus) : r;
}

/* Steps without spans, up to one of them. */
static int fill(struct giving *g, uint32_t to)
{
	int r = 0;

	for (; r == 0 && g->counts && g->begun && g->next < to; g->next++) {
		g->row[0] = value_of(V_TIME, g->steps->from_ns + g->next * g->steps->step_ns);
		if (g->key_n)
			memcpy(g->row + 1, g->keys, g->key_n * sizeof(*g->row));
		for (uint32_t i = 0; i < g->value_n; i++)
			g->row[1 + g->key_n + i] = g->node->series.aggregates[i].kind == AGG_RATE
							   ? value_float(0)
							   : value_int(0);
		r = g->sink->row(g->sink->context, g->row, NULL);
	}
	return r;
}

static bool same_series(const struct giving *g, const struct value *keys)
{
	for (uint32_t i = 0; i < g->key_n; i++)
		if (!value_same(g->keys[i], keys[i]))
			return false;
	return g->begun;
}

static int give(void *context, const struct value *values, const double *plus_minus)
{
	struct giving *g = context;
	uint32_t step;
	int r = 0;

	series_step(g->steps, (uint64_t)values[0].i, &step);
	if (!same_series(g, values + 1)) {
		r = fill(g, g->steps->n);
		arena_clear(&g->arena);
		for (uint32_t i = 0; r == 0 && i < g->key_n; i++)
			if (!value_dup(&g->arena, values[1 + i], &g->keys[i]))
				r = -ENOMEM;
		g->begun = true;
		g->next = 0;
	}
	if (r == 0)
		r = fill(g, step);
	g->next = step + 1;
	return r == 0 ? g->sink->row(g->sink->context, values, plus_minus) : r;
}

int series_give(struct query_at *run, const struct plan_node *node, const struct series_steps *s,
		struct grouping *groups, const struct run_sink *sink)
{
	struct giving g = {
		.node = node,
		.steps = s,
		.sink = sink,
		.key_n = node->series.key_n,
		.value_n = node->series.aggregate_n,
		.counts = !node->series.topk,
	};
	struct taking taking = {&g, &run->budget};
	uint32_t width = 1 + g.key_n + g.value_n;
	int r;

	for (uint32_t i = 0; i < g.value_n; i++)
		g.counts &= node->series.aggregates[i].kind == AGG_COUNT ||
			    node->series.aggregates[i].kind == AGG_RATE;
	g.keys = calloc(g.key_n + 1, sizeof(*g.keys));
	g.row = calloc(width, sizeof(*g.row));
	r = g.keys && g.row ? ordering_init(&g.rows, g.key_n + 1, rising, width, 0, &run->budget)
			    : -ENOMEM;
	if (r == 0)
		r = step_flush(&g, &run->budget);
	if (r == 0)
		r = grouping_each(groups, take, &taking);
	if (r == 0)
		r = step_flush(&g, &run->budget);
	if (r == 0)
		r = ordering_each(&g.rows, give, &g);
	if (r == 0)
		r = fill(&g, s->n);
	ordering_done(&g.step);
	ordering_done(&g.rows);
	arena_done(&g.arena);
	free(g.keys);
	free(g.row);
	return r;
}
