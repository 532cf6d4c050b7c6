#include "trace_text.h"

#include <math.h>

#include "base/rng.h"
#include "infer/spread.h"

static void calls_that_overlap_stand_by_name(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_read(&t, "1.0 CALL A B 1\n1.1 CALL B D 2\n1.2 CALL B C 3\n1.3 RET C B 3\n"
		       "1.4 RET D B 2\n1.5 RET B A 1\n"
		       "2.0 CALL A B 4\n2.1 CALL B C 5\n2.2 CALL B D 6\n2.3 RET C B 5\n"
		       "2.4 RET D B 6\n2.5 RET B A 4\n"
		       /* one after the other: another pattern */
		       "3.0 CALL A B 7\n3.1 CALL B D 8\n3.2 RET D B 8\n3.3 CALL B C 9\n"
		       "3.4 RET C B 9\n3.5 RET B A 7\n");
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.patterns.n, 2);
	assert_int_equal(trace_pattern(&t, "A>B(C,D)")->count, 2);
	assert_int_equal(trace_pattern(&t, "A>B(D,C)")->count, 1);
	trace_done(&t);
}

static void time_is_told_apart_by_where_it_went(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	const struct pattern *p;
	struct trace_text t;
	double own;

	/* A link that takes 10 ms each way between A and B, none elsewhere. */
	trace_read(&t, "1.000 CALL_SENT A B 1\n1.010 CALL_RECV A B 1\n"
		       "1.030 CALL_SENT B C 2\n1.030 CALL_RECV B C 2\n"
		       "1.080 RET_SENT C B 2\n1.080 RET_RECV C B 2\n"
		       "1.085 RET_SENT B A 1\n1.095 RET_RECV B A 1\n");
	trace_link(&t, &nesting_mode, &options);
	p = trace_pattern(&t, "A>B(C)");
	assert_non_null(p);
	assert_true(p->hops[0].latency.sum == 95e6);
	assert_true(p->hops[0].wire.sum == 20e6);
	assert_true(p->hops[0].own.sum == 25e6);
	assert_true(p->hops[0].tail.sum == 5e6);
	assert_true(p->hops[1].gap.sum == 20e6);
	assert_true(p->hops[1].wire.sum == 0);
	assert_int_equal(pattern_costliest(p, &own), 1);
	assert_true(own == 50e6);
	trace_done(&t);
}

static void tables_with_other_numbers_are_compared_by_name(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text a, b;

	trace_read(&a, "1 CALL A B 1\n2 CALL B C 2\n3 RET C B 2\n4 RET B A 1\n");
	trace_read(&b, "0 CALL X Y 9\n1 CALL A B 1\n2 CALL B C 2\n3 RET C B 2\n4 RET B A 1\n"
		       "5 RET Y X 9\n");
	trace_link(&a, &nesting_mode, &options);
	trace_link(&b, &nesting_mode, &options);
	assert_ptr_equal(patterns_find(&b.patterns, &a.patterns, &a.patterns.at[0]),
			 trace_pattern(&b, "A>B(C)"));
	assert_null(patterns_find(&a.patterns, &b.patterns, trace_pattern(&b, "X>Y")));
	trace_done(&a);
	trace_done(&b);
}

static void a_path_of_many_calls_is_cut_and_says_so(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct buffer text = {0};
	struct trace_text t;

	buffer_text(&text, "1 CALL A B 0\n");
	for (int i = 1; i <= 3000; i++)
		buffer_printf(&text, "%d CALL B C %d\n%d RET C B %d\n", 1 + i, i, 1 + i, i);
	buffer_text(&text, "4000 RET B A 0\n");
	trace_read(&t, buffer_cstr(&text));
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.patterns.n, 1);
	assert_int_equal(t.patterns.at[0].hop_n, PATTERN_MAX_HOPS);
	assert_int_equal(t.patterns.at[0].cut_hops, 3001 - PATTERN_MAX_HOPS);
	assert_int_equal(t.patterns.calls, 3001);
	buffer_done(&text);
	trace_done(&t);
}

static void the_heaviest_pattern_comes_first(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;
	uint32_t *rank;

	trace_read(&t, "1 CALL A B 1\n1.1 RET B A 1\n2 CALL A B 2\n2.1 RET B A 2\n"
		       "3 CALL A C 3\n9 RET C A 3\n");
	trace_link(&t, &nesting_mode, &options);
	rank = patterns_rank(&t.patterns, PATTERNS_BY_COUNT);
	assert_ptr_equal(&t.patterns.at[rank[0]], trace_pattern(&t, "A>B"));
	free(rank);
	rank = patterns_rank(&t.patterns, PATTERNS_BY_LATENCY);
	assert_ptr_equal(&t.patterns.at[rank[0]], trace_pattern(&t, "A>C"));
	free(rank);
	trace_done(&t);
}

static int order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_are_right_to_a_twentieth(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 4, 15, 16, 17, 1000};
	struct rng rng = {17};

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		int64_t values[1000];
		struct spread s = {0};

		for (size_t i = 0; i < sizes[k]; i++) {
			values[i] = 1000 + (int64_t)rng_below(&rng, 1000000000);
			assert_int_equal(spread_add(&s, values[i]), 0);
		}
		qsort(values, sizes[k], sizeof(*values), order);
		for (int q = 5; q <= 100; q += 5) {
			size_t rank = (size_t)ceil(q / 100.0 * (double)sizes[k]);
			double expected = (double)values[rank ? rank - 1 : 0];

			assert_true(fabs(spread_quantile(&s, q / 100.0) - expected) <=
				    0.05 * expected);
		}
		spread_done(&s);
	}
}

