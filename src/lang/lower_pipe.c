/* lang/lower_pipe.c - pipes over the elements of a trace: ExecUnits | Filter(…) | Points | First.
 */
#include "base/cleanup.h"
#include "lang/lower_int.h"

#define MAX_STAGES 128 /* with those of the pipes it begins with */

struct stages {
	struct pipe_stage items[MAX_STAGES];
	uint32_t n;
};

static bool pipe_of(struct lower *l, const struct ast_query *q, struct stages *out);
static const struct plan_pipe *pipe_expr(struct lower *l, const struct ast_expr *e);

static bool add(struct lower *l, struct stages *out, struct ast_range range,
		struct pipe_stage stage)
{
	if (out->n == MAX_STAGES) {
		lower_refuse(l, range, "a pipe of more than %d stages", MAX_STAGES);
		return false;
	}
	out->items[out->n++] = stage;
	return true;
}

static bool gives_elements(const struct stages *s)
{
	for (uint32_t i = s->n; i-- > 0;)
		switch (s->items[i].kind) {
		case PIPE_UNITS:
		case PIPE_BLOCKS:
		case PIPE_POINTS:
		case PIPE_EDGES:
		case PIPE_COUNTERS:
		case PIPE_TRACE:
		case PIPE_SET:
		case PIPE_CRITICAL_PATH:
			return true;
		case PIPE_FILTER:
		case PIPE_FIRST:
		case PIPE_LAST:
		case PIPE_RECORD:
		case PIPE_COMPARE:
			break;
		default:
			return false;
		}
	return false;
}

static const struct plan_pipe *finish(struct lower *l, const struct stages *s)
{
	struct plan_pipe *pipe = build_alloc(&l->b, 1, sizeof(*pipe));
	struct pipe_stage *copy = build_alloc(&l->b, s->n, sizeof(*copy));

	if (!pipe || !copy)
		return NULL;
	memcpy(copy, s->items, s->n * sizeof(*copy));
	pipe->stages = copy;
	pipe->n = s->n;
	pipe->elements = gives_elements(s);
	return pipe;
}

static bool add_field(struct lower *l, struct stages *out, const struct ast_expr *e,
		      enum plan_field field, enum plan_type type)
{
	const struct plan_expr *x = build_field(&l->b, field, OF_SELF, type);

	return x && add(l, out, e->range, (struct pipe_stage){.kind = PIPE_FIELD, .expr = x});
}

/* CriticalPath(a -> b), CriticalPath(). */
static bool add_path(struct lower *l, struct stages *out, const struct ast_expr *e)
{
	struct pipe_stage stage = {.kind = PIPE_CRITICAL_PATH};

	if (e->call.n) {
		const struct ast_expr *order = e->call.args[0];

		if (order->kind == AST_SUBQUERY && order->query->form == AST_QUERY_PIPE &&
		    order->query->n_stages == 0)
			order = order->query->head;
		if (order->kind != AST_BINARY || order->op.op != OP_BEFORE) {
			lower_refuse(l, order->range, "CriticalPath takes a -> b");
			return false;
		}
		stage.pipes[0] = pipe_expr(l, order->op.left);
		stage.pipes[1] = pipe_expr(l, order->op.right);
		if (!stage.pipes[0] || !stage.pipes[1])
			return false;
	}
	return add(l, out, e->range, stage);
}

static bool add_aggregate(struct lower *l, struct stages *out, const struct ast_expr *e)
{
	struct plan_aggregate *a = build_alloc(&l->b, 1, sizeof(*a));

	if (!a || !lower_aggregate(l, NULL, e, a))
		return false;
	if (a->arg && !expr_is_constant(a->arg) &&
	    !add(l, out, e->range, (struct pipe_stage){.kind = PIPE_FIELD, .expr = a->arg}))
		return false;
	return add(l, out, e->range, (struct pipe_stage){.kind = PIPE_AGGREGATE, .aggregate = a});
}

