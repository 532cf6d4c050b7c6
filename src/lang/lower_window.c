/* lang/lower_window.c - columns behind the joins that come of the rows' times: the windows a row is
 * in, and what looks at all rows so far (MovingAverage, sketch).
 *
 * Rows so far are those with earlier times; so the rows are sorted, and each such call is a column
 * worked out once, before the first Where that uses it: Where and Select see the same average. */
#include "lang/lower_int.h"

uint32_t lower_time_column(struct lower *l, struct bound *bound)
{
	return lower_ref(l, bound,
			 (struct ref){.expr = build_field(&l->b, F_TIME, OF_SELF, PLAN_TIME),
				      .name = SLICE("time")});
}

/* The rows with one more column. */
static const struct plan_node *with_column(struct lower *l, const struct plan_node *node,
					   const struct plan_expr *e, struct plan_column column)
{
	uint32_t n = node->column_n;
	const struct plan_expr **exprs = build_alloc(&l->b, n + 1, sizeof(*exprs));
	struct plan_column *columns = build_alloc(&l->b, n + 1, sizeof(*columns));

	if (!exprs || !columns || !e)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		exprs[i] = build_column(&l->b, i, node->columns[i].type);
	memcpy(columns, node->columns, n * sizeof(*columns));
	exprs[n] = e;
	columns[n] = column;
	return build_project(&l->b, node, exprs, columns, n + 1);
}

const struct plan_node *lower_windowed(struct lower *l, struct scope_of *s,
				       const struct ast_clauses *c, const struct plan_node *node,
				       uint32_t *ret_slot)
{
	struct bound *from = &s->bounds[0];
	const struct plan_expr *args[3];
	int64_t slide = c->window->time.slide_ns ? c->window->time.slide_ns : c->window->time.ns;

	if (from->relation)
		return lower_refuse(l, c->window->range, "Window needs events with a time");
	args[0] = build_column(&l->b, from->offset + lower_time_column(l, from), PLAN_TIME);
	args[1] = build_const(&l->b, lower_value_int(PLAN_DURATION, c->window->time.ns));
	args[2] = build_const(&l->b, lower_value_int(PLAN_DURATION, slide));
	*ret_slot = node->column_n;
	return with_column(l, node, build_call(&l->b, CALL_WINDOWS, PLAN_LIST, args, 3),
			   (struct plan_column){.name = SLICE("window"), .type = PLAN_TIME});
}

/* --- rows so far --- */

/* Time, and what settles ties. */
#define ORDER_KEYS 3
static const struct {
	enum plan_field field;
	enum plan_type type;
	const char *name;
} order_keys[ORDER_KEYS] = {
	{F_TIME, PLAN_TIME, "time"},
	{F_TRACE_ID, PLAN_STRING, "trace_id"},
	{F_SPAN_ID, PLAN_STRING, "span_id"},
};

/* Rows of a query and of a file come in the order they have there. */
static bool has_order(const struct bound *b)
{
	return b->relation || b->binding->sources[0]->kind == AST_SOURCE_CSV;
}

static uint32_t order_column(struct lower *l, struct bound *from, size_t i)
{
	const struct plan_expr *e =
		build_field(&l->b, order_keys[i].field, OF_SELF, order_keys[i].type);

	return lower_ref(l, from, (struct ref){.expr = e, .name = slice_cstr(order_keys[i].name)});
}

const struct plan_expr *lower_running(struct lower *l, struct scope_of *s, const struct ast_expr *e,
				      const struct plan_expr *call)
{
	s->running_seen = true;
	for (uint32_t i = 0; i < s->running_n; i++)
		if (s->running[i].call == e)
			return s->running[i].placed
				       ? build_column(&l->b, s->running[i].column, call->type)
				       : call;
	if (!s->collecting)
		return call;
	if (s->running_n == LOWER_MAX_RUNNING)
		return lower_refuse(l, e->range, "more than %d calls that look at all rows so far",
				    LOWER_MAX_RUNNING);
	s->running[s->running_n++].call = e;
	for (size_t i = 0; !has_order(&s->bounds[0]) && i < ORDER_KEYS; i++)
		order_column(l, &s->bounds[0], i);
	return call;
}

static const struct plan_node *by_time(struct lower *l, struct scope_of *s,
				       const struct plan_node *node)
{
	struct bound *from = &s->bounds[0];
	struct plan_node *sort;
	struct plan_order *orders;

	if (has_order(from))
		return node;
	sort = build_over(&l->b, PLAN_SORT, node);
	orders = build_alloc(&l->b, ORDER_KEYS, sizeof(*orders));
	if (!sort || !orders)
		return NULL;
	for (size_t i = 0; i < ORDER_KEYS; i++)
		orders[i].expr = build_column(&l->b, from->offset + order_column(l, from, i),
					      order_keys[i].type);
	sort->sort.orders = orders;
	sort->sort.n = ORDER_KEYS;
	return sort;
}

const struct plan_node *lower_running_place(struct lower *l, struct scope_of *s,
					    const struct plan_node *node)
{
	if (s->running_n == 0 || s->running[0].placed)
		return node;
	l->plan->running = true;
	node = by_time(l, s, node);
	/* One behind the other: an average may be of an average. */
	for (uint32_t i = 0; node && i < s->running_n; i++) {
		const struct ast_expr *call = s->running[i].call;
		const struct plan_expr *e = lower_expr(l, s, call);
		uint32_t column = node->column_n;

		node = e ? with_column(
				   l, node, e,
				   (struct plan_column){.name = call->call.name, .type = e->type})
			 : NULL;
		s->running[i].column = column;
		s->running[i].placed = true;
	}
	return node;
}
