/* exec/column_run.c - the column path: rows of an operator over single spans. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/column_scan.h"

struct giving {
	const struct run_sink *sink;
	const struct column_query *query;
};

static int give_group(void *context, const struct value *values, const struct estimate *estimates)
{
	const struct giving *g = context;
	uint32_t key_n = g->query->key_n;
	double plus_minus[GROUPING_KEYS_MOST + AGGREGATES_MOST] = {0};
	bool any = false;

	for (uint32_t i = 0; i < g->query->aggregate_n; i++) {
		plus_minus[key_n + i] = estimates[i].estimated ? estimates[i].plus_minus : 0;
		any |= estimates[i].estimated;
	}
	return g->sink->row(g->sink->context, values, any ? plus_minus : NULL);
}

static int give_row(void *context, const struct value *values, const double *plus_minus)
{
	const struct giving *g = context;

	(void)plus_minus;
	return g->sink->row(g->sink->context, values, NULL);
}

/* Without keys there is one group, also of no rows. */
static int the_only_group(struct grouping *g)
{
	uint32_t row;

	return g->key_n == 0 && g->n == 0 ? grouping_find(g, NULL, &row) : 0;
}

int column_run(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	_cleanup_(freep)
	struct column_query *q = calloc(1, sizeof(*q));
	_cleanup_(freep)
	struct column_scan *s = calloc(1, sizeof(*s));
	struct series_steps steps = {0};
	int r;

	if (!q || !s)
		return -ENOMEM;
	if (run->options->only)
		return -EOPNOTSUPP;
	r = node->op == PLAN_SERIES ? series_steps_init(&steps, run, node) : 0;
	if (r < 0)
		return r;
	r = column_query_init(q, node,
			      node->op == PLAN_SERIES ? (double)steps.step_ns / 1e9
						      : run->range_seconds);
	if (r == 0) {
		struct giving giving = {.sink = sink, .query = q};

		r = column_scan_init(s, run, q, &steps);
		if (r == 0)
			r = column_scan_run(s);
		if (r == 0 && q->kind == COLUMN_GROUP) {
			r = the_only_group(&s->parts[0].groups);
			if (r == 0)
				r = grouping_each(&s->parts[0].groups, give_group, &giving);
		} else if (r == 0 && q->kind == COLUMN_SERIES) {
			r = series_give(run, node, &steps, &s->parts[0].groups, sink);
		} else if (r == 0) {
			r = ordering_each(&s->parts[0].ordering, give_row, &giving);
		}
		column_scan_done(s);
	}
	column_query_done(q);
	return r;
}
