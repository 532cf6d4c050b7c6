/* exec/run.c - any operator: its rows to a sink. */
#include "exec/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "exec/equi_join.h"
#include "exec/expr.h"
#include "exec/grouping.h"
#include "exec/ordering.h"
#include "segment/segment.h"

/* Above what looks across traces there are no elements any more. */
static struct value no_element(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_nil();
}

/* An operator that rows flow through. */
struct flow {
	struct query_at *run;
	const struct plan_node *node;
	const struct run_sink *sink;
	struct expr_env env;
	struct arena arena;
	struct value *values;
	double *plus_minus;
	uint64_t n;
};

static int flow_init(struct flow *f, struct query_at *run, const struct plan_node *node,
		     const struct run_sink *sink)
{
	*f = (struct flow){.run = run, .node = node, .sink = sink};
	f->env = (struct expr_env){.element = no_element, .arena = &f->arena};
	f->values = calloc(node->column_n + 1, sizeof(*f->values));
	f->plus_minus = calloc(node->column_n + 1, sizeof(*f->plus_minus));
	if (!f->values || !f->plus_minus)
		return -ENOMEM;
	return expr_memo_new(&f->env.memo);
}

static void flow_done(struct flow *f)
{
	free(f->values);
	free(f->plus_minus);
	arena_done(&f->arena);
	expr_memo_free(f->env.memo);
}

static int flow_run(struct flow *f, int (*row)(void *, const struct value *, const double *))
{
	struct run_sink sink = {row, f};

	return run_node(f->run, f->node->inputs[0], &sink);
}

/* --- filter, project, unnest, limit, distinct --- */

static int filter_row(void *context, const struct value *values, const double *plus_minus)
{
	struct flow *f = context;
	bool keep;

	arena_clear(&f->arena);
	f->env.columns = values;
	keep = value_is_true(expr_eval(&f->env, f->node->filter.predicate));
	if (f->env.failed)
		return f->env.failed;
	return keep ? f->sink->row(f->sink->context, values, plus_minus) : 0;
}

/* How far off a calculated value may be is known only for what was not calculated with. */
static double error_of(const struct plan_expr *e, const double *plus_minus)
{
	double most = 0;

	if (!plus_minus || e->kind == X_CONST)
		return 0;
	if (e->kind == X_COLUMN)
		return plus_minus[e->column];
	for (uint32_t i = 0;
	     (e->kind == X_OP || e->kind == X_CALL || e->kind == X_LIST) && i < e->n; i++)
		if (error_of(e->args[i], plus_minus) != 0)
			most = NAN;
	return most;
}

static int project_row(void *context, const struct value *values, const double *plus_minus)
{
	struct flow *f = context;
	const struct plan_node *node = f->node;

	arena_clear(&f->arena);
	f->env.columns = values;
	for (uint32_t i = 0; i < node->column_n; i++) {
		f->values[i] = expr_eval(&f->env, node->project.exprs[i]);
		f->plus_minus[i] = error_of(node->project.exprs[i], plus_minus);
	}
	if (f->env.failed)
		return f->env.failed;
	return f->sink->row(f->sink->context, f->values, plus_minus ? f->plus_minus : NULL);
}

static int unnest_from(struct flow *f, uint32_t slot, const double *plus_minus)
{
	struct value list;
	uint32_t column;
	int r = 0;

	if (slot == f->node->unnest.slot_n)
		return f->sink->row(f->sink->context, f->values, plus_minus);
	column = f->node->unnest.slots[slot];
	list = f->values[column];
	if (list.type != V_LIST)
		return unnest_from(f, slot + 1, plus_minus);
	for (uint32_t i = 0; r == 0 && i < list.n; i++) {
		f->values[column] = list.list[i];
		r = unnest_from(f, slot + 1, plus_minus);
	}
	f->values[column] = list;
	return r;
}

static int unnest_row(void *context, const struct value *values, const double *plus_minus)
{
	struct flow *f = context;

	memcpy(f->values, values, f->node->column_n * sizeof(*values));
	return unnest_from(f, 0, plus_minus);
}

static int limit_row(void *context, const struct value *values, const double *plus_minus)
{
	struct flow *f = context;
	int r;

	if (f->n >= f->node->limit.n)
		return SINK_FULL;
	r = f->sink->row(f->sink->context, values, plus_minus);
	return r == 0 && ++f->n >= f->node->limit.n ? SINK_FULL : r;
}

struct distinct {
	struct flow flow;
	struct kept_rows seen;
	struct map by_row;
};

static bool row_is(const void *context, uint32_t row, const void *key)
{
	const struct distinct *d = context;
	const struct value *a = d->seen.rows[row].values, *b = key;

	for (uint32_t i = 0; i < d->seen.column_n; i++)
		if (!value_same(a[i], b[i]))
			return false;
	return true;
}

