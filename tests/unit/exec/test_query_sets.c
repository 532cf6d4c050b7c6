/* tests/unit/exec/test_query_sets.c - pipes over spansets that look at whole traces: counts
 * compared with counts, groups, filters behind filters. */
#include "query_t.h"

/* Trace 1: two clients below a server; trace 2: a server by itself; trace 3: three of one name. */
static const char traces[] = "span 1 1 0 shop@a serve 0 900 role=server\n"
			     "span 1 2 1 shop@a get 100 300 role=client\n"
			     "span 1 3 1 shop@a put 400 500 role=client\n"
			     "span 2 1 0 shop@b serve 0 400 role=server\n"
			     "span 3 1 0 disk@c read 0 10\n"
			     "span 3 2 1 disk@c read 1 4\n"
			     "span 3 3 1 disk@c read 5 9\n";

static const struct {
	const char *text, *want;
} rows[] = {
	{"({ .role = \"client\" } | count()) > ({ .role = \"server\" } | count())",
	 "get\nput\nserve\n"},
	{"({ .role = \"client\" } | count()) < ({ .role = \"server\" } | count())", "serve\n"},
	{"({ .role = \"client\" } | sum(duration)) + ({ .role = \"server\" } | max(duration)) > 1us",
	 "get\nput\nserve\n"},
	{"({ .role = \"server\" } | count()) = 1", "serve\nserve\n"},
	{"{ } | by(name) | count() > 2", "read\nread\nread\n"},
	{"{ } | by(name) | coalesce() | count() = 1", "serve\n"},
	{"{ .role != nil } | { .role = \"client\" } | count() | > 1", "get\nput\n"},
	{"{ name = \"read\" } | avg(duration) < 7ns", "read\nread\nread\n"},
	{"From s In { name = \"read\" } Select stddev(s.duration)", "3ns\n"},
};

/* The name of every span, or the only column, sorted. */
static void names_of(const char *text, struct buffer *out)
{
	struct slice rest = slice_cstr(text);
	const char *lines[32];
	size_t sizes[32], n = 0;

	slice_cut(&rest, '\n'); /* names of the columns */
	while (rest.p && rest.n) {
		struct slice line = slice_cut(&rest, '\n');
		struct slice cell = line;

		/* trace_id | span_id | service | name | … */
		for (int i = 0; i < 4 && memmem(line.p, line.n, " | ", 3); i++) {
			const char *bar = memmem(line.p, line.n, " | ", 3);

			cell = slice_first(line, (size_t)(bar - line.p));
			line = slice_from(line, cell.n + 3);
		}
		assert_true(n < ARRAY_SIZE(lines));
		line = cell;
		lines[n] = line.p;
		sizes[n++] = line.n;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (slice_cmp(slice_of(lines[k], sizes[k]), slice_of(lines[i], sizes[i])) <
			    0) {
				const char *line = lines[i];
				size_t size = sizes[i];

				lines[i] = lines[k];
				sizes[i] = sizes[k];
				lines[k] = line;
				sizes[k] = size;
			}
	for (size_t i = 0; i < n; i++) {
		buffer_append(out, lines[i], sizes[i]);
		buffer_byte(out, '\n');
	}
}

static void whole_traces_are_looked_at(void **state)
{
	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct query_t q;

		query_t_open(&q, traces, flush);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct query_text t = {0};
			struct buffer got = {0};
			int r = query_t_run(&q, rows[i].text, 0, 2, &t);

			if (r < 0)
				fail_msg("%s\n%d: %s\n%s", rows[i].text, r, t.error.text,
					 buffer_cstr(&t.out));
			names_of(buffer_cstr(&t.out), &got);
			if (strcmp(buffer_cstr(&got), rows[i].want) != 0)
				fail_msg("%s\ngave\n%s", rows[i].text, buffer_cstr(&t.out));
			buffer_done(&got);
			query_text_done(&t);
		}
		query_t_close(&q);
	}
}

/* Nearly every span has a name of its own, so a segment keeps names in a column, not in shapes. */
#define JOBS 3000

static void names_may_be_as_many_as_spans(void **state)
{
	static const struct {
		const char *text;
		size_t rows;
	} sets[] = {
		{"{ name = \"job-7\" } >> { name = \"step-8\" }", 1},
		{"{ name = \"job-7\" } >> { name = \"step-9\" }", 0},
		{"{ name =~ \"job-1.*\" } > { name =~ \"step-.*7\" } | count() > 0", 111},
		{"{ } !>> { name = \"job-2999\" }", 1},
	};
	struct buffer text = {0};
	struct query_t q;

	(void)state;
	for (unsigned i = 1; i < JOBS; i++)
		buffer_printf(&text,
			      "span %u 1 0 shop@a job-%u %u %u\n"
			      "span %u 2 1 shop@a step-%u %u %u\n",
			      i, i, i, i + 900, i, i + 1, i + 100, i + 300);
	query_t_open(&q, buffer_cstr(&text), true);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct query_text by_columns = {0}, by_rows = {0};

		assert_int_equal(query_t_run(&q, sets[i].text, 0, 2, &by_columns), 0);
		assert_int_equal(query_t_run(&q, sets[i].text, RULES_ALL, 1, &by_rows), 0);
		if (by_columns.stats.rows_out != sets[i].rows)
			fail_msg("%s gave %zu rows", sets[i].text,
				 (size_t)by_columns.stats.rows_out);
		assert_string_equal(buffer_cstr(&by_columns.out), buffer_cstr(&by_rows.out));
		query_text_done(&by_columns);
		query_text_done(&by_rows);
	}
	query_t_close(&q);
	buffer_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_traces_are_looked_at),
		cmocka_unit_test(names_may_be_as_many_as_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
