/* tests/unit/exec/test_query_compare.c - compare finds what slow spans have in common, says how
 * likely that is by chance, and ranks it first. */
#include "query_t.h"

#define TRACES 60

/* Of 60 traces every third is slow: those of version 2, on any host, each with an id of its own. */
static void write_traces(struct buffer *out)
{
	for (unsigned i = 1; i <= TRACES; i++) {
		bool slow = i % 3 == 0;

		buffer_printf(out, "span %u 1 0 shop@h%u serve 0 %u version=%u id=x%u coin=%u\n", i,
			      i % 4, slow ? 9000 : 100, slow || i % 30 == 1 ? 2 : 1, i, i % 2);
	}
}

static const char *line_of(const struct query_text *t, const char *start)
{
	const char *at = strstr(buffer_cstr((struct buffer *)&t->out), start);

	if (!at)
		fail_msg("no line with '%s' in\n%s", start, buffer_cstr((struct buffer *)&t->out));
	return at;
}

static void what_explains_the_difference_is_found(void **state)
{
	static const char *const texts[] = {
		"compare({ duration > 1us }, { duration <= 1us })",
		"{ } | compare({ duration > 1us })",
	};
	struct buffer traces = {0};

	(void)state;
	write_traces(&traces);
	for (int flush = 0; flush < 2; flush++) {
		struct query_t q;

		query_t_open(&q, buffer_cstr(&traces), flush);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			struct query_text t = {0};
			int r = query_t_run(&q, texts[i], 0, 2, &t);
			double selected, rest, difference, p;

			if (r < 0)
				fail_msg("%s\n%d: %s\n%s", texts[i], r, t.error.text,
					 buffer_cstr(&t.out));
			/* 20 slow ones, all of version 2; of 40 others 2 are. */
			assert_int_equal(sscanf(line_of(&t, "span.version | 2 | "),
						"span.version | 2 | %lf | %lf | %lf | %lf",
						&selected, &rest, &difference, &p),
					 4);
			assert_true(selected == 1 && rest > 0.049 && rest < 0.051);
			assert_true(difference > 0.94 && p < 1e-6);
			/* A coin tells nothing. */
			assert_int_equal(sscanf(line_of(&t, "span.coin | 1 | "),
						"span.coin | 1 | %lf | %lf | %lf | %lf", &selected,
						&rest, &difference, &p),
					 4);
			assert_true(p > 0.9);
			/* Ids are all different, which is no difference. */
			line_of(&t, "span.id | ");
			query_text_done(&t);
		}
		query_t_close(&q);
	}
	buffer_done(&traces);
}

/* More rows than a group has: who is below whom is known of the whole trace alone. */
static void a_trace_over_several_groups_is_one(void **state)
{
	const char *text =
		"compare({ name = \"root\" } >> { name = \"leaf\" }, { name = \"leaf\" })";
	struct buffer traces = {0};
	struct query_text t = {0};
	struct query_t q;
	double selected, rest;

	(void)state;
	buffer_printf(&traces, "span 1 1 0 shop@h1 root 0 9000\n");
	for (unsigned i = 0; i < 20000; i++)
		buffer_printf(&traces, "span 1 %u 1 shop@h1 leaf 1 2 late=%u\n", i + 2, i >= 18000);
	buffer_printf(&traces, "span 2 1 0 shop@h1 leaf 0 1 late=0\n");
	query_t_open(&q, buffer_cstr(&traces), true);
	if (query_t_run(&q, text, 0, 2, &t) < 0)
		fail_msg("%s\n%s", t.error.text, buffer_cstr(&t.out));
	assert_int_equal(sscanf(line_of(&t, "span.late | 1 | "), "span.late | 1 | %lf | %lf",
				&selected, &rest),
			 2);
	assert_true(selected == 0.1 && rest == 0);
	query_text_done(&t);
	query_t_close(&q);
	buffer_done(&traces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_explains_the_difference_is_found),
		cmocka_unit_test(a_trace_over_several_groups_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
