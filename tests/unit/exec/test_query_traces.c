/* What takes whole traces: features, trace functions, files, warnings, and limits. */
#include "query_t.h"

/* A page load: a browser asks a server, and a resource comes back. */
static const char page[] = "unit 1 100 0 Browser@C Client\n"
			   "unit 1 200 0 Server@S Server\n"
			   "begin 1 1 0 Browser@C load 100 0 1\n"
			   "at 1 1 100 start 0 2\n"
			   "begin 1 2 0 Server@S handle 200 100 1\n"
			   "end 1 2 200 400 2\n"
			   "at 1 1 100 paint 500 3\n"
			   "at 1 1 100 done 900 4 marker=display_done\n"
			   "end 1 1 100 1000 5\n"
			   "edge 1 1 2 request 50 100\n"
			   "edge 1 2 1 resource 400 700 resource=css bytes=1234\n"
			   "counter 1 2 Server@S queries 300 7\n";

/* A client that calls two servers, one after the other. */
static const char calls[] = "span 1 1 0 web@A page 0 100\n"
			    "span 1 2 1 web@A call 10 30\n"
			    "span 1 3 2 auth@B check 15 25\n"
			    "span 1 4 1 web@A call 40 90\n"
			    "span 1 5 4 db@D query 45 85 table=t\n"
			    "point 1 5 db@D lock 50\n";

static const struct {
	const char *traces, *text, *want;
} rows[] = {
	/* Canopy, figure 8, (a) to (f) */
	{page,
	 "Begin = ExecUnits | Filter(name=\"Client\") | Points | First\n"
	 "DisplayDone = ExecUnits | Filter(name=\"Client\") | Points | "
	 "Filter(marker=\"display_done\") | First\n"
	 "DisplayDone | Timestamp | Subtract(Begin | Timestamp) | RecordAs(\"display_done\")\n"
	 "ResourceEdges = CriticalPath(Begin->DisplayDone) | Edges | Filter(type=\"resource\")\n"
	 "ResourceEdges | Duration | Sum | RecordAs(\"res_load\")\n"
	 "ResourceEdges | Filter(resource=\"css\") | Counter(bytes) | Sum | "
	 "RecordAs(\"css_bytes\")",
	 "trace_id | display_done\n01000000000000000000000000000001 | 900ns\n--\n"
	 "trace_id | res_load\n01000000000000000000000000000001 | 300ns\n--\n"
	 "trace_id | css_bytes\n01000000000000000000000000000001 | 1234\n"},
	{page, "From e In edges Select e.type, e.duration",
	 "type | duration\nrequest | 50ns\nresource | 300ns\n"},
	{page, "From p In points Select p.name, p.time",
	 "name | time\ndone | 900\npaint | 500\nstart | 0\n"},
	{page, "From c In counters Select c.name, c.value", "name | value\nqueries | 7\n"},
	{page, "From u In units Select u.name, u.host", "name | host\nClient | C\nServer | S\n"},
	{page, "From a In points Join b In points On b -> a Where a.name == \"done\" Select b.name",
	 "name\npaint\nstart\n"},
	/* Own time: what no child covers.  Slack: all of it is on the way to the end, but what auth
	 * and the first call do could not be later either. */
	{calls, "From s In spans Select s.name, SelfTime(s), Slack(s)",
	 "name | SelfTime(s) | Slack(s)\ncall | 10ns | 0ns\ncall | 10ns | 0ns\n"
	 "check | 10ns | 0ns\npage | 30ns | 0ns\nquery | 40ns | 0ns\n"},
	/* 100 without the 40 of the query; with half of the 20 of the first call. */
	{calls,
	 "From t In traces Select t.duration, WhatIf(Without({ name = \"query\" })) As a, "
	 "WhatIf(Scale({ name = \"check\" }, 0.5)) As b, WhatIf(Scale({}, 2)) As c",
	 "duration | a | b | c\n100ns | 60ns | 95ns | 200ns\n"},
	{calls, "CriticalPath() | Duration | Sum",
	 "trace_id | value\n01000000000000000000000000000001 | 100ns\n"},
	{calls, "Sequence [a In { name = \"check\" }] [b In { name = \"query\" }]",
	 "a | b\n01000000000000000000000000000001/0000000000000003 | "
	 "01000000000000000000000000000001/0000000000000005\n"},
	{calls,
	 "Sequence [a In { name = \"page\" }] ![x In { name = \"check\" }] [b In { name = "
	 "\"query\" }]",
	 "a | b\n"},
	{calls, "Sequence Within 20ns [a In { name = \"check\" }] [b In { name = \"query\" }]",
	 "a | b\n"},
	{calls,
	 "From e In { name = \"page\" } Join x In First({ name = \"call\" }) On e -> x "
	 "Select x.start",
	 "start\n10\n"},
	{calls, "{ name = \"page\" } >> { name = \"query\" } | select(span.table) | count() = 1",
	 NULL},
};

