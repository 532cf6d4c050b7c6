/* lang/lower_expr.c - expressions: paths become fields, attributes or numbers of columns. */
#include "base/cleanup.h"
#include "lang/lower_int.h"

enum plan_type lower_type(struct type t)
{
	static const enum plan_type types[TYPE_TAGS] = {
		[TYPE_ERROR] = PLAN_ANY,         [TYPE_UNKNOWN] = PLAN_ANY,
		[TYPE_NIL] = PLAN_NIL,           [TYPE_BOOL] = PLAN_BOOL,
		[TYPE_INT] = PLAN_INT,           [TYPE_FLOAT] = PLAN_FLOAT,
		[TYPE_STRING] = PLAN_STRING,     [TYPE_TIME] = PLAN_TIME,
		[TYPE_DURATION] = PLAN_DURATION, [TYPE_STATUS] = PLAN_STATUS,
		[TYPE_KIND] = PLAN_KIND,         [TYPE_LIST] = PLAN_LIST,
		[TYPE_HISTOGRAM] = PLAN_LIST,    [TYPE_TRACE] = PLAN_STRING,
		[TYPE_UNIT] = PLAN_STRING,       [TYPE_BLOCK] = PLAN_STRING,
		[TYPE_POINT] = PLAN_STRING,      [TYPE_EDGE] = PLAN_STRING,
		[TYPE_COUNTER] = PLAN_STRING,    [TYPE_SPANSET] = PLAN_ANY,
		[TYPE_RELATION] = PLAN_ANY,      [TYPE_SERIES] = PLAN_ANY,
		[TYPE_ORDER] = PLAN_ANY,         [TYPE_PATH] = PLAN_ANY,
		[TYPE_CHANGE] = PLAN_ANY,        [TYPE_FEATURE] = PLAN_ANY,
	};

	return types[t.tag];
}

struct plan_value lower_value_int(enum plan_type type, int64_t i)
{
	return (struct plan_value){.type = type, .i = i};
}

bool lower_field(enum word_field_id id, enum plan_field *ret_field)
{
	static const struct {
		enum word_field_id id;
		enum plan_field field;
	} rows[] = {
		{WF_TRACE_ID, F_TRACE_ID},
		{WF_TIME, F_TIME},
		{WF_NAME, F_NAME},
		{WF_SERVICE, F_SERVICE},
		{WF_HOST, F_HOST},
		{WF_PROC_ID, F_PROC_ID},
		{WF_PROC_NAME, F_PROC_NAME},
		{WF_THREAD_ID, F_THREAD_ID},
		{WF_CPU, F_CPU},
		{WF_TRACEPOINT, F_TRACEPOINT},
		{WF_SPAN_ID, F_SPAN_ID},
		{WF_PARENT_ID, F_PARENT_ID},
		{WF_KIND, F_KIND},
		{WF_STATUS, F_STATUS},
		{WF_STATUS_MESSAGE, F_STATUS_MESSAGE},
		{WF_START, F_START},
		{WF_END, F_END},
		{WF_DURATION, F_DURATION},
		{WF_SELF, F_SELF},
		{WF_CHILD_COUNT, F_CHILD_COUNT},
		{WF_NESTED_LEFT, F_NESTED_LEFT},
		{WF_NESTED_RIGHT, F_NESTED_RIGHT},
		{WF_NESTED_PARENT, F_NESTED_PARENT},
		{WF_INSTRUMENTATION_NAME, F_SCOPE_NAME},
		{WF_INSTRUMENTATION_VERSION, F_SCOPE_VERSION},
		{WF_BLOCK, F_BLOCK},
		{WF_TYPE, F_TYPE},
		{WF_FROM, F_FROM},
		{WF_TO, F_TO},
		{WF_CONFIDENCE, F_CONFIDENCE},
		{WF_VALUE, F_VALUE},
		{WF_ROOT, F_TRACE_ROOT},
		{WF_ROOT_SERVICE, F_TRACE_ROOT_SERVICE},
		{WF_SPANS, F_TRACE_SPANS},
		{WF_ERRORS, F_TRACE_ERRORS},
		{WF_SERVICES, F_TRACE_SERVICES},
		{WF_PATTERN, F_TRACE_PATTERN},
		{WF_PROBABILITY, F_TRACE_PROBABILITY},
		{WF_TRACE_START, F_TRACE_START},
		{WF_TRACE_END, F_TRACE_END},
		{WF_TRACE_DURATION, F_TRACE_DURATION},
		{WF_THREAD, F_THREAD},
		{WF_EVENT_NAME, F_EVENT_NAME},
		{WF_EVENT_TIME_SINCE_START, F_EVENT_SINCE_START},
		{WF_LINK_TRACE_ID, F_LINK_TRACE_ID},
		{WF_LINK_SPAN_ID, F_LINK_SPAN_ID},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id) {
			*ret_field = rows[i].field;
			return true;
		}
	return false;
}