static int distinct_row(void *context, const struct value *values, const double *plus_minus)
{
	struct distinct *d = context;
	uint64_t hash = d->by_row.seed;
	int r;

	for (uint32_t i = 0; i < d->seen.column_n; i++)
		hash = value_hash(values[i], hash);
	if (map_get(&d->by_row, hash, row_is, d, values) != MAP_NONE)
		return 0;
	r = kept_rows_add(&d->seen, values, NULL, 0);
	if (r < 0)
		return r;
	if (!map_put(&d->by_row, hash, (uint32_t)(d->seen.n - 1)))
		return -ENOMEM;
	return d->flow.sink->row(d->flow.sink->context, values, plus_minus);
}

static int run_distinct(struct query_at *run, const struct plan_node *node,
			const struct run_sink *sink)
{
	struct distinct d = {0};
	struct run_sink mine = {distinct_row, &d};
	int r;

	kept_rows_init(&d.seen, node->column_n, &run->budget);
	map_init(&d.by_row);
	r = flow_init(&d.flow, run, node, sink);
	if (r == 0)
		r = run_node(run, node->inputs[0], &mine);
	flow_done(&d.flow);
	map_done(&d.by_row);
	kept_rows_done(&d.seen);
	return r;
}

static int run_flow(struct query_at *run, const struct plan_node *node, const struct run_sink *sink,
		    int (*row)(void *, const struct value *, const double *))
{
	struct flow f;
	int r = flow_init(&f, run, node, sink);

	if (r == 0)
		r = flow_run(&f, row);
	flow_done(&f);
	/* A limit that is reached ends what is below it, not what is above. */
	return node->op == PLAN_LIMIT && r == SINK_FULL && f.n >= node->limit.n ? 0 : r;
}

/* --- group --- */

struct group_part {
	struct grouping grouping;
	struct expr_env env;
	struct arena arena;
	uint64_t added;
};

struct grouped {
	struct query_at *run;
	const struct plan_node *node;
	const struct run_sink *sink;
	struct aggregate *aggregates;
	struct group_part *parts;
	unsigned part_n;
	struct value *values;
	double *plus_minus;
};

#define ACCOUNT_EVERY 256 /* rows between two looks at memory */

static int group_add(struct grouped *g, struct group_part *p, const struct value *values,
		     const struct sample *sample)
{
	const struct plan_node *node = g->node;
	struct value keys[GROUPING_KEYS_MOST], args[AGGREGATES_MOST];
	uint32_t row;
	int r;

	arena_clear(&p->arena);
	p->env.columns = values;
	for (uint32_t i = 0; i < node->group.key_n; i++)
		keys[i] = expr_eval(&p->env, node->group.keys[i]);
	for (uint32_t i = 0; i < node->group.aggregate_n; i++)
		args[i] = node->group.aggregates[i].arg
				  ? expr_eval(&p->env, node->group.aggregates[i].arg)
				  : value_nil();
	if (p->env.failed)
		return p->env.failed;
	r = grouping_find(&p->grouping, keys, &row);
	if (r == 0)
		r = grouping_add(&p->grouping, row, args, sample);
	return r == 0 && ++p->added % ACCOUNT_EVERY == 0 ? grouping_account(&p->grouping) : r;
}

static int group_tuple(void *context, unsigned thread, const struct tuple *t)
{
	struct grouped *g = context;

	return group_add(g, &g->parts[thread], t->values, &t->sample);
}

static int group_row(void *context, const struct value *values, const double *plus_minus)
{
	struct grouped *g = context;
	struct sample sample = {.weight = 1, .trace = 1, .id = g->parts[0].added};

	(void)plus_minus;
	return group_add(g, &g->parts[0], values, &sample);
}

static int group_give(void *context, const struct value *values, const struct estimate *estimates)
{
	struct grouped *g = context;
	const struct plan_node *node = g->node;
	bool any = false;

	memcpy(g->values, values, node->column_n * sizeof(*values));
	for (uint32_t i = 0; i < node->group.aggregate_n; i++) {
		const struct plan_aggregate *a = &node->group.aggregates[i];
		struct value *v = &g->values[node->group.key_n + i];
		double *error = &g->plus_minus[node->group.key_n + i];

		/* Counts that were begun before a join end as sums. */
		if (a->kind == AGG_COUNT && a->stage == AGG_COMBINE && value_is_nil(*v))
			*v = value_int(0);
		*error = estimates[i].estimated ? estimates[i].plus_minus : 0;
		any |= *error != 0;
	}
	return g->sink->row(g->sink->context, g->values, any ? g->plus_minus : NULL);
}

