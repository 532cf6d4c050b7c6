/* api/tempo_compare.c - compare() as Traces Drilldown reads it: counts by step.
 *
 *   __meta_type=selection, span.k=v          spans of the selection with the value, at each step
 *   __meta_type=baseline, span.k=v           the same of the others
 *   __meta_type=selection_total, span.k=nil  those that have the attribute at all: of these the
 *   __meta_type=baseline_total, span.k=nil   reader takes shares
 *
 * Of each attribute come, on each side, the values that most spans have. */
#include "api/tempo_compare.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "exec/series.h"

#define TOP_DEFAULT 10
#define ROWS_MOST   ((size_t)1 << 22) /* counts that are held: values times steps */

enum side { SELECTION, BASELINE, SIDES };

static const char *const value_types[SIDES] = {"selection", "baseline"};
static const char *const total_types[SIDES] = {"selection_total", "baseline_total"};

/* A value of an attribute. */
struct counted {
	struct value value;
	size_t first, n; /* its steps */
	double sum[SIDES];
};

/* Spans of one step. */
struct count {
	int64_t time_ns;
	double n[SIDES];
};

/* Rows come attribute by attribute, value by value, in order of time. */
struct comparing {
	struct tempo_query *t;
	struct tempo_series *out;
	size_t top;
	struct slice key; /* the attribute at hand; empty: none yet */
	struct counted *values;
	size_t n, value_room;
	struct count *counts;
	size_t count_n, count_room;
};

static int add(struct comparing *c, const char *type, struct value v, int64_t time_ns, double n)
{
	const struct tempo_label labels[] = {
		{SLICE("__meta_type"), value_text(slice_cstr(type))},
		{c->key, v},
	};

	return tempo_series_add(c->out, labels, ARRAY_SIZE(labels), time_ns, n);
}

static int values_add(struct comparing *c, const struct counted *v, enum side side)
{
	int r = 0;

	for (size_t i = v->first; r == 0 && i < v->first + v->n; i++)
		if (c->counts[i].n[side] > 0)
			r = add(c, value_types[side], v->value, c->counts[i].time_ns,
				c->counts[i].n[side]);
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Spans that have the attribute, whatever its value. */
static int totals_add(struct comparing *c)
{
	struct count sum = {0};
	int r = 0;

	if (c->count_n > 1)
		qsort(c->counts, c->count_n, sizeof(*c->counts), by_time);
	for (size_t i = 0; r == 0 && i < c->count_n; i++) {
		sum.n[SELECTION] += c->counts[i].n[SELECTION];
		sum.n[BASELINE] += c->counts[i].n[BASELINE];
		if (i + 1 < c->count_n && c->counts[i + 1].time_ns == c->counts[i].time_ns)
			continue;
		for (int side = 0; r == 0 && side < SIDES; side++)
			if (sum.n[side] > 0)
				r = add(c, total_types[side], value_nil(), c->counts[i].time_ns,
					sum.n[side]);
		sum = (struct count){0};
	}
	return r;
}

static int most_first(const void *a, const void *b, void *context)
{
	enum side side = *(const enum side *)context;
	const struct counted *x = a, *y = b;

	if (x->sum[side] != y->sum[side])
		return x->sum[side] < y->sum[side] ? 1 : -1;
	return value_order(x->value, y->value);
}

static int attribute_end(struct comparing *c)
{
	int r = 0;

	for (int s = 0; r == 0 && s < SIDES; s++) {
		enum side side = (enum side)s;

		if (c->n > 1)
			qsort_r(c->values, c->n, sizeof(*c->values), most_first, &side);
		for (size_t i = 0; r == 0 && i < c->n && i < c->top; i++)
			r = values_add(c, &c->values[i], side);
	}
	if (r == 0)
		r = totals_add(c);
	c->n = c->count_n = 0;
	return r;
}

static int attribute_begin(struct comparing *c, struct slice key)
{
	int r = c->key.p ? attribute_end(c) : 0;

	c->key = arena_dup(&c->t->arena, key);
	return r == 0 && !c->key.p ? -ENOMEM : r;
}

static int value_begin(struct comparing *c, struct value v)
{
	struct counted *fresh;

	if (!vec_reserve(&c->values, &c->value_room, c->n + 1, sizeof(*c->values)))
		return -ENOMEM;
	fresh = &c->values[c->n];
	*fresh = (struct counted){.first = c->count_n};
	if (!value_dup(&c->t->arena, v, &fresh->value))
		return -ENOMEM;
	c->n++;
	return 0;
}

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	return 0;
}

/* attribute, value, spans of the selection, of the rest, time of the step */
static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct comparing *c = context;
	struct slice key = value_slice(values[0]);
	struct count count = {values[4].i, {value_number(values[2]), value_number(values[3])}};
	struct counted *last;
	int r = 0;

	if (!c->key.p || !slice_eq(c->key, key))
		r = attribute_begin(c, key);
	if (r == 0 && (c->n == 0 || !value_same(c->values[c->n - 1].value, values[1])))
		r = value_begin(c, values[1]);
	if (r == 0 && c->count_n == ROWS_MOST)
		return -E2BIG;
	if (r == 0 && !vec_reserve(&c->counts, &c->count_room, c->count_n + 1, sizeof(*c->counts)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	last = &c->values[c->n - 1];
	last->n++;
	last->sum[SELECTION] += count.n[SELECTION];
	last->sum[BASELINE] += count.n[BASELINE];
	c->counts[c->count_n++] = count;
	return 0;
}

/* None is a number, too, where the steps are known. */
static int zeros_add(const struct comparing *c, struct error *error)
{
	const struct query_request *q = &c->t->job->request;
	struct series_steps steps;
	int r;

	if (!q->range.from_ns || !q->range.to_ns || q->step_ns <= 0)
		return 0;
	r = series_steps_cut(&steps, q->range, q->step_ns, error);
	return r == 0 ? tempo_series_fill(c->out, steps.from_ns, steps.step_ns, steps.n, error) : r;
}

int tempo_compare(struct tempo_query *t, const struct plan_node *root, struct tempo_series *out,
		  struct tempo_progress *progress, struct error *error)
{
	struct comparing c = {
		.t = t, .out = out, .top = root->compare.top ? root->compare.top : TOP_DEFAULT};
	struct query_run run = {
		.compare_steps = true, .begin = on_begin, .row = on_row, .context = &c};
	struct query_stats stats = {0};
	int r = tempo_query_run(t, &run, &stats, error);

	progress->traces = stats.traces;
	if (r == 0 && c.key.p)
		r = attribute_end(&c);
	if (r == 0)
		r = zeros_add(&c, error);
	free(c.values);
	free(c.counts);
	return r;
}