/* --- paths --- */

static enum plan_of of_scope(enum word_scope relative)
{
	return relative == WORD_SCOPE_PARENT ? OF_PARENT
	       : relative == WORD_SCOPE_ROOT ? OF_ROOT
					     : OF_SELF;
}

static enum plan_scope attr_scope(enum word_scope scope)
{
	switch (scope) {
	case WORD_SCOPE_SPAN:
		return ATTR_SPAN;
	case WORD_SCOPE_RESOURCE:
		return ATTR_RESOURCE;
	case WORD_SCOPE_EVENT:
		return ATTR_EVENT;
	case WORD_SCOPE_LINK:
		return ATTR_LINK;
	case WORD_SCOPE_INSTRUMENTATION:
		return ATTR_INSTRUMENTATION;
	default:
		return ATTR_ANY;
	}
}

uint32_t lower_ref(struct lower *l, struct bound *bound, struct ref ref)
{
	struct refs *r = &bound->refs;

	if (!ref.expr)
		return 0;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->items[i].export == ref.export && plan_expr_same(r->items[i].expr, ref.expr))
			return i;
	if (r->n == r->capacity) {
		uint32_t capacity = r->capacity ? 2 * r->capacity : 8;
		struct ref *items = build_alloc(&l->b, capacity, sizeof(*items));

		if (!items)
			return 0;
		if (r->n)
			memcpy(items, r->items, r->n * sizeof(*items));
		r->items = items;
		r->capacity = capacity;
	}
	r->items[r->n] = ref;
	return r->n++;
}

static struct bound *bound_of(struct scope_of *scope, const struct ast_binding *binding)
{
	if (!scope || !binding)
		return NULL;
	for (uint32_t i = 0; i < scope->n; i++)
		if (scope->bounds[i].binding == binding)
			return &scope->bounds[i];
	return NULL;
}

/* A column of the alias, numbered among all columns in scope. */
static const struct plan_expr *of_bound(struct lower *l, struct scope_of *scope,
					struct bound *bound, struct ref ref)
{
	uint32_t at = lower_ref(l, bound, ref);

	return build_column(&l->b, scope->collecting ? 0 : bound->offset + at,
			    ref.expr ? ref.expr->type : PLAN_ANY);
}

static const struct plan_expr *element_field(struct lower *l, const struct ast_expr *e)
{
	enum plan_field field;

	if (!lower_field(e->path.field->id, &field))
		return lower_refuse(l, e->range, "the field %s cannot be read from stored traces",
				    e->path.field->name);
	return build_field(&l->b, field, of_scope(e->path.relative), lower_type(e->type));
}

static struct slice last_part(const struct ast_expr *e)
{
	return e->path.n ? e->path.parts[e->path.n - 1].text : SLICE("");
}