static int group_init(struct grouped *g)
{
	const struct plan_node *node = g->node;
	int r = 0;

	g->part_n = tuples_threads(g->run);
	g->aggregates = calloc(node->group.aggregate_n + 1, sizeof(*g->aggregates));
	g->parts = calloc(g->part_n, sizeof(*g->parts));
	g->values = calloc(node->column_n + 1, sizeof(*g->values));
	g->plus_minus = calloc(node->column_n + 1, sizeof(*g->plus_minus));
	if (!g->aggregates || !g->parts || !g->values || !g->plus_minus)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < node->group.aggregate_n; i++) {
		struct plan_aggregate a = node->group.aggregates[i];

		if (a.kind == AGG_COUNT && a.stage == AGG_COMBINE)
			a.kind = AGG_SUM;
		r = aggregate_from_plan(&a, g->run->range_seconds, &g->aggregates[i]);
	}
	for (unsigned i = 0; r == 0 && i < g->part_n; i++) {
		struct group_part *p = &g->parts[i];

		p->env = (struct expr_env){.element = no_element, .arena = &p->arena};
		r = expr_memo_new(&p->env.memo);
		if (r == 0)
			r = grouping_init(&p->grouping, node->group.key_n, g->aggregates,
					  node->group.aggregate_n, &g->run->budget);
	}
	return r;
}

static void group_done(struct grouped *g)
{
	for (unsigned i = 0; g->parts && i < g->part_n; i++) {
		grouping_done(&g->parts[i].grouping);
		arena_done(&g->parts[i].arena);
		expr_memo_free(g->parts[i].env.memo);
	}
	free(g->parts);
	free(g->aggregates);
	free(g->values);
	free(g->plus_minus);
}

static int run_group(struct query_at *run, const struct plan_node *node,
		     const struct run_sink *sink)
{
	struct grouped g = {.run = run, .node = node, .sink = sink};
	struct run_sink rows = {group_row, &g};
	uint32_t ignored;
	int r;

	if (node->group.key_n > GROUPING_KEYS_MOST || node->group.aggregate_n > AGGREGATES_MOST)
		return error_set(run->error, -E2BIG, "more than %d keys or %d aggregates",
				 GROUPING_KEYS_MOST, AGGREGATES_MOST);
	r = group_init(&g);
	if (r == 0)
		r = node_is_per_trace(node->inputs[0])
			    ? tuples_scan(run, node->inputs[0], group_tuple, &g)
			    : run_node(run, node->inputs[0], &rows);
	/* Rows in order do not say any more which trace they are of, and what that stands for. */
	if (r == 0 && run->plan->running && atomic_load(&run->unweighted))
		r = error_set(run->error, -EINVAL,
			      "traces were sampled, and MovingAverage and sketch cannot be "
			      "counted over a sample: ask for rows, or leave one of the two out");
	for (unsigned i = 1; r == 0 && i < g.part_n; i++)
		r = grouping_merge(&g.parts[0].grouping, &g.parts[i].grouping);
	/* Without keys there is one group, be it of nothing. */
	if (r == 0 && node->group.key_n == 0)
		r = grouping_find(&g.parts[0].grouping, NULL, &ignored);
	if (r == 0)
		r = grouping_each(&g.parts[0].grouping, group_give, &g);
	group_done(&g);
	return r;
}

/* --- sort --- */

struct sort_part {
	struct ordering ordering;
	struct expr_env env;
	struct arena arena;
};

struct sorting {
	struct query_at *run;
	const struct plan_node *node;
	const struct run_sink *sink;
	struct sort_part *parts;
	bool descending[ORDERING_KEYS_MOST];
};

static int sort_add(struct sorting *s, struct sort_part *p, const struct value *values,
		    const double *plus_minus)
{
	struct value keys[ORDERING_KEYS_MOST];

	arena_clear(&p->arena);
	p->env.columns = values;
	for (uint32_t i = 0; i < s->node->sort.n; i++)
		keys[i] = expr_eval(&p->env, s->node->sort.orders[i].expr);
	if (p->env.failed)
		return p->env.failed;
	return ordering_add(&p->ordering, keys, values, plus_minus);
}

static int sort_tuple(void *context, unsigned thread, const struct tuple *t)
{
	struct sorting *s = context;

	if (t->sample.weight != 1)
		atomic_store_explicit(&s->run->unweighted, true, memory_order_relaxed);
	return sort_add(s, &s->parts[thread], t->values, NULL);
}

static int sort_row(void *context, const struct value *values, const double *plus_minus)
{
	struct sorting *s = context;

	return sort_add(s, &s->parts[0], values, plus_minus);
}

