/* exec/value.h: order, comparison with what is missing, arithmetic, text. */
#include "t.h"

#include <math.h>

#include "exec/value.h"

#define TEXT(s) value_text(SLICE(s))

static void order_is_by_magnitude_across_numbers(void **state)
{
	const struct value rising[] = {
		value_nil(),
		value_float(NAN),
		value_float(-INFINITY),
		value_int(INT64_MIN),
		value_float(-1.5),
		value_int(-1),
		value_float(0.5),
		value_int(1),
		value_int((1LL << 53) + 1),
		value_float(0x1p53 + 2),
		value_int(INT64_MAX),
		value_float(0x1p63),
		value_float(INFINITY),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rising); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rising); k++)
			assert_int_equal(value_order(rising[i], rising[k]), (i > k) - (i < k));
	assert_true(value_same(value_int(3), value_float(3)));
	assert_true(value_hash(value_int(3), 7) == value_hash(value_float(3), 7));
	assert_true(value_hash(value_of(V_DURATION, 3), 7) == value_hash(value_int(3), 7));
	assert_true(value_same(value_float(0.0), value_float(-0.0)));
	assert_true(value_hash(value_float(0.0), 1) == value_hash(value_float(-0.0), 1));
	assert_false(value_same(TEXT("3"), value_int(3)));
}

/* 1 true, 0 false, -1 nil */
static int told(struct value v)
{
	return v.type == V_BOOL ? v.b : -1;
}

