/* lang/lower_stage.c - stages behind relations and series, and arithmetic of series. */
#include "lang/lower_int.h"

static const struct plan_node *series_join(struct lower *l, const struct ast_expr *e)
{
	static const enum plan_operator ops[AST_OPS] = {
		[OP_ADD] = XO_ADD, [OP_SUB] = XO_SUB, [OP_MUL] = XO_MUL,
		[OP_DIV] = XO_DIV, [OP_MOD] = XO_MOD, [OP_POW] = XO_POW,
	};
	const struct plan_node *inputs[2] = {lower_rows(l, e->op.left), lower_rows(l, e->op.right)};
	const struct plan_expr **left, **right, **exprs;
	struct plan_node *node;
	struct plan_column *columns, *out;
	uint32_t n;

	if (!inputs[0] || !inputs[1])
		return NULL;
	n = inputs[0]->column_n;
	if (inputs[1]->column_n != n || n < 1)
		return lower_refuse(l, e->range, "both series must be by the same keys");
	node = build_node(&l->b, PLAN_EQUIJOIN, inputs, 2);
	left = build_alloc(&l->b, n, sizeof(*left));
	right = build_alloc(&l->b, n, sizeof(*right));
	exprs = build_alloc(&l->b, n, sizeof(*exprs));
	columns = build_alloc(&l->b, 2 * (size_t)n, sizeof(*columns));
	out = build_alloc(&l->b, n, sizeof(*out));
	if (!node || !left || !right || !exprs || !columns || !out)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		left[i] = build_column(&l->b, i, inputs[0]->columns[i].type);
		right[i] = build_column(&l->b, i, inputs[1]->columns[i].type);
		exprs[i] = left[i];
		out[i] = inputs[0]->columns[i];
	}
	memcpy(columns, inputs[0]->columns, n * sizeof(*columns));
	memcpy(columns + n, inputs[1]->columns, n * sizeof(*columns));
	node->equijoin.left_keys = left;
	node->equijoin.right_keys = right;
	node->equijoin.key_n = n - 1;
	node->columns = columns;
	node->column_n = 2 * n;
	exprs[n - 1] =
		build_op(&l->b, ops[e->op.op], PLAN_ANY, build_column(&l->b, n - 1, PLAN_ANY),
			 build_column(&l->b, 2 * n - 1, PLAN_ANY));
	out[n - 1] = (struct plan_column){.name = SLICE("value"), .type = PLAN_ANY};
	return build_project(&l->b, node, exprs, out, n);
}

/* A number beside a series: each of its values is calculated with it. */
static const struct plan_node *series_scale(struct lower *l, const struct ast_expr *e,
					    bool series_left)
{
	static const enum plan_operator ops[AST_OPS] = {
		[OP_ADD] = XO_ADD, [OP_SUB] = XO_SUB, [OP_MUL] = XO_MUL,
		[OP_DIV] = XO_DIV, [OP_MOD] = XO_MOD, [OP_POW] = XO_POW,
	};
	const struct plan_node *node = lower_rows(l, series_left ? e->op.left : e->op.right);
	const struct plan_expr *number =
		lower_expr(l, NULL, series_left ? e->op.right : e->op.left);
	const struct plan_expr **exprs, *value;
	uint32_t n;

	if (!node || !number)
		return NULL;
	n = node->column_n;
	exprs = build_alloc(&l->b, n, sizeof(*exprs));
	if (!exprs)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		exprs[i] = build_column(&l->b, i, node->columns[i].type);
	value = exprs[n - 1];
	exprs[n - 1] = build_op(&l->b, ops[e->op.op], PLAN_ANY, series_left ? value : number,
				series_left ? number : value);
	return build_project(&l->b, node, exprs, node->columns, n);
}

