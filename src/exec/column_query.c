/* exec/column_query.c - a plan over single spans, made ready for columns. */
#include "exec/column_query.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exec/expr.h"
#include "exec/row_field.h"

#define CHAIN_MOST 64 /* operators over one source */

/* Columns of the operator at hand, over leaves and unnested slots. */
struct chain {
	struct column_query *query;
	struct plan_build build;
	const struct plan_expr *const *columns;
	uint32_t n;
};

/* --- from the source upwards --- */

static int base(struct chain *c, const struct plan_node *node)
{
	struct column_query *q = c->query;

	if (node->op == PLAN_SOURCE) {
		if ((node->source.kind != FROM_SPANS && node->source.kind != FROM_BLOCKS) ||
		    node->source.instant != INSTANT_BEGIN)
			return -EOPNOTSUPP;
		q->only_spans = node->source.kind == FROM_SPANS;
		q->tracepoint = node->source.name;
		q->where = node->source.predicate;
		c->columns = node->source.fields;
	} else if (node->op == PLAN_SPANSET && node->spanset.set->op == SET_FILTER) {
		q->where = node->spanset.set->predicate;
		c->columns = node->spanset.fields;
	} else {
		return -EOPNOTSUPP;
	}
	c->n = node->column_n;
	return 0;
}

static int filter(struct chain *c, const struct plan_node *node)
{
	struct column_query *q = c->query;
	const struct plan_expr *e = expr_substitute(&c->build, node->filter.predicate, c->columns);
	const struct plan_expr **where = q->unnest_n ? &q->where_after : &q->where;

	*where = build_and(&c->build, *where, e);
	return *where ? 0 : -ENOMEM;
}

static int project(struct chain *c, const struct plan_node *node)
{
	const struct plan_expr **columns =
		build_alloc(&c->build, node->column_n + 1, sizeof(struct plan_expr *));

	for (uint32_t i = 0; columns && i < node->column_n; i++)
		columns[i] = expr_substitute(&c->build, node->project.exprs[i], c->columns);
	c->columns = columns;
	c->n = node->column_n;
	return c->build.no_memory ? -ENOMEM : 0;
}

static int unnest(struct chain *c, const struct plan_node *node)
{
	struct column_query *q = c->query;
	const struct plan_expr **columns =
		build_alloc(&c->build, c->n + 1, sizeof(struct plan_expr *));

	/* Lists of lists, taken apart twice, are for the other way. */
	if (q->unnest_n > 0 || node->unnest.slot_n > COLUMN_UNNEST_MOST)
		return -EOPNOTSUPP;
	if (!columns)
		return -ENOMEM;
	if (c->n)
		memcpy(columns, c->columns, c->n * sizeof(*columns));
	for (uint32_t i = 0; i < node->unnest.slot_n; i++) {
		uint32_t slot = node->unnest.slots[i];

		q->unnest[q->unnest_n] = columns[slot];
		columns[slot] = build_column(&c->build, q->unnest_n++, PLAN_ANY);
	}
	c->columns = columns;
	return c->build.no_memory ? -ENOMEM : 0;
}

static int climb(struct chain *c, const struct plan_node *node, int depth)
{
	int r;

	if (depth == CHAIN_MOST)
		return -EOPNOTSUPP;
	if (node->op != PLAN_FILTER && node->op != PLAN_PROJECT && node->op != PLAN_UNNEST)
		return base(c, node);
	r = climb(c, node->inputs[0], depth + 1);
	if (r < 0)
		return r;
	switch (node->op) {
	case PLAN_FILTER:
		return filter(c, node);
	case PLAN_PROJECT:
		return project(c, node);
	default:
		return unnest(c, node);
	}
}

/* --- what is asked of the rows --- */

static int output(struct chain *c, const struct plan_expr *e)
{
	struct column_query *q = c->query;

	if (q->output_n == COLUMN_OUTPUTS_MOST)
		return -EOPNOTSUPP;
	q->outputs[q->output_n++] = e ? expr_substitute(&c->build, e, c->columns) : NULL;
	return c->build.no_memory ? -ENOMEM : 0;
}

static int keys(struct chain *c, const struct plan_expr *const *exprs, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = output(c, exprs[i]);
	c->query->key_n += n;
	return r;
}

static int aggregates(struct chain *c, const struct plan_aggregate *a, uint32_t n, double seconds)
{
	struct column_query *q = c->query;
	int r = n > AGGREGATES_MOST ? -EOPNOTSUPP : 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (a[i].stage != AGG_WHOLE)
			return -EOPNOTSUPP;
		r = aggregate_from_plan(&a[i], seconds, &q->aggregates[q->aggregate_n++]);
		if (r == 0)
			r = output(c, a[i].arg);
	}
	return r;
}

static int all_columns(struct chain *c)
{
	struct column_query *q = c->query;

	if (q->output_n + c->n > COLUMN_OUTPUTS_MOST)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < c->n; i++)
		q->outputs[q->output_n++] = c->columns[i];
	return 0;
}