static const struct plan_expr *lower_path(struct lower *l, struct scope_of *scope,
					  const struct ast_expr *e)
{
	const struct ast_path *p = &e->path;
	struct bound *bound = bound_of(scope, p->binding);
	struct ref ref = {.name = last_part(e)};

	switch (p->kind) {
	case AST_PATH_CONSTANT:
		return build_const(
			&l->b,
			lower_value_int(p->constant->type == TYPE_STATUS ? PLAN_STATUS : PLAN_KIND,
					p->constant->value));
	case AST_PATH_LET:
		return lower_expr(l, scope, p->value);
	case AST_PATH_STAGE_COLUMN:
		return build_column(&l->b, (uint32_t)p->column, lower_type(e->type));
	case AST_PATH_FIELD:
		ref.expr = element_field(l, e);
		break;
	case AST_PATH_ATTRIBUTE:
		ref.expr = build_attr(&l->b, attr_scope(p->scope), of_scope(p->relative), p->key);
		ref.export = bound && p->scope == WORD_SCOPE_NONE;
		ref.name = p->key;
		break;
	case AST_PATH_EXPORT:
		ref.expr = build_attr(&l->b, ATTR_ANY, OF_SELF, p->key);
		ref.export = true;
		ref.name = p->key;
		break;
	case AST_PATH_COLUMN:
		if (!bound)
			return lower_refuse(l, e->range, "a column of nothing in scope");
		if (bound->relation)
			return build_column(&l->b, bound->offset + (uint32_t)p->column,
					    lower_type(e->type));
		ref.expr = build_attr(&l->b, ATTR_ANY, OF_SELF, ref.name); /* of a file */
		break;
	case AST_PATH_ALIAS:
		if (bound && bound->relation) /* R6 */
			return build_column(&l->b, bound->offset, lower_type(e->type));
		ref.expr = build_field(&l->b, F_ELEMENT, OF_SELF, PLAN_STRING);
		break;
	default:
		return lower_refuse(l, e->range,
				    "a name that stands for many rows cannot be used "
				    "as one value");
	}
	if (bound && bound->relation)
		return lower_refuse(l, e->range, "the rows of a query have columns only");
	return bound ? of_bound(l, scope, bound, ref) : ref.expr;
}

bool lower_is_aggregate(const struct ast_expr *e)
{
	return e->kind == AST_CALL && e->call.function && e->call.aggregate;
}

static bool has_aggregate(const struct ast_expr *e)
{
	if (lower_is_aggregate(e))
		return true;
	switch (e->kind) {
	case AST_PATH:
		return e->path.kind == AST_PATH_LET && has_aggregate(e->path.value);
	case AST_CALL:
		for (size_t i = 0; i < e->call.n; i++)
			if (has_aggregate(e->call.args[i]))
				return true;
		return false;
	case AST_UNARY:
		return has_aggregate(e->op.left);
	case AST_BINARY:
		return has_aggregate(e->op.left) || has_aggregate(e->op.right);
	case AST_LIST:
		for (size_t i = 0; i < e->list.n; i++)
			if (has_aggregate(e->list.items[i]))
				return true;
		return false;
	case AST_INDEX:
		return has_aggregate(e->index.of) || has_aggregate(e->index.at);
	default:
		return false;
	}
}

/* --- calls --- */

static bool plain_function(enum word_function_id id, enum plan_function *ret_function)
{
	static const struct {
		enum word_function_id id;
		enum plan_function function;
	} rows[] = {
		{FN_IF, CALL_IF},
		{FN_ABS, CALL_ABS},
		{FN_FLOOR, CALL_FLOOR},
		{FN_CEIL, CALL_CEIL},
		{FN_ROUND, CALL_ROUND},
		{FN_SQRT, CALL_SQRT},
		{FN_LOG, CALL_LOG},
		{FN_LOG2, CALL_LOG2},
		{FN_LOG10, CALL_LOG10},
		{FN_LEAST, CALL_LEAST},
		{FN_GREATEST, CALL_GREATEST},
		{FN_LENGTH, CALL_LENGTH},
		{FN_LOWER, CALL_LOWER},
		{FN_UPPER, CALL_UPPER},
		{FN_SUBSTRING, CALL_SUBSTRING},
		{FN_CONTAINS, CALL_CONTAINS},
		{FN_STARTS_WITH, CALL_STARTS_WITH},
		{FN_ENDS_WITH, CALL_ENDS_WITH},
		{FN_REPLACE, CALL_REPLACE},
		{FN_CONCAT, CALL_CONCAT},
		{FN_INT, CALL_TO_INT},
		{FN_FLOAT, CALL_TO_FLOAT},
		{FN_STRING, CALL_TO_STRING},
		{FN_DEFAULT, CALL_DEFAULT},
		{FN_MOVING_AVERAGE, CALL_MOVING_AVERAGE},
		{FN_SKETCH, CALL_SKETCH},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id) {
			*ret_function = rows[i].function;
			return true;
		}
	return false;
}

/* SelfTime(b), Slack(b), Pattern(t): fields of the alias's element. */
static const struct plan_expr *element_function(struct lower *l, struct scope_of *scope,
						const struct ast_expr *e, enum plan_field field,
						enum plan_type type)
{
	struct ref ref = {.expr = build_field(&l->b, field, OF_SELF, type), .name = e->call.name};
	struct bound *bound = NULL;

