/* exec/expr.c - evaluates expressions of a plan: constants, operators. */
#include "exec/expr.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exec/expr_int.h"

static bool unknown(struct value v)
{
	return v.type == V_UNKNOWN;
}

struct value expr_fail(struct expr_env *env, int r)
{
	if (env->failed == 0)
		env->failed = r;
	return value_nil();
}

struct value expr_constant(struct expr_env *env, const struct plan_value *v)
{
	static const uint8_t types[PLAN_TYPES] = {
		[PLAN_NIL] = V_NIL,       [PLAN_BOOL] = V_BOOL, [PLAN_INT] = V_INT,
		[PLAN_FLOAT] = V_FLOAT,   [PLAN_TIME] = V_TIME, [PLAN_DURATION] = V_DURATION,
		[PLAN_STATUS] = V_STATUS, [PLAN_KIND] = V_KIND, [PLAN_STRING] = V_STRING,
		[PLAN_LIST] = V_LIST,     [PLAN_ANY] = V_NIL,
	};
	struct value *list;

	switch (v->type) {
	case PLAN_STRING:
		return value_text(v->s);
	case PLAN_BOOL:
		return value_bool(v->b);
	case PLAN_FLOAT:
		return value_float(v->f);
	case PLAN_LIST:
		list = arena_zalloc(env->arena, v->list.n + 1, sizeof(*list));
		if (!list)
			return expr_fail(env, -ENOMEM);
		for (uint32_t i = 0; i < v->list.n; i++)
			list[i] = expr_constant(env, &v->list.values[i]);
		return value_list(list, v->list.n);
	case PLAN_NIL:
	case PLAN_ANY:
		return value_nil();
	default:
		return value_of(types[v->type], v->i);
	}
}

bool expr_is_many(const struct plan_expr *e)
{
	if (e->kind == X_ATTR)
		return e->attr.scope == ATTR_EVENT || e->attr.scope == ATTR_LINK;
	if (e->kind == X_FIELD)
		return e->field.field == F_EVENT_NAME || e->field.field == F_EVENT_SINCE_START ||
		       e->field.field == F_LINK_SPAN_ID || e->field.field == F_LINK_TRACE_ID;
	return false;
}

int expr_walk(const struct plan_expr *e, int (*each)(void *context, const struct plan_expr *e),
	      void *context)
{
	int r = e ? each(context, e) : 0;

	if (!e || r != 0 || (e->kind == X_CALL && e->function == CALL_WHAT_IF))
		return r;
	if (e->kind == X_OP || e->kind == X_CALL || e->kind == X_LIST)
		for (uint32_t i = 0; r == 0 && i < e->n; i++)
			r = expr_walk(e->args[i], each, context);
	return r;
}

/* --- comparing --- */

static enum value_relation relation_of(enum plan_operator op)
{
	switch (op) {
	case XO_EQ:
		return VALUE_EQ;
	case XO_NE:
		return VALUE_NE;
	case XO_LT:
		return VALUE_LT;
	case XO_LE:
		return VALUE_LE;
	case XO_GT:
		return VALUE_GT;
	default:
		return VALUE_GE;
	}
}

static struct value is_in(struct value v, struct value list)
{
	struct value result = value_bool(false);

	if (value_is_nil(v) || list.type != V_LIST)
		return value_nil();
	for (uint32_t i = 0; i < list.n; i++) {
		result = value_or(result, value_compare(VALUE_EQ, v, list.list[i]));
		if (value_is_true(result))
			break;
	}
	return result;
}

static struct value compare_plain(struct expr_env *env, enum plan_operator op, struct value a,
				  struct value b)
{
	switch (op) {
	case XO_MATCH:
		return expr_match(env, a, b);
	case XO_NOT_MATCH:
		return value_not(expr_match(env, a, b));
	case XO_IN:
		return is_in(a, b);
	default:
		return value_compare(relation_of(op), a, b);
	}
}

/* A list and a value that is none: one of the elements is so; for != and !~, none is equal, none
 * matches. */
static struct value compare_elements(struct expr_env *env, enum plan_operator op, struct value a,
				     struct value b)
{
	bool negative = op == XO_NE || op == XO_NOT_MATCH, left = a.type == V_LIST;
	struct value list = left ? a : b;

	if (negative)
		op = op == XO_NE ? XO_EQ : XO_MATCH;
	for (uint32_t i = 0; i < list.n; i++)
		if (value_is_true(left ? compare_plain(env, op, list.list[i], b)
				       : compare_plain(env, op, a, list.list[i])))
			return value_bool(!negative);
	return value_bool(negative);
}

static struct value compare_one(struct expr_env *env, const struct plan_expr *e, struct value a,
				struct value b)
{
	if (value_is_nil(a) || value_is_nil(b))
		return compare_plain(env, e->op, a, b);
	if (e->op == XO_IN ? a.type == V_LIST : (a.type == V_LIST) != (b.type == V_LIST))
		return compare_elements(env, e->op, a, b);
	return compare_plain(env, e->op, a, b);
}

