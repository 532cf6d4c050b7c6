/* exec/expr.h: operators and functions over trees made by hand. */
#include "t.h"

#include <errno.h>

#include "exec/expr.h"

static struct arena arena;

static const struct plan_expr *tree(struct plan_expr e, const struct plan_expr *a,
				    const struct plan_expr *b, const struct plan_expr *c)
{
	const struct plan_expr **args = arena_zalloc(&arena, 3, sizeof(*args));
	struct plan_expr *copy = arena_alloc(&arena, sizeof(*copy));

	args[0] = a;
	args[1] = b;
	args[2] = c;
	e.n = (uint32_t)(a != NULL) + (b != NULL) + (c != NULL);
	e.args = args;
	*copy = e;
	return copy;
}

static const struct plan_expr *op(enum plan_operator o, const struct plan_expr *a,
				  const struct plan_expr *b)
{
	return tree((struct plan_expr){.kind = X_OP, .op = o}, a, b, NULL);
}

static const struct plan_expr *call(enum plan_function f, const struct plan_expr *a,
				    const struct plan_expr *b, const struct plan_expr *c)
{
	return tree((struct plan_expr){.kind = X_CALL, .function = f}, a, b, c);
}

static const struct plan_expr *constant(struct plan_value v)
{
	return tree((struct plan_expr){.kind = X_CONST, .value = v}, NULL, NULL, NULL);
}

static const struct plan_expr *i(int64_t n)
{
	return constant((struct plan_value){.type = PLAN_INT, .i = n});
}

static const struct plan_expr *f(double n)
{
	return constant((struct plan_value){.type = PLAN_FLOAT, .f = n});
}

static const struct plan_expr *s(const char *text)
{
	return constant((struct plan_value){.type = PLAN_STRING, .s = slice_cstr(text)});
}

static const struct plan_expr *b(bool v)
{
	return constant((struct plan_value){.type = PLAN_BOOL, .b = v});
}

static const struct plan_expr *nil(void)
{
	return constant((struct plan_value){.type = PLAN_NIL});
}

static const struct plan_expr *attr(enum plan_scope scope, const char *key)
{
	return tree((struct plan_expr){.kind = X_ATTR,
				       .attr = {.scope = scope, .key = slice_cstr(key)}},
		    NULL, NULL, NULL);
}

/* An element with the attribute a = 1, an unknown u, and points with x = 1, 2. */
static struct value element(void *context, const struct plan_expr *e)
{
	static const struct value many[] = {{.type = V_INT, .i = 1}, {.type = V_INT, .i = 2}};

	(void)context;
	if (e->kind == X_ATTR && e->attr.scope == ATTR_EVENT)
		return slice_eq(e->attr.key, SLICE("x")) ? value_list(many, 2)
							 : value_list(NULL, 0);
	if (e->kind == X_ATTR && slice_eq(e->attr.key, SLICE("a")))
		return value_int(1);
	if (e->kind == X_ATTR && slice_eq(e->attr.key, SLICE("u")))
		return value_unknown();
	return value_nil();
}

static const char *told(const struct plan_expr *e)
{
	static const struct value columns[] = {{.type = V_STRING, .n = 3, .p = "col"}};
	struct expr_memo *memo;
	struct expr_env env = {.columns = columns, .element = element, .arena = &arena};
	struct value v;

	assert_int_equal(expr_memo_new(&memo), 0);
	env.memo = memo;
	v = expr_eval(&env, e);
	expr_memo_free(memo);
	assert_int_equal(env.failed, 0);
	if (v.type == V_UNKNOWN)
		return "unknown";
	return arena_printf(&arena, "%.*s", SLICE_ARG(value_format(&arena, v)));
}