static void comparisons_with_what_is_missing_cannot_be_told(void **state)
{
	static const struct {
		enum value_relation relation;
		struct value a, b;
		int told;
	} rows[] = {
		{VALUE_EQ, {.type = V_NIL}, {.type = V_INT, .i = 1}, -1},
		{VALUE_NE, {.type = V_NIL}, {.type = V_INT, .i = 1}, -1},
		{VALUE_LT, {.type = V_INT, .i = 1}, {.type = V_NIL}, -1},
		{VALUE_EQ, {.type = V_INT, .i = 1}, {.type = V_FLOAT, .f = 1}, 1},
		{VALUE_GE, {.type = V_DURATION, .i = 2}, {.type = V_INT, .i = 2}, 1},
		{VALUE_EQ, {.type = V_STRING, .n = 5, .p = "error"}, {.type = V_STATUS, .i = 2}, 1},
		{VALUE_EQ, {.type = V_STRING, .n = 2, .p = "ok"}, {.type = V_STATUS, .i = 2}, 0},
		{VALUE_NE, {.type = V_KIND, .i = 2}, {.type = V_STRING, .n = 6, .p = "server"}, 0},
		{VALUE_EQ, {.type = V_STRING, .n = 4, .p = "true"}, {.type = V_BOOL, .bits = 1}, 1},
		{VALUE_EQ, {.type = V_STRING, .n = 1, .p = "1"}, {.type = V_INT, .i = 1}, 0},
		{VALUE_NE, {.type = V_STRING, .n = 1, .p = "1"}, {.type = V_INT, .i = 1}, 1},
		{VALUE_LT, {.type = V_STRING, .n = 1, .p = "1"}, {.type = V_INT, .i = 1}, -1},
		{VALUE_LT,
		 {.type = V_STRING, .n = 1, .p = "a"},
		 {.type = V_STRING, .n = 1, .p = "b"},
		 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(told(value_compare(rows[i].relation, rows[i].a, rows[i].b)),
				 rows[i].told);
	assert_int_equal(told(value_compare(VALUE_LT, value_float(NAN), value_int(1))), 0);
	assert_int_equal(told(value_compare(VALUE_NE, value_float(NAN), value_int(1))), 1);
}

static void logic_is_kleenes(void **state)
{
	static const int values[] = {0, -1, 1};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 3; k++) {
			struct value a = values[i] < 0 ? value_nil() : value_bool(values[i]);
			struct value b = values[k] < 0 ? value_nil() : value_bool(values[k]);

			/* In the order false < nil < true, and is the smaller, or the larger. */
			assert_int_equal(told(value_and(a, b)), values[MIN(i, k)]);
			assert_int_equal(told(value_or(a, b)), values[MAX(i, k)]);
			assert_int_equal(told(value_not(a)), values[2 - i]);
		}
}

static void arithmetic_knows_times_and_durations(void **state)
{
	const struct value time = value_of(V_TIME, 7000000000),
			   second = value_of(V_DURATION, 1000000000);
	const struct {
		struct value a;
		enum value_operation op;
		struct value b, result;
	} rows[] = {
		{time, VALUE_DIV, second, value_int(7)},
		{time, VALUE_SUB, time, value_of(V_DURATION, 0)},
		{time, VALUE_ADD, second, value_of(V_TIME, 8000000000)},
		{time, VALUE_ADD, time, value_nil()},
		{time, VALUE_MUL, value_int(2), value_nil()},
		{second, VALUE_MUL, value_float(1.5), value_of(V_DURATION, 1500000000)},
		{value_int(3), VALUE_MUL, second, value_of(V_DURATION, 3000000000)},
		{second, VALUE_DIV, value_int(3), value_of(V_DURATION, 333333333)},
		{second, VALUE_DIV, second, value_int(1)},
		{second, VALUE_ADD, value_int(1), value_nil()},
		{value_int(-7), VALUE_DIV, value_int(2), value_int(-4)},
		{value_int(-7), VALUE_MOD, value_int(2), value_int(1)},
		{value_int(7), VALUE_DIV, value_int(0), value_nil()},
		{value_int(INT64_MAX), VALUE_ADD, value_int(1), value_nil()},
		{value_int(INT64_MIN), VALUE_DIV, value_int(-1), value_nil()},
		{value_int(INT64_MIN), VALUE_MOD, value_int(-1), value_int(0)},
		{value_int(2), VALUE_POW, value_int(10), value_float(1024)},
		{value_float(1), VALUE_DIV, value_int(4), value_float(0.25)},
		{value_nil(), VALUE_ADD, value_int(4), value_nil()},
		{TEXT("a"), VALUE_ADD, value_int(4), value_nil()},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value v = value_arithmetic(rows[i].op, rows[i].a, rows[i].b);

		assert_int_equal(v.type, rows[i].result.type);
		assert_true(value_same(v, rows[i].result));
	}
}

static void values_as_text(void **state)
{
	const struct value inner[] = {value_int(1), TEXT("x")};
	const struct value list[] = {value_list(inner, 2), value_nil()};
	const struct {
		struct value v;
		const char *text;
	} rows[] = {
		{value_nil(), "nil"},
		{value_bool(true), "true"},
		{value_int(-5), "-5"},
		{value_float(0.1), "0.1"},
		{value_of(V_DURATION, 0), "0ns"},
		{value_of(V_DURATION, 1500000000), "1.5s"},
		{value_of(V_DURATION, -250000), "-250us"},
		{value_of(V_DURATION, 7200000000000), "2h"},
		{value_of(V_DURATION, 90000000000), "90s"},
		{value_of(V_TIME, 1), "1970-01-01T00:00:00.000000001Z"},
		{value_of(V_TIME, -1), "1969-12-31T23:59:59.999999999Z"},
		{value_of(V_STATUS, 2), "error"},
		{value_of(V_STATUS, 9), "9"},
		{value_of(V_KIND, 3), "client"},
		{TEXT("text"), "text"},
		{TEXT(""), ""},
		{{.type = V_BYTES, .n = 2, .p = "\x01\xff"}, "01ff"},
		{value_list(list, 2), "[[1, x], nil]"},
	};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_text(value_format(&arena, rows[i].v), rows[i].text);
	arena_done(&arena);
}

static void copies_are_the_callers(void **state)
{
	char text[] = "abc";
	struct value list[] = {value_text(slice_of(text, 3)), value_int(4)}, copy;
	struct arena arena = {0};

	(void)state;
	assert_true(value_dup(&arena, value_list(list, 2), &copy));
	text[0] = 'x';
	list[1] = value_nil();
	assert_int_equal(copy.n, 2);
	assert_text(value_slice(copy.list[0]), "abc");
	assert_int_equal(copy.list[1].i, 4);
	assert_int_equal(value_bytes(copy), 3 + 2 * sizeof(copy));
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_by_magnitude_across_numbers),
		cmocka_unit_test(comparisons_with_what_is_missing_cannot_be_told),
		cmocka_unit_test(logic_is_kleenes),
		cmocka_unit_test(arithmetic_knows_times_and_durations),
		cmocka_unit_test(values_as_text),
		cmocka_unit_test(copies_are_the_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