const struct plan_node *lower_rows(struct lower *l, const struct ast_expr *e)
{
	struct ast_query alone = {.form = AST_QUERY_PIPE,
				  .head = (struct ast_expr *)(uintptr_t)e,
				  .range = e->range,
				  .type = e->type};

	switch (e->kind) {
	case AST_SUBQUERY:
		return lower_query(l, e->query);
	case AST_PATH:
		if (e->path.kind == AST_PATH_STATEMENT &&
		    e->path.statement->kind == AST_STATEMENT_QUERY)
			return lower_query(l, e->path.statement->query);
		break;
	case AST_CALL:
		if (e->call.function && e->call.function->id == FN_COMPARE)
			return lower_compare(l, e);
		break;
	case AST_BINARY:
		if (e->type.tag != TYPE_SERIES)
			break;
		if (e->op.left->type.tag == TYPE_SERIES && e->op.right->type.tag == TYPE_SERIES)
			return series_join(l, e);
		return series_scale(l, e, e->op.left->type.tag == TYPE_SERIES);
	default:
		break;
	}
	if (e->type.tag == TYPE_SPANSET)
		return lower_spanset_query(l, &alone);
	return lower_refuse(l, e->range, "this gives no rows over stored traces");
}

/* --- stages --- */

const struct plan_node *lower_compare_last(struct lower *l, const struct plan_node *input,
					   const struct ast_stage *stage)
{
	static const enum plan_operator ops[] = {XO_EQ, XO_NE, XO_LT, XO_LE, XO_GT, XO_GE};
	uint32_t last = input->column_n - 1;

	return build_filter(&l->b, input,
			    build_op(&l->b, ops[stage->cmp - OP_EQ], PLAN_BOOL,
				     build_column(&l->b, last, input->columns[last].type),
				     lower_expr(l, NULL, stage->expr)));
}

