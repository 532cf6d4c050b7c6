/* Every allocation of preparing, explaining and running fails once: each time -ENOMEM is the
 * answer, and nothing is lost (the sanitizers watch). */
#include "query_t.h"

#include "no_memory.h"

static const char traces[] = "span 1 1 0 web@A page 0 100\n"
			     "span 1 2 1 web@A call 10 30 l=[u,v]\n"
			     "span 1 3 2 auth@B check 15 25 x=1\n"
			     "span 1 4 1 web@A call 40 90\n"
			     "span 1 5 4 db@D query 45 85 x=2\n"
			     "point 1 5 db@D lock 50\n"
			     "link 1 5 3\n"
			     "span 2 1 0 web@A page 0 100\n"
			     "span 2 2 1 db@D query 10 90 x=5\n";

static const char *const texts[] = {
	"From q In { name = \"query\" } Join p In First({ name = \"page\" }) On p -> q Left Join c In "
	"{ name = \"call\" } On c -> q Where q.x > 0 GroupBy p.name, c.l Select p.name, c.l, COUNT, "
	"SUM(q.x) OrderBy p.name Limit 3",
	"{ name = \"page\" } >> { span.x > 0 } | by(resource.service.name) | count() > 0",
	"Sequence By trace_id [a In { name = \"check\" }] ![x In { name = \"none\" }] [b In { name = "
	"\"query\" }]",
	"From t In traces Select t.pattern, WhatIf(Without({ name = \"query\" })), t.services",
	"From a In spans Join b In spans On a.x == b.x Select Distinct a.name Union From s In spans "
	"Select s.host",
	"CriticalPath() | Blocks | Duration | Sum | RecordAs(\"d\")",
	"From s In spans Select Slack(s), SelfTime(s), s.name",
};

static int begin(void *context, size_t result, struct slice name,
		 const struct query_column *columns, size_t n)
{
	(void)context;
	(void)result;
	(void)name;
	(void)columns;
	(void)n;
	return 0;
}

static int row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	(void)values;
	(void)plus_minus;
	(void)n;
	++*(size_t *)context;
	return 0;
}

static int scenario(const struct snapshot *snapshot, const char *text, size_t *rows)
{
	_cleanup_(arena_done)
	struct arena arena = {0};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	_cleanup_(query_freep)
	struct query *q = NULL;
	struct query_prepare prepare = {.text = slice_cstr(text)};
	struct query_run run = {
		.snapshot = snapshot, .begin = begin, .row = row, .context = rows, .threads = 1};
	struct error error;
	struct diags diags;
	int r;

	*rows = 0;
	diags_init(&diags, &arena);
	r = query_prepare(&prepare, &diags, &q);
	if (r == 0)
		r = query_explain(q, false, &out);
	if (r == 0)
		r = query_explain(q, true, &out);
	return r == 0 ? query_run(q, &run, NULL, &error) : r;
}

static void every_failure_is_answered_and_nothing_leaks(void **state)
{
	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct query_t q;
		struct snapshot snapshot;

		query_t_open(&q, traces, flush);
		assert_int_equal(store_snapshot(q.store, &snapshot), 0);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			size_t want, rows;
			int r;

			assert_int_equal(scenario(&snapshot, texts[i], &want), 0);
			assert_true(want > 0);
			r = -ENOMEM;
			for (long allowed = 0; r != 0; allowed++) {
				no_memory_after = allowed;
				r = scenario(&snapshot, texts[i], &rows);
				no_memory_after = -1;
				if (r != 0 && r != -ENOMEM)
					fail_msg("%s\n%ld: %d", texts[i], allowed, r);
				assert_true(allowed < 10000);
			}
			assert_int_equal(rows, want);
		}
		snapshot_done(&snapshot);
		query_t_close(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failure_is_answered_and_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