static bool add_filter(struct lower *l, struct stages *out, const struct ast_expr *e)
{
	for (size_t i = 0; i < e->call.n; i++) {
		const struct plan_expr *x;
		const struct ast_expr *c = e->call.args[i];

		if (c->kind == AST_SUBQUERY && c->query->form == AST_QUERY_PIPE &&
		    c->query->n_stages == 0)
			c = c->query->head;
		if (c->kind == AST_SPANSET)
			c = c->spanset.condition;
		x = c ? lower_expr(l, NULL, c) : NULL;
		if (c && (!x || !add(l, out, e->range,
				     (struct pipe_stage){.kind = PIPE_FILTER, .expr = x})))
			return false;
	}
	return true;
}

static struct slice bare_name(const struct ast_expr *e)
{
	if (e->kind == AST_SUBQUERY && e->query->form == AST_QUERY_PIPE)
		e = e->query->head;
	if (e->kind == AST_STRING)
		return e->string;
	if (e->kind == AST_PATH && e->path.n)
		return e->path.parts[e->path.n - 1].text;
	return e->kind == AST_CALL ? e->call.name : SLICE("");
}

static bool add_call(struct lower *l, struct stages *out, const struct ast_expr *e)
{
	static const struct {
		enum word_function_id id;
		enum pipe_stage_kind kind;
	} plain[] = {
		{FN_EXEC_UNITS, PIPE_UNITS}, {FN_BLOCKS, PIPE_BLOCKS},     {FN_POINTS, PIPE_POINTS},
		{FN_EDGES, PIPE_EDGES},      {FN_COUNTERS, PIPE_COUNTERS}, {FN_TRACES, PIPE_TRACE},
		{FN_FIRST, PIPE_FIRST},      {FN_LAST, PIPE_LAST},
	};
	enum word_function_id id = e->call.function->id;
	struct pipe_stage stage = {0};

	for (size_t i = 0; e->call.n == 0 && i < ARRAY_SIZE(plain); i++)
		if (plain[i].id == id)
			return add(l, out, e->range, (struct pipe_stage){.kind = plain[i].kind});
	switch (id) {
	case FN_FILTER:
		return add_filter(l, out, e);
	case FN_TIMESTAMP:
		return add_field(l, out, e, F_TIME, PLAN_TIME);
	case FN_DURATION:
		return add_field(l, out, e, F_DURATION, PLAN_DURATION);
	case FN_SELF_TIME:
		return add_field(l, out, e, F_SELF, PLAN_DURATION);
	case FN_SLACK:
		return add_field(l, out, e, F_SLACK, PLAN_DURATION);
	case FN_PATTERN:
		return (out->n || add(l, out, e->range, (struct pipe_stage){.kind = PIPE_TRACE})) &&
		       add_field(l, out, e, F_TRACE_PATTERN, PLAN_STRING);
	case FN_WHAT_IF:
		stage.kind = PIPE_FIELD;
		stage.expr = lower_what_if(l, e);
		return stage.expr &&
		       (out->n || add(l, out, e->range, (struct pipe_stage){.kind = PIPE_TRACE})) &&
		       add(l, out, e->range, stage);
	case FN_CRITICAL_PATH:
		return add_path(l, out, e);
	case FN_SUBTRACT:
		stage.kind = PIPE_SUBTRACT;
		stage.pipes[0] = e->call.n ? pipe_expr(l, e->call.args[0]) : NULL;
		return stage.pipes[0] && add(l, out, e->range, stage);
	case FN_COUNTER:
		stage.kind = PIPE_COUNTER_VALUE;
		stage.name = e->call.n ? bare_name(e->call.args[0]) : SLICE("");
		return add(l, out, e->range, stage);
	case FN_RECORD_AS:
		stage.kind = PIPE_RECORD;
		stage.name = e->call.n ? bare_name(e->call.args[0]) : SLICE("");
		return add(l, out, e->range, stage);
	default:
		break;
	}
	return add_aggregate(l, out, e);
}