/* The few series with the largest or smallest values. */
static const struct plan_node *top_series(struct lower *l, const struct plan_node *input,
					  const struct ast_expr *call)
{
	struct plan_node *copy;

	if (input->op == PLAN_FILTER)
		return lower_refuse(
			l, call->range,
			"%.*s chooses among whole series; put the comparison behind it: | "
			"rate() | topk(3) | > 5",
			SLICE_ARG(call->call.name));
	if (input->op != PLAN_SERIES || call->call.n == 0 || call->call.args[0]->kind != AST_INT)
		return lower_refuse(l, call->range, "%.*s(n) follows a series",
				    SLICE_ARG(call->call.name));
	copy = build_alloc(&l->b, 1, sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *input;
	copy->series.topk = (uint32_t)call->call.args[0]->integer;
	copy->series.bottom = call->call.function->id == FN_BOTTOMK;
	return copy;
}

static const struct plan_node *group_stage(struct lower *l, const struct plan_node *input,
					   const struct ast_expr *e, struct scope_of *scope)
{
	const struct ast_expr *of = e->kind == AST_BY ? e->by.of : e;
	const struct plan_expr *result;
	struct plan_node *g;
	struct plan_column *columns;

	scope->keys = build_alloc(&l->b, e->kind == AST_BY ? e->by.n : 0, sizeof(*scope->keys));
	scope->aggregates = build_alloc(&l->b, LOWER_MAX_AGGREGATES, sizeof(*scope->aggregates));
	if (!scope->keys || !scope->aggregates)
		return NULL;
	for (size_t i = 0; e->kind == AST_BY && i < e->by.n; i++) {
		scope->keys[i] = lower_expr(l, scope, e->by.keys[i]);
		if (!scope->keys[i])
			return NULL;
		scope->key_n++;
	}
	scope->grouped = true;
	result = lower_expr(l, scope, of);
	g = build_node(&l->b, PLAN_GROUP, &input, 1);
	columns = build_alloc(&l->b, scope->key_n + scope->aggregate_n, sizeof(*columns));
	if (!result || !g || !columns)
		return NULL;
	for (uint32_t i = 0; i < scope->key_n; i++)
		columns[i] = (struct plan_column){
			.type = scope->keys[i]->type,
			.name = scope->keys[i]->kind == X_COLUMN
					? input->columns[scope->keys[i]->column].name
					: SLICE("by")};
	for (uint32_t i = 0; i < scope->aggregate_n; i++)
		columns[scope->key_n + i] = (struct plan_column){
			.name = slice_cstr(plan_aggregate_name(scope->aggregates[i].kind)),
			.type = PLAN_ANY};
	g->group.keys = scope->keys;
	g->group.key_n = scope->key_n;
	g->group.aggregates = scope->aggregates;
	g->group.aggregate_n = scope->aggregate_n;
	g->columns = columns;
	g->column_n = scope->key_n + scope->aggregate_n;
	/* `count() > 2` keeps groups; `sum(a) / count()` would need a name: it is a column. */
	if (result->kind == X_COLUMN)
		return g;
	if (result->type == PLAN_BOOL)
		return build_filter(&l->b, g, result);
	{
		uint32_t n = scope->key_n + 1;
		const struct plan_expr **exprs = build_alloc(&l->b, n, sizeof(*exprs));
		struct plan_column *out = build_alloc(&l->b, n, sizeof(*out));

		if (!exprs || !out)
			return NULL;
		for (uint32_t i = 0; i < scope->key_n; i++) {
			exprs[i] = build_column(&l->b, i, columns[i].type);
			out[i] = columns[i];
		}
		exprs[n - 1] = result;
		out[n - 1] = (struct plan_column){.name = SLICE("value"), .type = result->type};
		return build_project(&l->b, g, exprs, out, n);
	}
}

static const struct plan_node *select_stage(struct lower *l, const struct plan_node *input,
					    const struct ast_expr *e, struct scope_of *scope)
{
	const struct plan_expr **exprs = build_alloc(&l->b, e->call.n, sizeof(*exprs));
	struct plan_column *columns = build_alloc(&l->b, e->call.n, sizeof(*columns));

	if (!exprs || !columns)
		return NULL;
	for (size_t i = 0; i < e->call.n; i++) {
		exprs[i] = lower_expr(l, scope, e->call.args[i]);
		if (!exprs[i])
			return NULL;
		columns[i].type = exprs[i]->type;
		columns[i].name = exprs[i]->kind == X_COLUMN ? input->columns[exprs[i]->column].name
							     : SLICE("value");
	}
	return build_project(&l->b, input, exprs, columns, (uint32_t)e->call.n);
}

static bool aggregates_inside(const struct ast_expr *e)
{
	if (e->kind == AST_BY)
		return true;
	if (lower_is_aggregate(e))
		return true;
	if (e->kind == AST_BINARY)
		return aggregates_inside(e->op.left) || aggregates_inside(e->op.right);
	return e->kind == AST_UNARY && aggregates_inside(e->op.left);
}

const struct plan_node *lower_stages(struct lower *l, const struct plan_node *input,
				     const struct ast_query *q, size_t first)
{
	for (size_t i = first; input && i < q->n_stages; i++) {
		const struct ast_stage *stage = &q->stages[i];
		const struct ast_expr *e = stage->expr;
		struct scope_of scope = {.stage = input};
		enum word_function_id id =
			e->kind == AST_CALL && e->call.function ? e->call.function->id : FN_NONE;

		if (stage->cmp != OP_NONE)
			input = lower_compare_last(l, input, stage);
		else if ((id == FN_TOPK || id == FN_BOTTOMK) && stage->in.tag == TYPE_SERIES)
			input = top_series(l, input, e);
		else if (id == FN_SELECT)
			input = select_stage(l, input, e, &scope);
		else if (aggregates_inside(e))
			input = group_stage(l, input, e, &scope);
		else {
			const struct plan_expr *x = lower_expr(l, &scope, e);

			input = x ? build_filter(&l->b, input, x) : NULL;
		}
	}
	return l->failed || l->b.no_memory ? NULL : input;
}
