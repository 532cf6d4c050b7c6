/* What the store is asked before a question of TraceQL is put to traces: never more than a trace
 * must have. */
#include "api/tempo_narrow.h"

#include "exec/query.h"
#include "t.h"

struct row {
	const char *text;
	const char *service, *operation;
	const char *tags; /* "key=value …" */
	bool errors;
	int64_t min_ns, max_ns;           /* of the trace */
	int64_t span_min_ns, span_max_ns; /* of the span */
	bool pieces;                      /* some spans came as begins and ends */
};

static const struct row rows[] = {
	{.text = "{}"},
	{.text = "{ resource.service.name = \"a\" }", .service = "a"},
	{.text = "{ \"a\" = resource.service.name && name = \"b\" }",
	 .service = "a",
	 .operation = "b"},
	{.text = "{ span.k = \"v\" && .n = 5 && span.b = true }", .tags = "k=v n=5 b=true"},
	/* A span may have the key, too, with another value. */
	{.text = "{ resource.k = \"v\" }"},
	{.text = "{ span.n = 1000000000000000001 }"},
	{.text = "{ span.f = 1.5 && event.k = \"v\" && link.k = \"v\" && parent.k = \"v\" }"},
	{.text = "{ span.k != \"v\" && span.n > 5 && span.k =~ \"v\" && span.e = \"\" }"},
	{.text = "{ span.k = \"v\" || span.k = \"w\" }"},
	{.text = "{ !(span.k = \"v\") }"},
	{.text = "{ status = error }", .errors = true},
	{.text = "{ status = ok }"},
	{.text = "{ duration > 5ns && 7ns <= traceDuration && duration < 100ns }",
	 .min_ns = 7,
	 .span_min_ns = 5,
	 .span_max_ns = 100},
	{.text = "{ 9ns >= duration && duration = 4ns }",
	 .min_ns = 4,
	 .span_min_ns = 4,
	 .span_max_ns = 4},
	{.text = "{ traceDuration < 50ns && traceDuration <= 40ns }", .max_ns = 40},
	/* Of several spans the one of which more is known. */
	{.text = "{ name = \"a\" } >> { span.k = \"v\" }", .tags = "k=v"},
	{.text = "{ span.k = \"v\" && name = \"b\" } && { name = \"a\" }",
	 .operation = "b",
	 .tags = "k=v"},
	{.text = "{ span.k = \"v\" } !>> { name = \"a\" }", .operation = "a"},
	{.text = "{ span.k = \"v\" } &>> { name = \"a\" }", .tags = "k=v"},
	{.text = "{ name = \"a\" } || { name = \"b\" }"},
	{.text = "{ name = \"a\" } | { span.k = \"v\" }", .tags = "k=v"},
	{.text = "{ name = \"a\" } | count() > 2", .operation = "a"},
	{.text = "{ name = \"a\" } | by(span.k) | count() > 2", .operation = "a"},
	/* What is in a piece is not in every row. */
	{.text = "{ span.k = \"v\" && name = \"a\" && status = error && duration > 5ns }",
	 .errors = true,
	 .min_ns = 5,
	 .pieces = true},
};

static void check_text(const char *wanted, struct slice got)
{
	assert_int_equal(wanted ? strlen(wanted) : 0, got.n);
	if (wanted)
		assert_memory_equal(wanted, got.p, got.n);
}

static void no_more_is_asked_than_a_trace_must_have(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		struct query_prepare prepare = {.text = slice_cstr(row->text),
						.dialect = DIALECT_TRACEQL,
						.check = {.now_ns = 1}};
		struct arena arena = {0};
		struct buffer tags = {0};
		struct query *query = NULL;
		struct tempo_narrow narrow;
		struct diags diags;

		diags_init(&diags, &arena);
		assert_int_equal(query_prepare(&prepare, &diags, &query), 0);
		tempo_narrow(&narrow, query_plan(query, 0)->root->spanset.set, !row->pieces);
		for (size_t k = 0; k < narrow.query.tag_n; k++)
			buffer_printf(&tags, "%s%.*s=%.*s", k ? " " : "",
				      SLICE_ARG(narrow.query.tags[k].key),
				      SLICE_ARG(narrow.query.tags[k].value));
		check_text(row->service, narrow.query.service);
		check_text(row->operation, narrow.query.operation);
		check_text(row->tags, buffer_get(&tags));
		assert_int_equal(narrow.query.errors, row->errors);
		assert_int_equal(narrow.query.min_duration_ns, row->min_ns);
		assert_int_equal(narrow.query.max_duration_ns, row->max_ns);
		assert_int_equal(narrow.query.span_min_ns, row->span_min_ns);
		assert_int_equal(narrow.query.span_max_ns, row->span_max_ns);
		buffer_done(&tags);
		query_free(query);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_is_asked_than_a_trace_must_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