static int sort(struct chain *c, const struct plan_node *node)
{
	struct column_query *q = c->query;
	int r = node->sort.n > ORDERING_KEYS_MOST ? -EOPNOTSUPP : 0;

	for (uint32_t i = 0; r == 0 && i < node->sort.n; i++) {
		q->descending[i] = node->sort.orders[i].descending;
		r = output(c, node->sort.orders[i].expr);
	}
	q->key_n = node->sort.n;
	q->limit = node->sort.limit;
	return r == 0 ? all_columns(c) : r;
}

static int top(struct chain *c, const struct plan_node *node, double seconds)
{
	struct column_query *q = c->query;
	bool over = node->op == PLAN_GROUP || node->op == PLAN_SORT || node->op == PLAN_LIMIT ||
		    node->op == PLAN_DISTINCT || node->op == PLAN_SERIES;
	int r = climb(c, over ? node->inputs[0] : node, 0);

	if (r < 0)
		return r;
	switch (node->op) {
	case PLAN_GROUP:
		q->kind = COLUMN_GROUP;
		r = keys(c, node->group.keys, node->group.key_n);
		return r == 0 ? aggregates(c, node->group.aggregates, node->group.aggregate_n,
					   seconds)
			      : r;
	case PLAN_SERIES:
		q->kind = COLUMN_SERIES;
		r = keys(c, node->series.keys, node->series.key_n);
		return r == 0 ? aggregates(c, node->series.aggregates, node->series.aggregate_n,
					   seconds)
			      : r;
	case PLAN_DISTINCT:
		q->kind = COLUMN_GROUP;
		r = all_columns(c);
		q->key_n = q->output_n;
		return q->key_n > GROUPING_KEYS_MOST ? -EOPNOTSUPP : r;
	case PLAN_SORT:
		q->kind = COLUMN_SORT;
		return sort(c, node);
	case PLAN_LIMIT:
		q->limit = node->limit.n;
		return q->limit == 0 ? -EOPNOTSUPP : all_columns(c);
	default:
		return all_columns(c);
	}
}

/* --- slots --- */

static bool leaf_same(const struct plan_expr *a, const struct plan_expr *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == X_FIELD)
		return a->field.field == b->field.field && a->field.of == b->field.of;
	return a->attr.scope == b->attr.scope && a->attr.of == b->attr.of &&
	       slice_eq(a->attr.key, b->attr.key);
}

static int slot_of(struct column_query *q, const struct plan_expr *leaf, uint32_t *ret_slot)
{
	uint32_t i = 0;

	if (!row_field_known(leaf))
		return -EOPNOTSUPP;
	while (i < q->leaf_n && !leaf_same(q->leaves[i], leaf))
		i++;
	if (i + q->unnest_n == COLUMN_SLOTS_MOST)
		return -EOPNOTSUPP;
	if (i == q->leaf_n)
		q->leaves[q->leaf_n++] = leaf;
	*ret_slot = q->unnest_n + i;
	return 0;
}

/* The expression with slots in place of leaves. */
static int slotted(struct chain *c, const struct plan_expr **expr)
{
	const struct plan_expr *e = *expr, **args;
	struct plan_expr *copy;
	uint32_t slot;
	int r = 0;

	if (!e || e->kind == X_CONST || e->kind == X_COLUMN)
		return 0;
	if (e->kind == X_FIELD || e->kind == X_ATTR) {
		r = slot_of(c->query, e, &slot);
		if (r == 0)
			*expr = build_column(&c->build, slot, e->type);
		return r < 0 ? r : *expr ? 0 : -ENOMEM;
	}
	/* What depends on the order of rows, or on the whole trace. */
	if (e->kind == X_CALL && (plan_has_state(e->function) || e->function == CALL_WHAT_IF))
		return -EOPNOTSUPP;
	copy = build_alloc(&c->build, 1, sizeof(*copy));
	args = build_alloc(&c->build, e->n + 1, sizeof(*args));
	if (!copy || !args)
		return -ENOMEM;
	*copy = *e;
	for (uint32_t i = 0; r == 0 && i < e->n; i++) {
		args[i] = e->args[i];
		r = slotted(c, &args[i]);
	}
	copy->args = args;
	*expr = copy;
	return r;
}

int column_query_init(struct column_query *q, const struct plan_node *node, double range_seconds)
{
	struct chain c = {.query = q, .build = {.arena = &q->arena}};
	int r;

	*q = (struct column_query){0};
	r = top(&c, node, range_seconds);
	if (r == 0)
		r = slotted(&c, &q->where);
	for (uint32_t i = 0; r == 0 && i < q->unnest_n; i++)
		r = slotted(&c, &q->unnest[i]);
	if (r == 0)
		r = slotted(&c, &q->where_after);
	for (uint32_t i = 0; r == 0 && i < q->output_n; i++)
		r = slotted(&c, &q->outputs[i]);
	return r;
}

void column_query_done(struct column_query *q)
{
	arena_done(&q->arena);
}