static void expressions_give_what_the_language_says(void **state)
{
	const struct plan_expr *a = attr(ATTR_SPAN, "a"), *none = attr(ATTR_SPAN, "none"),
			       *u = attr(ATTR_SPAN, "u"), *x = attr(ATTR_EVENT, "x"),
			       *y = attr(ATTR_EVENT, "y");
	const struct plan_expr *list =
		tree((struct plan_expr){.kind = X_LIST}, i(1), s("two"), nil());
	const struct {
		const struct plan_expr *e;
		const char *text;
	} rows[] = {
		{op(XO_EQ, a, i(1)), "true"},
		{op(XO_EQ, none, i(1)), "nil"},
		{op(XO_NE, none, i(1)), "nil"},
		{op(XO_EQ, none, nil()), "true"},
		{op(XO_NE, none, nil()), "false"},
		{op(XO_NE, a, nil()), "true"},
		{op(XO_OR, op(XO_NE, none, i(1)), op(XO_EQ, none, nil())), "true"},
		{op(XO_NOT, op(XO_EQ, none, i(1)), NULL), "nil"},
		{op(XO_AND, b(false), u), "false"},
		{op(XO_AND, u, b(false)), "false"},
		{op(XO_AND, b(true), u), "unknown"},
		{op(XO_OR, u, b(true)), "true"},
		{op(XO_EQ, u, nil()), "unknown"},
		{op(XO_ADD, u, i(1)), "unknown"},
		{op(XO_EQ, x, i(2)), "true"},
		{op(XO_EQ, i(2), x), "true"},
		{op(XO_EQ, x, i(3)), "false"},
		{op(XO_LT, i(1), x), "true"},
		{op(XO_LT, i(2), x), "false"},
		{op(XO_EQ, y, i(3)), "nil"},
		{op(XO_EQ, y, nil()), "true"},
		{op(XO_NE, x, nil()), "true"},
		{op(XO_MATCH, s("GET /x"), s("GET.*")), "true"},
		{op(XO_MATCH, s("xGET"), s("GET")), "false"},
		{op(XO_NOT_MATCH, s("xGET"), s("GET")), "true"},
		{op(XO_NOT_MATCH, none, s("GET")), "nil"},
		{op(XO_MATCH, i(404), s("4..")), "true"},
		{op(XO_IN, i(1), list), "true"},
		{op(XO_IN, s("two"), list), "true"},
		{op(XO_IN, s("three"), list), "nil"},
		{op(XO_IN, none, list), "nil"},
		{op(XO_INDEX, list, i(1)), "two"},
		{op(XO_INDEX, list, i(7)), "nil"},
		{op(XO_NEG, i(5), NULL), "-5"},
		{op(XO_DIV, i(2049), i(1024)), "2"},
		{op(XO_POW, i(2), f(0.5)), "1.414213562"},
		{tree((struct plan_expr){.kind = X_COLUMN}, NULL, NULL, NULL), "col"},
		{call(CALL_IF, op(XO_EQ, a, i(1)), s("yes"), s("no")), "yes"},
		{call(CALL_IF, none, s("yes"), s("no")), "no"},
		{call(CALL_DEFAULT, none, s("d"), NULL), "d"},
		{call(CALL_DEFAULT, a, u, NULL), "1"},
		{call(CALL_ABS, i(-3), NULL, NULL), "3"},
		{call(CALL_FLOOR, f(-1.5), NULL, NULL), "-2"},
		{call(CALL_CEIL, f(1.2), NULL, NULL), "2"},
		{call(CALL_ROUND, f(2.5), NULL, NULL), "3"},
		{call(CALL_LOG2, i(8), NULL, NULL), "3"},
		{call(CALL_LENGTH, s("four"), NULL, NULL), "4"},
		{call(CALL_LENGTH, list, NULL, NULL), "3"},
		{call(CALL_LOWER, s("AbC\xc3\x84"), NULL, NULL), "abc\xc3\x84"},
		{call(CALL_UPPER, s("abc"), NULL, NULL), "ABC"},
		{call(CALL_CONTAINS, s("abc"), s("bc"), NULL), "true"},
		{call(CALL_CONTAINS, list, i(1), NULL), "true"},
		{call(CALL_STARTS_WITH, s("abc"), s("ab"), NULL), "true"},
		{call(CALL_ENDS_WITH, s("abc"), s("ab"), NULL), "false"},
		{call(CALL_CONCAT, s("a"), i(1), s("b")), "a1b"},
		{call(CALL_CONCAT, s("a"), none, NULL), "nil"},
		{call(CALL_SUBSTRING, s("abcdef"), i(2), i(3)), "cde"},
		{call(CALL_SUBSTRING, s("abc"), i(9), NULL), ""},
		{call(CALL_REPLACE, s("a-b-c"), s("-"), s("::")), "a::b::c"},
		{call(CALL_REPLACE, s("abc"), s("x"), s("y")), "abc"},
		{call(CALL_TO_INT, s("12"), NULL, NULL), "12"},
		{call(CALL_TO_INT, s("1.9"), NULL, NULL), "1"},
		{call(CALL_TO_INT, s("x"), NULL, NULL), "nil"},
		{call(CALL_TO_FLOAT, s("1.5"), NULL, NULL), "1.5"},
		{call(CALL_TO_STRING, i(5), NULL, NULL), "5"},
		{call(CALL_LEAST, i(3), f(2.5), nil()), "2.5"},
		{call(CALL_GREATEST, i(3), f(2.5), nil()), "3"},
		{call(CALL_CONCAT, u, s("x"), NULL), "unknown"},
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
		assert_string_equal(told(rows[k].e), rows[k].text);
	arena_done(&arena);
}

static void a_moving_average_moves(void **state)
{
	static const double means[] = {2, 3, 4};
	const struct plan_expr *column =
		tree((struct plan_expr){.kind = X_COLUMN}, NULL, NULL, NULL);
	const struct plan_expr *e = call(CALL_MOVING_AVERAGE, column, NULL, NULL);
	struct expr_memo *memo;
	struct expr_env env = {.element = element, .arena = &arena};

	(void)state;
	assert_int_equal(expr_memo_new(&memo), 0);
	env.memo = memo;
	for (size_t k = 0; k < ARRAY_SIZE(means); k++) {
		struct value v = value_int(2 + 2 * (int64_t)k);

		env.columns = &v;
		assert_true(expr_eval(&env, e).f == means[k]);
	}
	expr_memo_free(memo);
	arena_done(&arena);
}

static void patterns_of_data_may_be_none(void **state)
{
	struct expr_memo *memo;
	struct expr_env env = {.element = element, .arena = &arena};

	(void)state;
	assert_int_equal(expr_memo_new(&memo), 0);
	env.memo = memo;
	assert_true(value_is_nil(expr_eval(&env, op(XO_MATCH, s("x"), s("(")))));
	assert_int_equal(env.failed, -EINVAL);
	env.failed = 0;
	/* More patterns than are kept. */
	for (int k = 0; k < 200; k++) {
		const char *text = arena_printf(&arena, "p%d", k % 100);

		assert_true(value_is_true(expr_eval(&env, op(XO_MATCH, s(text), s(text)))));
	}
	assert_int_equal(env.failed, 0);
	expr_memo_free(memo);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_give_what_the_language_says),
		cmocka_unit_test(a_moving_average_moves),
		cmocka_unit_test(patterns_of_data_may_be_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