	if (e->call.n) {
		if (e->call.args[0]->kind != AST_PATH)
			return lower_refuse(l, e->call.args[0]->range,
					    "%.*s takes an alias of From or Join",
					    SLICE_ARG(e->call.name));
		bound = bound_of(scope, e->call.args[0]->path.binding);
	} else if (scope && scope->n) {
		bound = &scope->bounds[0];
	}
	if (bound && bound->relation)
		return lower_refuse(l, e->range, "%.*s needs an element of a trace, not a row",
				    SLICE_ARG(e->call.name));
	return bound ? of_bound(l, scope, bound, ref) : ref.expr;
}

static const struct plan_expr *lower_call(struct lower *l, struct scope_of *scope,
					  const struct ast_expr *e)
{
	const struct plan_expr *args[16], *r;
	enum word_function_id id = e->call.function->id;
	enum plan_function function;

	switch (id) {
	case FN_SELF_TIME:
		return element_function(l, scope, e, F_SELF, PLAN_DURATION);
	case FN_SLACK:
		return element_function(l, scope, e, F_SLACK, PLAN_DURATION);
	case FN_PATTERN:
		return element_function(l, scope, e, F_TRACE_PATTERN, PLAN_STRING);
	case FN_TIMESTAMP:
		return element_function(l, scope, e, F_TIME, PLAN_TIME);
	case FN_DURATION:
		return element_function(l, scope, e, F_DURATION, PLAN_DURATION);
	case FN_WHAT_IF: {
		struct ref ref = {.expr = lower_what_if(l, e), .name = e->call.name};

		if (!scope || !scope->n || scope->bounds[0].relation)
			return ref.expr;
		return of_bound(l, scope, &scope->bounds[0], ref);
	}
	default:
		break;
	}
	if (!plain_function(id, &function))
		return lower_refuse(l, e->range, "%.*s cannot be used here over stored traces",
				    SLICE_ARG(e->call.name));
	if (e->call.n > ARRAY_SIZE(args))
		return lower_refuse(l, e->range, "%.*s with more than %zu arguments",
				    SLICE_ARG(e->call.name), ARRAY_SIZE(args));
	for (size_t i = 0; i < e->call.n; i++)
		args[i] = lower_expr(l, scope, e->call.args[i]);
	r = build_call(&l->b, function, lower_type(e->type), args, (uint32_t)e->call.n);
	if (!r || !plan_has_state(function) || (scope && has_aggregate(e)))
		return r; /* of groups: in the order they come */
	if (!scope || !scope->running_allowed || scope->grouped)
		return lower_refuse(
			l, e->range,
			scope && scope->grouped
				? "%.*s looks at all rows so far, and here are groups: put it "
				  "into an aggregate, or behind GroupBy"
				: "%.*s looks at all rows so far: put it into Let, Where or "
				  "Select of a query that starts with From",
			SLICE_ARG(e->call.name));
	return lower_running(l, scope, e, r);
}

/* --- aggregates --- */

static double number_of(const struct ast_expr *e)
{
	if (e->kind == AST_FLOAT)
		return e->real;
	if (e->kind == AST_UNARY && e->op.op == OP_NEG)
		return -number_of(e->op.left);
	return e->kind == AST_INT || e->kind == AST_DURATION ? (double)e->integer : 0;
}

static bool aggregate_kind(enum word_function_id id, enum plan_aggregate_kind *ret_kind)
{
	static const struct {
		enum word_function_id id;
		enum plan_aggregate_kind kind;
	} rows[] = {
		{FN_COUNT, AGG_COUNT},
		{FN_SUM, AGG_SUM},
		{FN_MIN, AGG_MIN},
		{FN_MAX, AGG_MAX},
		{FN_AVG, AGG_AVG},
		{FN_DISTINCT, AGG_DISTINCT},
		{FN_STDDEV, AGG_STDDEV},
		{FN_PERCENTILE, AGG_QUANTILE},
		{FN_QUANTILE, AGG_QUANTILE},
		{FN_HISTOGRAM, AGG_HISTOGRAM},
		{FN_TOPK, AGG_TOPK},
		{FN_FIRST, AGG_FIRST},
		{FN_LAST, AGG_LAST},
		{FN_RATE, AGG_RATE},
		{FN_COUNT_OVER_TIME, AGG_COUNT},
		{FN_MIN_OVER_TIME, AGG_MIN},
		{FN_MAX_OVER_TIME, AGG_MAX},
		{FN_AVG_OVER_TIME, AGG_AVG},
		{FN_SUM_OVER_TIME, AGG_SUM},
		{FN_QUANTILE_OVER_TIME, AGG_QUANTILE},
		{FN_HISTOGRAM_OVER_TIME, AGG_HISTOGRAM},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id) {
			*ret_kind = rows[i].kind;
			return true;
		}
	return false;
}

