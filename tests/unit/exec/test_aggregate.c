/* exec/aggregate.h: each aggregate by hand, and that merging gives what adding gives. */
#include "t.h"

#include <math.h>

#include "base/rng.h"
#include "exec/aggregate.h"

#define TEXT(s) value_text(SLICE(s))
#define MOST    12

static const struct sample plain = {.weight = 1, .trace = 1};

struct row {
	struct aggregate aggregate;
	struct value in[MOST];
	const char *out;
};

static void each_aggregate_by_hand(void **state)
{
	static const struct row rows[] = {
		{{.kind = AGG_COUNT, .of_rows = true},
		 {{.type = V_NIL}, {.type = V_INT, .i = 1}},
		 "12"},
		{{.kind = AGG_COUNT}, {{.type = V_NIL}, {.type = V_INT, .i = 1}}, "1"},
		{{.kind = AGG_SUM}, {{0}}, "nil"},
		{{.kind = AGG_SUM}, {{.type = V_INT, .i = 1}, {.type = V_INT, .i = 2}}, "3"},
		{{.kind = AGG_SUM}, {{.type = V_INT, .i = 1}, {.type = V_FLOAT, .f = 0.5}}, "1.5"},
		{{.kind = AGG_SUM},
		 {{.type = V_DURATION, .i = 500}, {.type = V_DURATION, .i = 700}},
		 "1.2us"},
		{{.kind = AGG_SUM},
		 {{.type = V_INT, .i = INT64_MAX}, {.type = V_INT, .i = INT64_MAX}},
		 "1.844674407e+19"},
		{{.kind = AGG_SUM}, {{.type = V_STRING, .n = 1, .p = "7"}}, "nil"},
		{{.kind = AGG_AVG}, {{.type = V_INT, .i = 1}, {.type = V_INT, .i = 2}}, "1.5"},
		{{.kind = AGG_AVG},
		 {{.type = V_DURATION, .i = 1}, {.type = V_DURATION, .i = 5}},
		 "3ns"},
		{{.kind = AGG_MIN}, {{.type = V_INT, .i = 1}, {.type = V_FLOAT, .f = 0.5}}, "0.5"},
		{{.kind = AGG_MAX},
		 {{.type = V_STRING, .n = 1, .p = "a"}, {.type = V_STRING, .n = 1, .p = "b"}},
		 "b"},
		{{.kind = AGG_MAX}, {{0}}, "nil"},
		{{.kind = AGG_STDDEV},
		 {{.type = V_INT, .i = 2},
		  {.type = V_INT, .i = 4},
		  {.type = V_INT, .i = 4},
		  {.type = V_INT, .i = 4},
		  {.type = V_INT, .i = 5},
		  {.type = V_INT, .i = 5},
		  {.type = V_INT, .i = 7},
		  {.type = V_INT, .i = 9}},
		 "2"},
		{{.kind = AGG_DISTINCT},
		 {{.type = V_INT, .i = 1},
		  {.type = V_FLOAT, .f = 1},
		  {.type = V_STRING, .n = 1, .p = "1"}},
		 "2"},
		{{.kind = AGG_QUANTILE, .q = {0.5}, .q_n = 1},
		 {{.type = V_DURATION, .i = 64}, {.type = V_DURATION, .i = 64}},
		 "64ns"},
		{{.kind = AGG_QUANTILE, .q = {0, 1}, .q_n = 2},
		 {{.type = V_INT, .i = 1}, {.type = V_INT, .i = 3}},
		 "[1, 3]"},
		{{.kind = AGG_HISTOGRAM},
		 {{.type = V_DURATION, .i = 1},
		  {.type = V_DURATION, .i = 5},
		  {.type = V_DURATION, .i = 7},
		  {.type = V_DURATION, .i = 8}},
		 "[[2ns, 1], [8ns, 2], [16ns, 1]]"},
		{{.kind = AGG_HISTOGRAM},
		 {{.type = V_INT, .i = -3}, {.type = V_INT, .i = -4}, {.type = V_INT, .i = 0}},
		 "[[-4, 1], [-2, 1], [0, 1]]"},
		{{.kind = AGG_TOPK, .k = 2},
		 {{.type = V_INT, .i = 1},
		  {.type = V_INT, .i = 2},
		  {.type = V_INT, .i = 2},
		  {.type = V_INT, .i = 3}},
		 "[[2, 2], [1, 1]]"},
		{{.kind = AGG_FIRST},
		 {{.type = V_NIL}, {.type = V_INT, .i = 7}, {.type = V_INT, .i = 8}},
		 "7"},
		{{.kind = AGG_LAST},
		 {{.type = V_NIL}, {.type = V_INT, .i = 7}, {.type = V_INT, .i = 8}},
		 "8"},
		{{.kind = AGG_RATE, .of_rows = true, .seconds = 3}, {{0}}, "4"},
		{{.kind = AGG_RATE, .seconds = 2}, {{.type = V_INT, .i = 7}}, "3.5"},
		{{.kind = AGG_RATE, .of_rows = true}, {{0}}, "1.090909091"},
	};

	(void)state;
	/* Split at every place into two states: the result is the same. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t split = 0; split <= MOST; split++) {
			const struct aggregate *a = &rows[i].aggregate;
			_Alignas(16) char states[2][512] = {0};
			struct arena arena = {0};
			struct estimate e;
			struct value v;

			assert_true(aggregate_bytes(a) <= sizeof(states[0]));
			for (size_t k = 0; k < MOST; k++) {
				struct sample s = plain;

				s.time_ns = (k + 1) * 1000000000;
				assert_int_equal(aggregate_add(a, states[k >= split], &arena,
							       rows[i].in[k], &s),
						 0);
			}
			assert_int_equal(aggregate_merge(a, states[0], &arena, states[1]), 0);
			assert_int_equal(aggregate_result(a, states[0], &arena, &v, &e), 0);
			assert_text(value_format(&arena, v), rows[i].out);
			assert_false(e.estimated);
			aggregate_done(a, states[0]);
			aggregate_done(a, states[1]);
			arena_done(&arena);
		}
}

static void first_does_not_depend_on_the_order_of_rows(void **state)
{
	static const struct aggregate first = {.kind = AGG_FIRST}, last = {.kind = AGG_LAST};
	static const struct {
		uint64_t time, id;
		int64_t value;
	} rows[] = {{5, 2, 10}, {5, 1, 20}, {5, 1, 30}, {9, 1, 40}, {9, 4, 50}, {9, 4, 45}};
	struct arena arena = {0};

	(void)state;
	for (size_t start = 0; start < ARRAY_SIZE(rows); start++) {
		_Alignas(16) char a[64] = {0}, b[64] = {0};

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			size_t k = (start + i) % ARRAY_SIZE(rows);
			struct sample s = {.weight = 1, .time_ns = rows[k].time, .id = rows[k].id};

			assert_int_equal(
				aggregate_add(&first, a, &arena, value_int(rows[k].value), &s), 0);
			assert_int_equal(
				aggregate_add(&last, b, &arena, value_int(rows[k].value), &s), 0);
		}
		assert_int_equal(((struct agg_value *)a)->value.i, 30);
		assert_int_equal(((struct agg_value *)b)->value.i, 50);
	}
	arena_done(&arena);
}

static void the_most_frequent_are_found_among_many(void **state)
{
	static const struct aggregate top = {.kind = AGG_TOPK, .k = 3};
	_Alignas(16) char parts[4][256] = {0};
	struct arena arena = {0};
	struct rng r = {.state = 5};
	struct estimate e;
	struct value v;

	(void)state;
	for (size_t i = 0; i < 60000; i++) {
		/* A third each: 1 (twice as often as 2), 2, and what comes once. */
		int64_t x = i % 3 == 0 ? 1 : i % 6 == 1 ? 2 : 1000 + (int64_t)i;

		assert_int_equal(
			aggregate_add(&top, parts[rng_below(&r, 4)], &arena, value_int(x), &plain),
			0);
	}
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(aggregate_merge(&top, parts[0], &arena, parts[i]), 0);
	assert_int_equal(aggregate_result(&top, parts[0], &arena, &v, &e), 0);
	assert_int_equal(v.n, 3);
	assert_int_equal(v.list[0].list[0].i, 1);
	assert_int_equal(v.list[1].list[0].i, 2);
	assert_true(e.estimated);
	assert_true(20000 - v.list[0].list[1].i <= (int64_t)e.plus_minus);
	assert_true(e.plus_minus <= 60000.0 / (TOPK_COUNTERS / 2.0));
	for (size_t i = 0; i < 4; i++)
		aggregate_done(&top, parts[i]);
	arena_done(&arena);
}

static void a_sketch_of_a_sample_has_an_interval(void **state)
{
	static const struct aggregate median = {.kind = AGG_QUANTILE, .q = {0.5}, .q_n = 1};
	_Alignas(16) char sketch[256] = {0};
	struct arena arena = {0};
	struct rng r = {.state = 6};
	struct estimate e;
	struct value v;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++) {
		struct sample s = {.weight = 10, .trace = i};

		assert_int_equal(aggregate_add(&median, sketch, &arena,
					       value_float(1000 * rng_unit(&r)), &s),
				 0);
	}
	assert_int_equal(aggregate_result(&median, sketch, &arena, &v, &e), 0);
	assert_true(e.estimated && e.plus_minus > 10 && e.plus_minus < 100);
	assert_true(fabs(v.f - 500) < e.plus_minus);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_aggregate_by_hand),
		cmocka_unit_test(first_does_not_depend_on_the_order_of_rows),
		cmocka_unit_test(the_most_frequent_are_found_among_many),
		cmocka_unit_test(a_sketch_of_a_sample_has_an_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