static void whole_traces_answer_as_worked_out_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int flush = 0; flush < 2; flush++) {
			struct query_text t = {0};
			struct query_t q;
			int r;

			query_t_open(&q, rows[i].traces, flush);
			r = query_t_run(&q, rows[i].text, 0, 2, &t);
			if (r < 0 ||
			    (rows[i].want && strcmp(buffer_cstr(&t.out), rows[i].want) != 0))
				fail_msg("%s\n%d %s gave\n%s\nwanted\n%s", rows[i].text, r,
					 t.error.text, buffer_cstr(&t.out), rows[i].want);
			query_text_done(&t);
			query_t_close(&q);
		}
}

static void answers_that_leaned_on_a_clock_say_so(void **state)
{
	static const struct {
		const char *traces, *text;
		bool clock;
	} cases[] = {
		{calls,
		 "From b In { name = \"query\" } Join a In { name = \"check\" } On a -> b "
		 "Select a.name",
		 true},
		{calls,
		 "From b In { name = \"query\" } Join a In { name = \"page\" } On a -> b "
		 "Select a.name",
		 false},
		{page, "From a In points Join b In points On b -> a Select b.name", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct query_text t = {0};
		struct query_t q;

		query_t_open(&q, cases[i].traces, true);
		assert_int_equal(query_t_run(&q, cases[i].text, 0, 1, &t), 0);
		assert_true(t.stats.rows_out > 0);
		assert_int_equal(t.stats.warning_n, cases[i].clock);
		if (cases[i].clock)
			assert_int_equal(t.stats.warnings[0].code, DIAG_CLOCK_RULE);
		query_text_done(&t);
		query_t_close(&q);
	}
}

static void a_file_is_a_source(void **state)
{
	struct query_text t = {0};
	struct query_t q;
	char path[128];
	FILE *f;

	(void)state;
	query_t_open(&q, calls, true);
	snprintf(path, sizeof(path), "%s/errors.csv", q.folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f,
		"trace_id,\"why, exactly\",n\n01000000000000000000000000000001,\"a \"\"b\"\"\",7\n"
		"ff,other,\n");
	fclose(f);
	assert_int_equal(
		query_t_run(&q,
			    "From f In csv(\"errors.csv\") Join s In spans On f.trace_id "
			    "== s.trace_id Where s.name == \"page\" Select f.n + 1, s.name",
			    0, 1, &t),
		0);
	assert_non_null(strstr(buffer_cstr(&t.out), "8 | page\n"));
	query_text_done(&t);
	t = (struct query_text){0};
	assert_int_equal(
		query_t_run(&q, "From f In csv(\"errors.csv\") Select f.nothing", 0, 1, &t),
		-EINVAL);
	assert_non_null(strstr(t.error.text, "no column named nothing"));
	query_text_done(&t);
	query_t_close(&q);
}

static int stop_at_once(void *context, const struct value *values, const double *plus_minus,
			size_t n)
{
	(void)context;
	(void)values;
	(void)plus_minus;
	(void)n;
	return -EPIPE;
}

/* Runs a text with other limits; what query_run() said. */
static int run_with(struct query_t *q, const char *text, struct query_run run, struct error *error)
{
	struct query_prepare prepare = {.text = slice_cstr(text)};
	struct arena arena = {0};
	struct diags diags;
	struct query *query = NULL;
	struct snapshot snapshot;
	struct query_text sink = {0};
	int r;

	diags_init(&diags, &arena);
	assert_int_equal(query_prepare(&prepare, &diags, &query), 0);
	assert_int_equal(store_snapshot(q->store, &snapshot), 0);
	run.snapshot = &snapshot;
	if (!run.row)
		run.row = query_t_one;
	run.begin = query_t_begin;
	run.context = &sink;
	r = query_run(query, &run, NULL, error);
	query_text_done(&sink);
	snapshot_done(&snapshot);
	query_free(query);
	arena_done(&arena);
	return r;
}

static void limits_are_kept_and_explained(void **state)
{
	struct buffer many = {0};
	struct query_t q;
	struct error error = {0};
	_Atomic bool cancel = true;

	(void)state;
	for (int i = 1; i <= 400; i++)
		for (int k = 1; k <= 20; k++)
			buffer_printf(&many, "span %d %d %d s@h name%d %d %d\n", i, k, k > 1,
				      i * 20 + k, k, k + 5);
	query_t_open(&q, buffer_cstr(&many), true);
	assert_int_equal(run_with(&q,
				  "From s In spans Join b In spans On b -> s Select s.name, b.name",
				  (struct query_run){.memory_bytes = 300000}, &error),
			 -ENOSPC);
	assert_true(strlen(error.text) > 20);
	assert_int_equal(run_with(&q, "From s In spans Join b In spans On b -> s Select s.name",
				  (struct query_run){.cancel = &cancel}, &error),
			 -ECANCELED);
	assert_int_equal(run_with(&q, "From s In spans Select s.name",
				  (struct query_run){.row = stop_at_once}, &error),
			 -EPIPE);
	assert_int_equal(run_with(&q, "From f In csv(\"/etc/passwd\") Select f.x",
				  (struct query_run){0}, &error),
			 -EPERM);
	query_t_close(&q);
	buffer_done(&many);
}

struct shown {
	size_t rows[5]; /* by trace */
	unsigned traces;
	int result;
};

static int show(void *context, struct trace_id id, const struct event_ref *refs, size_t n)
{
	struct shown *shown = context;

	assert_true(id.b[15] < 5);
	assert_int_equal(shown->rows[id.b[15]], 0);
	for (size_t i = 0; i < n; i++)
		assert_true(trace_id_eq(event_get(refs[i])->trace_id, id));
	shown->rows[id.b[15]] = n;
	shown->traces++;
	return shown->result;
}

static int ignore_begin(void *context, size_t result, struct slice name,
			const struct query_column *columns, size_t n)
{
	return 0;
}

static int ignore_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	return 0;
}