static int sort_give(void *context, const struct value *values, const double *plus_minus)
{
	struct sorting *s = context;

	return s->sink->row(s->sink->context, values, plus_minus);
}

static int run_sort(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	struct sorting s = {.run = run, .node = node, .sink = sink};
	struct run_sink rows = {sort_row, &s};
	unsigned n = tuples_threads(run);
	int r = 0;

	if (node->sort.n > ORDERING_KEYS_MOST)
		return error_set(run->error, -E2BIG, "sorted by more than %d values",
				 ORDERING_KEYS_MOST);
	s.parts = calloc(n, sizeof(*s.parts));
	if (!s.parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < node->sort.n; i++)
		s.descending[i] = node->sort.orders[i].descending;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		struct sort_part *p = &s.parts[i];

		p->env = (struct expr_env){.element = no_element, .arena = &p->arena};
		r = expr_memo_new(&p->env.memo);
		if (r == 0)
			r = ordering_init(&p->ordering, node->sort.n, s.descending, node->column_n,
					  node->sort.limit, &run->budget);
	}
	if (r == 0)
		r = node_is_per_trace(node->inputs[0])
			    ? tuples_scan(run, node->inputs[0], sort_tuple, &s)
			    : run_node(run, node->inputs[0], &rows);
	for (unsigned i = 1; r == 0 && i < n; i++)
		r = ordering_merge(&s.parts[0].ordering, &s.parts[i].ordering);
	if (r == 0)
		r = ordering_each(&s.parts[0].ordering, sort_give, &s);
	for (unsigned i = 0; i < n; i++) {
		ordering_done(&s.parts[i].ordering);
		arena_done(&s.parts[i].arena);
		expr_memo_free(s.parts[i].env.memo);
	}
	free(s.parts);
	return r;
}

/* --- the rest --- */

/* Tuples of traces as rows: kept by thread, given in order. */
static int run_tuples(struct query_at *run, const struct plan_node *node,
		      const struct run_sink *sink, uint64_t most)
{
	struct kept_rows rows;
	int r;

	kept_rows_init(&rows, node->column_n, &run->budget);
	r = kept_rows_run(&rows, run, node, most);
	for (size_t i = 0; r == 0 && i < rows.n; i++)
		r = sink->row(sink->context, rows.rows[i].values, rows.rows[i].plus_minus);
	kept_rows_done(&rows);
	return r;
}

static int run_union(struct query_at *run, const struct plan_node *node,
		     const struct run_sink *sink)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < node->input_n; i++)
		r = run_node(run, node->inputs[i], sink);
	return r;
}

bool query_meets(const struct query_at *run, const struct segment *segment)
{
	const struct segment_info *info = segment_info(segment);
	const struct plan_range *range = &run->range;

	/* Of pieces with a time; others have no row in any range. */
	return !(range->from_ns && (uint64_t)info->start_max_ns + (uint64_t)info->duration_max_ns <
					   (uint64_t)range->from_ns) &&
	       !(range->to_ns && info->start_min_ns >= range->to_ns);
}

int run_node(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	int r = budget_check(&run->budget);

	if (r < 0)
		return r;
	if (!(run->rules_off & RULE_COLUMNS)) {
		r = column_run(run, node, sink);
		if (r != -EOPNOTSUPP)
			return r;
	}
	if (node_is_per_trace(node))
		return run_tuples(run, node, sink, 0);
	switch (node->op) {
	case PLAN_FILTER:
		return run_flow(run, node, sink, filter_row);
	case PLAN_PROJECT:
		return run_flow(run, node, sink, project_row);
	case PLAN_UNNEST:
		return run_flow(run, node, sink, unnest_row);
	case PLAN_LIMIT:
		if (node_is_per_trace(node->inputs[0])) {
			r = run_tuples(run, node->inputs[0], sink,
				       node->limit.n ? node->limit.n : 1);
			return node->limit.n ? r : 0;
		}
		return run_flow(run, node, sink, limit_row);
	case PLAN_DISTINCT:
		return run_distinct(run, node, sink);
	case PLAN_GROUP:
		return run_group(run, node, sink);
	case PLAN_SORT:
		return run_sort(run, node, sink);
	case PLAN_UNION:
		return run_union(run, node, sink);
	case PLAN_EQUIJOIN:
		return run_equi_join(run, node, sink);
	case PLAN_CSV:
		return run_csv(run, node, sink);
	case PLAN_SERIES:
		return series_run(run, node, sink);
	case PLAN_COMPARE:
		return compare_run(run, node, sink);
	default:
		return error_set(run->error, -EOPNOTSUPP, "%s cannot be run over stored traces",
				 plan_op_name(node->op));
	}
}