bool lower_aggregate(struct lower *l, struct scope_of *scope, const struct ast_expr *e,
		     struct plan_aggregate *ret_aggregate)
{
	struct plan_aggregate a = {0};
	size_t arg = 0, first = 1;

	if (!aggregate_kind(e->call.function->id, &a.kind)) {
		lower_refuse(l, e->range, "%.*s is no aggregate", SLICE_ARG(e->call.name));
		return false;
	}
	if (a.kind == AGG_TOPK) { /* topk(n, x) */
		arg = 1;
		first = 0;
	}
	if (e->call.n > arg && e->call.args[arg]->kind != AST_STAR) {
		a.arg = lower_expr(l, scope, e->call.args[arg]);
		if (!a.arg)
			return false;
	}
	if (e->call.function->id == FN_PERCENTILE)
		a.parameters[a.parameter_n++] = e->call.function->parameter;
	else if (a.kind == AGG_QUANTILE || a.kind == AGG_TOPK)
		for (size_t i = first; i < e->call.n && (a.kind == AGG_QUANTILE || i == 0); i++) {
			if (a.parameter_n == PLAN_MAX_PARAMETERS) {
				lower_refuse(l, e->range, "more than %d quantiles at once",
					     PLAN_MAX_PARAMETERS);
				return false;
			}
			a.parameters[a.parameter_n++] = number_of(e->call.args[i]);
		}
	*ret_aggregate = a;
	return true;
}

/* The column of an aggregate behind GroupBy: the same one again where it was asked for before. */
static const struct plan_expr *grouped_aggregate(struct lower *l, struct scope_of *scope,
						 const struct ast_expr *e)
{
	struct plan_aggregate a, *have = scope->aggregates;
	uint32_t i;

	scope->grouped = false; /* the argument is about rows */
	if (!lower_aggregate(l, scope, e, &a)) {
		scope->grouped = true;
		return NULL;
	}
	scope->grouped = true;
	for (i = 0; i < scope->aggregate_n; i++)
		if (have[i].kind == a.kind && plan_expr_same(have[i].arg, a.arg) &&
		    have[i].parameter_n == a.parameter_n &&
		    memcmp(have[i].parameters, a.parameters, sizeof(a.parameters)) == 0)
			break;
	if (i == scope->aggregate_n) {
		if (i == LOWER_MAX_AGGREGATES)
			return lower_refuse(l, e->range, "more than %d aggregates in one query",
					    LOWER_MAX_AGGREGATES);
		have[scope->aggregate_n++] = a;
	}
	return build_column(&l->b, scope->key_n + i, lower_type(e->type));
}

/* --- operators --- */

static bool plain_operator(enum ast_op op, enum plan_operator *ret_op)
{
	static const enum plan_operator ops[AST_OPS] = {
		[OP_OR] = XO_OR,
		[OP_AND] = XO_AND,
		[OP_EQ] = XO_EQ,
		[OP_NE] = XO_NE,
		[OP_LT] = XO_LT,
		[OP_LE] = XO_LE,
		[OP_GT] = XO_GT,
		[OP_GE] = XO_GE,
		[OP_MATCH] = XO_MATCH,
		[OP_IN] = XO_IN,
		[OP_NO_MATCH] = XO_NOT_MATCH,
		[OP_ADD] = XO_ADD,
		[OP_SUB] = XO_SUB,
		[OP_MUL] = XO_MUL,
		[OP_DIV] = XO_DIV,
		[OP_MOD] = XO_MOD,
		[OP_POW] = XO_POW,
		[OP_NEG] = XO_NEG,
		[OP_NOT] = XO_NOT,
	};

	*ret_op = ops[op];
	return op == OP_OR || ops[op] != XO_OR;
}