static int run_shown(struct query_t *q, struct query_run run, struct shown *shown)
{
	struct query_prepare prepare = {.text = SLICE("{ name = \"b\" }")};
	struct arena arena = {0};
	struct diags diags;
	struct query *query = NULL;
	struct query_stats stats;
	struct error error;
	struct snapshot snapshot;
	int r;

	diags_init(&diags, &arena);
	assert_int_equal(query_prepare(&prepare, &diags, &query), 0);
	assert_int_equal(store_snapshot(q->store, &snapshot), 0);
	run.snapshot = &snapshot;
	run.begin = ignore_begin;
	run.row = ignore_row;
	run.trace = show;
	run.context = shown;
	run.now_ns = (int64_t)QUERY_T0 + 1000000000;
	r = query_run(query, &run, &stats, &error);
	snapshot_done(&snapshot);
	query_free(query);
	arena_done(&arena);
	return r;
}

/* Whether they answer or not; and only for those who look at few, one after the other. */
static void traces_looked_at_by_name_are_shown_with_all_their_rows(void **state)
{
	const struct trace_id ids[] = {trace_of(1), trace_of(3), trace_of(4)};
	const struct query_run few = {.only = ids, .only_n = ARRAY_SIZE(ids), .threads = 1};

	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct shown shown = {0}, stopped = {.result = -EXDEV}, all = {0};
		struct query_t q;

		query_t_open(&q,
			     "span 1 1 0 s@h a 0 9\nspan 1 2 1 s@h b 1 2\nspan 1 3 1 t@h b 3 4\n"
			     "span 2 1 0 s@h b 0 9\n"
			     "span 3 1 0 s@h a 0 9\nspan 3 2 1 s@h a 1 2\n",
			     flush);
		assert_int_equal(run_shown(&q, few, &shown), 0);
		assert_int_equal(shown.traces, 2);
		assert_int_equal(shown.rows[1], 3);
		assert_int_equal(shown.rows[3], 2);
		assert_int_equal(run_shown(&q, few, &stopped), -EXDEV);
		assert_int_equal(stopped.traces, 1);
		assert_int_equal(run_shown(&q, (struct query_run){.threads = 1}, &all), 0);
		assert_int_equal(all.traces, 0);
		query_t_close(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_traces_answer_as_worked_out_by_hand),
		cmocka_unit_test(answers_that_leaned_on_a_clock_say_so),
		cmocka_unit_test(a_file_is_a_source),
		cmocka_unit_test(limits_are_kept_and_explained),
		cmocka_unit_test(traces_looked_at_by_name_are_shown_with_all_their_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