/* True if it is so for one of many. */
static struct value compare_any(struct expr_env *env, const struct plan_expr *e, struct value many,
				struct value with, bool swapped)
{
	struct value result = value_nil();

	for (uint32_t i = 0; many.type == V_LIST && i < many.n; i++) {
		struct value one = swapped ? compare_one(env, e, with, many.list[i])
					   : compare_one(env, e, many.list[i], with);

		if (value_is_true(one))
			return one;
		if (!value_is_nil(one))
			result = one;
	}
	return result;
}

static bool is_nil_constant(const struct plan_expr *e)
{
	return e->kind == X_CONST && e->value.type == PLAN_NIL;
}

static struct value compare(struct expr_env *env, const struct plan_expr *e)
{
	struct value a = expr_eval(env, e->args[0]), b = expr_eval(env, e->args[1]);

	if (unknown(a) || unknown(b))
		return value_unknown();
	/* Is it there? */
	if ((e->op == XO_EQ || e->op == XO_NE) &&
	    (is_nil_constant(e->args[0]) || is_nil_constant(e->args[1]))) {
		bool many = expr_is_many(e->args[0]) || expr_is_many(e->args[1]);
		bool nil = (value_is_nil(a) && value_is_nil(b)) ||
			   (many && (a.type == V_LIST ? a.n : b.n) == 0);

		return value_bool(nil == (e->op == XO_EQ));
	}
	if (expr_is_many(e->args[0]))
		return compare_any(env, e, a, b, false);
	if (expr_is_many(e->args[1]))
		return compare_any(env, e, b, a, true);
	return compare_one(env, e, a, b);
}

/* --- logic and arithmetic --- */

/* What settles it is not asked further: false for and, true for or. */
static struct value logic(struct expr_env *env, const struct plan_expr *e)
{
	bool settles = e->op == XO_OR, open = false;
	struct value result = value_bool(!settles);

	for (uint32_t i = 0; i < e->n; i++) {
		struct value v = expr_eval(env, e->args[i]);

		if (unknown(v)) {
			open = true;
			continue;
		}
		if (v.type == V_BOOL && v.b == settles)
			return v;
		result = settles ? value_or(result, v) : value_and(result, v);
	}
	return open ? value_unknown() : result;
}

static struct value negate(struct value v)
{
	if (v.type == V_FLOAT)
		return value_float(-v.f);
	if ((v.type == V_INT || v.type == V_DURATION) && v.i != INT64_MIN)
		return value_of(v.type, -v.i);
	return value_nil();
}

static struct value at_index(struct value list, struct value i)
{
	if (list.type != V_LIST || i.type != V_INT || i.i < 0 || i.i >= list.n)
		return value_nil();
	return list.list[i.i];
}

static struct value arithmetic(struct expr_env *env, const struct plan_expr *e)
{
	struct value a = expr_eval(env, e->args[0]), b;

	if (e->op == XO_NEG || e->op == XO_NOT) {
		if (unknown(a))
			return a;
		return e->op == XO_NEG ? negate(a) : value_not(a);
	}
	b = expr_eval(env, e->args[1]);
	if (unknown(a) || unknown(b))
		return value_unknown();
	if (e->op == XO_INDEX)
		return at_index(a, b);
	return value_arithmetic((enum value_operation)(e->op - XO_ADD + VALUE_ADD), a, b);
}

_Static_assert(XO_POW - XO_ADD == VALUE_POW - VALUE_ADD && XO_DIV - XO_ADD == VALUE_DIV - VALUE_ADD,
	       "the same order in both");

static struct value operator(struct expr_env *env, const struct plan_expr *e)
{
	switch (e->op) {
	case XO_OR:
	case XO_AND:
		return logic(env, e);
	case XO_EQ:
	case XO_NE:
	case XO_LT:
	case XO_LE:
	case XO_GT:
	case XO_GE:
	case XO_MATCH:
	case XO_NOT_MATCH:
	case XO_IN:
		return compare(env, e);
	default:
		return arithmetic(env, e);
	}
}

static struct value list_of(struct expr_env *env, const struct plan_expr *e)
{
	struct value *list = arena_zalloc(env->arena, e->n + 1, sizeof(*list));

	if (!list)
		return expr_fail(env, -ENOMEM);
	for (uint32_t i = 0; i < e->n; i++) {
		list[i] = expr_eval(env, e->args[i]);
		if (unknown(list[i]))
			return list[i];
	}
	return value_list(list, e->n);
}

struct value expr_eval(struct expr_env *env, const struct plan_expr *e)
{
	switch (e->kind) {
	case X_CONST:
		return expr_constant(env, &e->value);
	case X_COLUMN:
		return env->columns ? env->columns[e->column] : value_unknown();
	case X_FIELD:
	case X_ATTR:
		return env->element(env->context, e);
	case X_OP:
		return operator(env, e);
	case X_LIST:
		return list_of(env, e);
	default:
		return expr_call(env, e);
	}
}
