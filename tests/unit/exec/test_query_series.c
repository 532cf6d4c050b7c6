/* tests/unit/exec/test_query_series.c - numbers over time: each function, over columns and over
 * traces, on four spans in three steps of a millisecond. */
#include "query_t.h"

/* Steps 0, 1, 2 have 2, 1, 1 spans; `b` is called by `a`. */
static const char traces[] = "span 1 1 0 shop@a a 0 100000 n=1\n"
			     "span 1 2 1 shop@a b 500000 600000 n=2\n"
			     "span 2 1 0 shop@b a 1200000 1700000 n=3\n"
			     "span 2 2 1 disk@c b 2500000 2600000 n=5\n";

#define STEP0 "0 | "
#define STEP1 "1000000 | "
#define STEP2 "2000000 | "

static const struct {
	const char *text, *want;
} rows[] = {
	{"{ } | count_over_time()", STEP0 "2\n" STEP1 "1\n" STEP2 "1\n"},
	{"{ } | rate()", STEP0 "2000\n" STEP1 "1000\n" STEP2 "1000\n"},
	{"{ } | count_over_time() by(name)", STEP0 "a | 1\n" STEP0 "b | 1\n" STEP1 "a | 1\n" STEP1
						   "b | 0\n" STEP2 "a | 0\n" STEP2 "b | 1\n"},
	{"{ } | max_over_time(span.n)", STEP0 "2\n" STEP1 "3\n" STEP2 "5\n"},
	{"{ } | sum_over_time(span.n) by(name)",
	 STEP0 "a | 1\n" STEP0 "b | 2\n" STEP1 "a | 3\n" STEP2 "b | 5\n"},
	{"{ } | avg_over_time(duration)", STEP0 "100us\n" STEP1 "500us\n" STEP2 "100us\n"},
	{"{ } | min_over_time(duration) by(resource.service.name)",
	 STEP0 "shop | 100us\n" STEP1 "shop | 500us\n" STEP2 "disk | 100us\n"},
	{"{ } | quantile_over_time(span.n, 1)", STEP0 "2\n" STEP1 "3\n" STEP2 "5\n"},
	{"{ } | histogram_over_time(span.n)",
	 STEP0 "[[2, 1], [4, 1]]\n" STEP1 "[[4, 1]]\n" STEP2 "[[8, 1]]\n"},
	{"{ } | sum_over_time(span.n) by(name) | topk(1)",
	 STEP0 "b | 2\n" STEP1 "a | 3\n" STEP2 "b | 5\n"},
	{"{ } | sum_over_time(span.n) by(name) | bottomk(1)",
	 STEP0 "a | 1\n" STEP1 "a | 3\n" STEP2 "b | 5\n"},
	/* Over whole traces. */
	{"{ name = \"a\" } > { } | count_over_time()", STEP0 "1\n" STEP1 "0\n" STEP2 "1\n"},
};

static void each_function_gives_its_series(void **state)
{
	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct query_t q;

		query_t_open(&q, traces, flush);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			for (unsigned off = 0; off <= RULE_COLUMNS; off += RULE_COLUMNS) {
				struct query_text t = {0};
				int r = query_t_run(&q, rows[i].text, off, 2, &t);
				const char *lines = strchr(buffer_cstr(&t.out), '\n');

				if (r < 0)
					fail_msg("%s\n%d: %s\n%s", rows[i].text, r, t.error.text,
						 buffer_cstr(&t.out));
				if (!lines || strcmp(lines + 1, rows[i].want) != 0)
					fail_msg("%s, rules off %u\ngave\n%s", rows[i].text, off,
						 buffer_cstr(&t.out));
				query_text_done(&t);
			}
		query_t_close(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_gives_its_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