static void like_nodes_are_one(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct patterns merged;
	struct names names;
	struct trace_text t;

	trace_make(&t,
		   "duration 2000s\nthink constant 500ms\n"
		   "tracelet page: C -> WS1|WS2 { AUTH { DB }; AP1|AP2|AP3 { DB } }\n"
		   "tracelet login think constant 5s: C -> WS1|WS2 { AUTH { DB } }\n",
		   NULL);
	trace_link(&t, &nesting_mode, &options);
	assert_true(t.patterns.n >= 8);
	assert_int_equal(patterns_alike(&t.patterns, &merged, &names), 0);
	assert_int_equal(merged.paths, t.patterns.paths);
	{
		struct trace_text view = {.nodes = names, .patterns = merged};
		const struct pattern *page =
			trace_pattern(&view, "C>WS1|WS2(AUTH(DB),AP1|AP2|AP3(DB))");

		assert_non_null(page);
		assert_true(page->count > t.patterns.paths / 2);
		assert_true(spread_quantile(&page->hops[0].latency, 0.5) > 140e6);
		assert_int_equal(page->hops[0].latency.n, page->count);
		assert_non_null(trace_pattern(&view, "C>WS1|WS2(AUTH(DB))"));
	}
	patterns_done(&merged);
	names_done(&names);
	trace_done(&t);
}

static void only_the_last_of_parallel_calls_is_critical(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	const struct pattern *p;
	struct trace_text t;
	double ns[4];

	trace_read(&t, "1.00 CALL A B 1\n1.01 CALL B C 2\n1.01 CALL B D 3\n1.03 RET C B 2\n"
		       "1.06 RET D B 3\n1.07 RET B A 1\n");
	trace_link(&t, &nesting_mode, &options);
	p = trace_pattern(&t, "A>B(C,D)");
	assert_non_null(p);
	pattern_critical(p, ns);
	assert_true(fabs(ns[0] - 20e6) < 1);
	assert_true(ns[1] == 0);
	assert_true(fabs(ns[2] - 50e6) < 1);
	trace_done(&t);
}

static void the_one_in_ten_thousand_is_named(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct buffer text = {0};
	const struct pattern *p;
	struct trace_text t;
	double excess;

	for (int i = 0; i < 10000; i++) {
		double slow = i == 7777 ? 3 : 0;

		buffer_printf(&text,
			      "%d.000 CALL A B x%d\n%d.010 CALL B C y%d\n%.3f RET C B y%d\n"
			      "%.3f RET B A x%d\n",
			      5 * i, i, 5 * i, i, 5 * i + 0.020 + slow, i, 5 * i + 0.025 + slow, i);
	}
	trace_read(&t, buffer_cstr(&text));
	trace_link(&t, &nesting_mode, &options);
	p = trace_pattern(&t, "A>B(C)");
	assert_non_null(p);
	assert_int_equal(pattern_outlier(p, &excess), 1);
	assert_true(fabs(excess - 3e9) < 1e7);
	assert_int_equal(p->slowest_id, message_id_of_text(SLICE("x7777")));
	buffer_done(&text);
	trace_done(&t);
}

static void a_full_table_lets_go_of_what_takes_least_time(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct buffer text = {0};
	struct trace_text t;
	uint64_t kept = 0;

	/* A frequent pattern, a rare slow one, and a hundred quick ones that are met once. */
	for (int i = 0; i < 200; i++)
		buffer_printf(&text, "%d.0 CALL A B a%d\n%d.1 RET B A a%d\n", i, i, i, i);
	buffer_printf(&text, "300 CALL A SLOW s\n350 RET SLOW A s\n");
	for (int i = 0; i < 100; i++)
		buffer_printf(&text, "%d.0 CALL A N%d n%d\n%d.001 RET N%d A n%d\n", 400 + i, i, i,
			      400 + i, i, i);
	buffer_byte(&text, 0);
	trace_read(&t, (const char *)text.p);
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.patterns.n, 102);
	assert_int_equal(patterns_bound(&t.patterns, 1 << 20), 0);
	assert_int_equal(t.patterns.n, 102);

	assert_int_equal(patterns_bound(&t.patterns, 40000), 0);
	assert_int_equal(t.patterns.paths, 301);
	for (size_t i = 0; i < t.patterns.n; i++)
		kept += t.patterns.at[i].count;
	assert_true(t.patterns.n < 50);
	assert_int_equal(kept + t.patterns.rare_paths, 301);
	assert_int_equal(t.patterns.rare_most, 1);
	assert_int_equal(trace_pattern(&t, "A>B")->count, 200);
	assert_true(trace_pattern(&t, "A>B")->hops[0].latency.n == 200);
	assert_int_equal(trace_pattern(&t, "A>SLOW")->count, 1);
	trace_done(&t);
	buffer_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_table_lets_go_of_what_takes_least_time),
		cmocka_unit_test(calls_that_overlap_stand_by_name),
		cmocka_unit_test(time_is_told_apart_by_where_it_went),
		cmocka_unit_test(tables_with_other_numbers_are_compared_by_name),
		cmocka_unit_test(a_path_of_many_calls_is_cut_and_says_so),
		cmocka_unit_test(the_heaviest_pattern_comes_first),
		cmocka_unit_test(quantiles_are_right_to_a_twentieth),
		cmocka_unit_test(like_nodes_are_one),
		cmocka_unit_test(only_the_last_of_parallel_calls_is_critical),
		cmocka_unit_test(the_one_in_ten_thousand_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