static const struct plan_expr *lower_list(struct lower *l, struct scope_of *scope,
					  const struct ast_expr *e)
{
	struct plan_expr *list = build_alloc(&l->b, 1, sizeof(*list));
	const struct plan_expr **items = build_alloc(&l->b, e->list.n, sizeof(*items));

	if (!list || !items)
		return NULL;
	for (size_t i = 0; i < e->list.n; i++) {
		items[i] = lower_expr(l, scope, e->list.items[i]);
		if (!items[i])
			return NULL;
	}
	list->kind = X_LIST;
	list->type = PLAN_LIST;
	list->args = items;
	list->n = (uint32_t)e->list.n;
	return list;
}

static const struct plan_expr *lower_plain(struct lower *l, struct scope_of *scope,
					   const struct ast_expr *e)
{
	enum plan_operator op;

	switch (e->kind) {
	case AST_INT:
		return build_const(&l->b, lower_value_int(PLAN_INT, e->integer));
	case AST_DURATION:
		return build_const(&l->b, lower_value_int(PLAN_DURATION, e->integer));
	case AST_BOOL:
		return build_const(&l->b,
				   (struct plan_value){.type = PLAN_BOOL, .b = e->integer != 0});
	case AST_FLOAT:
		return build_const(&l->b, (struct plan_value){.type = PLAN_FLOAT, .f = e->real});
	case AST_STRING:
		return build_const(&l->b, (struct plan_value){.type = PLAN_STRING, .s = e->string});
	case AST_NIL:
		return build_const(&l->b, (struct plan_value){.type = PLAN_NIL});
	case AST_PATH:
		return lower_path(l, scope, e);
	case AST_CALL:
		return lower_call(l, scope, e);
	case AST_UNARY:
		if (!plain_operator(e->op.op, &op))
			break;
		return build_op(&l->b, op, lower_type(e->type), lower_expr(l, scope, e->op.left),
				NULL);
	case AST_BINARY:
		if (!plain_operator(e->op.op, &op))
			break;
		return build_op(&l->b, op, lower_type(e->type), lower_expr(l, scope, e->op.left),
				lower_expr(l, scope, e->op.right));
	case AST_LIST:
		return lower_list(l, scope, e);
	case AST_SUBQUERY:
		if (!scope || !scope->sets)
			break;
		return lower_set_scalar(l, scope, e);
	case AST_INDEX:
		return build_op(&l->b, XO_INDEX, lower_type(e->type),
				lower_expr(l, scope, e->index.of),
				lower_expr(l, scope, e->index.at));
	default:
		break;
	}
	return lower_refuse(l, e->range, "this cannot be used as one value over stored traces");
}

const struct plan_expr *lower_expr(struct lower *l, struct scope_of *scope,
				   const struct ast_expr *e)
{
	const struct plan_expr *r;

	if (scope && lower_is_aggregate(e)) {
		if (scope->collecting) {
			struct plan_aggregate ignored;

			return lower_aggregate(l, scope, e, &ignored)
				       ? build_column(&l->b, 0, lower_type(e->type))
				       : NULL;
		}
		if (scope->grouped)
			return grouped_aggregate(l, scope, e);
		return lower_refuse(l, e->range, "an aggregate where there is no group");
	}
	if (scope && scope->grouped) {
		/* Is it, as a whole, what the rows were grouped by? */
		if (!has_aggregate(e)) {
			scope->grouped = false;
			r = lower_expr(l, scope, e);
			scope->grouped = true;
			for (uint32_t i = 0; r && i < scope->key_n; i++)
				if (plan_expr_same(r, scope->keys[i]))
					return build_column(&l->b, i, r->type);
			if (!r || expr_is_constant(r))
				return r;
		}
		if (e->kind == AST_PATH && e->path.kind == AST_PATH_LET)
			return lower_expr(l, scope, e->path.value);
		if (e->kind == AST_PATH)
			return lower_refuse(l, e->range, "it is not what the rows are grouped by");
	}
	r = lower_plain(l, scope, e);
	if (r && r->at == 0 && r->end == 0 && r->kind != X_COLUMN) {
		/* Made just now and nobody else's: where it was written. */
		struct plan_expr *mine = (struct plan_expr *)(uintptr_t)r;

		mine->at = e->range.begin;
		mine->end = e->range.end;
	}
	return r;
}