static bool add_expr(struct lower *l, struct stages *out, const struct ast_expr *e)
{
	const struct plan_expr *x;

	switch (e->kind) {
	case AST_CALL:
		if (e->call.function)
			return add_call(l, out, e);
		break;
	case AST_SUBQUERY:
		return pipe_of(l, e->query, out);
	case AST_PATH:
		if (e->path.kind == AST_PATH_STATEMENT &&
		    e->path.statement->kind == AST_STATEMENT_QUERY)
			return pipe_of(l, e->path.statement->query, out);
		break;
	case AST_SPANSET:
		if (out->n == 0) {
			const struct plan_set *set = lower_set(l, e);

			return set && add(l, out, e->range,
					  (struct pipe_stage){.kind = PIPE_SET, .set = set});
		}
		x = e->spanset.condition ? lower_expr(l, NULL, e->spanset.condition) : NULL;
		return x &&
		       add(l, out, e->range, (struct pipe_stage){.kind = PIPE_FILTER, .expr = x});
	default:
		break;
	}
	if (e->type.tag == TYPE_SPANSET && out->n == 0) {
		const struct plan_set *set = lower_set(l, e);

		return set &&
		       add(l, out, e->range, (struct pipe_stage){.kind = PIPE_SET, .set = set});
	}
	x = lower_expr(l, NULL, e);
	if (!x)
		return false;
	if (out->n == 0)
		return add(l, out, e->range, (struct pipe_stage){.kind = PIPE_CONST, .expr = x});
	return add(l, out, e->range,
		   (struct pipe_stage){.kind = e->type.tag == TYPE_BOOL ? PIPE_FILTER : PIPE_FIELD,
				       .expr = x});
}

static bool pipe_of(struct lower *l, const struct ast_query *q, struct stages *out)
{
	static const enum plan_operator ops[] = {XO_EQ, XO_NE, XO_LT, XO_LE, XO_GT, XO_GE};

	if (q->form != AST_QUERY_PIPE) {
		lower_refuse(l, q->range, "rows of a query are not elements of a trace");
		return false;
	}
	if (++l->depth > LOWER_MAX_DEPTH) {
		lower_refuse(l, q->range, "queries nested too deeply");
		return false;
	}
	if (!add_expr(l, out, q->head))
		return false;
	for (size_t i = 0; i < q->n_stages; i++) {
		const struct ast_stage *stage = &q->stages[i];

		if (stage->cmp != OP_NONE) {
			struct pipe_stage compare = {.kind = PIPE_COMPARE,
						     .op = ops[stage->cmp - OP_EQ],
						     .pipes = {pipe_expr(l, stage->expr)}};

			if (!compare.pipes[0] || !add(l, out, stage->range, compare))
				return false;
		} else if (!add_expr(l, out, stage->expr)) {
			return false;
		}
	}
	l->depth--;
	return true;
}

static const struct plan_pipe *pipe_expr(struct lower *l, const struct ast_expr *e)
{
	struct stages *s = build_alloc(&l->b, 1, sizeof(*s));

	return s && add_expr(l, s, e) ? finish(l, s) : NULL;
}

static struct slice recorded(const struct plan_pipe *pipe)
{
	for (uint32_t i = pipe->n; i-- > 0;)
		if (pipe->stages[i].kind == PIPE_RECORD)
			return pipe->stages[i].name;
	return SLICE("value");
}

const struct plan_node *lower_pipe_query(struct lower *l, const struct ast_query *q)
{
	static const struct plan_column elements[] = {
		{SLICE("trace_id"), PLAN_STRING},   {SLICE("element"), PLAN_STRING},
		{SLICE("name"), PLAN_STRING},       {SLICE("time"), PLAN_TIME},
		{SLICE("duration"), PLAN_DURATION},
	};
	struct stages *s = build_alloc(&l->b, 1, sizeof(*s));
	struct plan_node *node = build_node(&l->b, PLAN_PIPE, NULL, 0);
	struct plan_column *columns = build_alloc(&l->b, 2, sizeof(*columns));

	if (!s || !node || !columns || !pipe_of(l, q, s))
		return NULL;
	node->pipe = finish(l, s);
	if (!node->pipe)
		return NULL;
	node->at = q->range.begin;
	node->end = q->range.end;
	columns[0] = elements[0];
	columns[1] = (struct plan_column){.name = recorded(node->pipe), .type = PLAN_ANY};
	node->columns = node->pipe->elements ? elements : columns;
	node->column_n = node->pipe->elements ? ARRAY_SIZE(elements) : 2;
	return node;
}
