/* What POST /api/query is asked. */
#include "t.h"

#include <errno.h>

#include "api/query_request.h"

#define NOW INT64_C(1700000000000000000)

static int parse(const char *body, struct query_request *q, struct error *e, struct arena *arena)
{
	struct http_request req = {.body = slice_cstr(body), .arena = *arena};
	int r = query_request_parse(&req, NOW, q, e);

	*arena = req.arena;
	return r;
}

static void every_field_is_read(void **state)
{
	struct arena arena = {0};
	struct query_request q = {0};
	struct error e = {0};

	assert_int_equal(parse("{\"query\":\"{ name = \\\"x\\\" }\",\"dialect\":\"traceql\","
			       "\"limit\":7,\"id\":\"a-1\",\"start\":\"-1h\",\"end\":1700000000,"
			       "\"step\":\"30s\",\"timeout\":\"5s\",\"memory\":\"64MiB\"}",
			       &q, &e, &arena),
			 0);
	assert_slice_equal(q.text, SLICE("{ name = \"x\" }"));
	assert_int_equal(q.dialect, DIALECT_TRACEQL);
	assert_true(q.limit == 7 && q.limited && !q.explain && !q.stream);
	assert_slice_equal(q.id, SLICE("a-1"));
	assert_true(q.range.from_ns == NOW - INT64_C(3600000000000) && q.range.to_ns == NOW);
	assert_true(q.step_ns == INT64_C(30000000000) && q.time_ns == INT64_C(5000000000));
	assert_int_equal(q.memory_bytes, 64 << 20);
	assert_int_equal(parse("{\"query\":\"{}\",\"explain\":true,\"live\":true}", &q, &e, &arena),
			 0);
	assert_true(q.explain && q.live && q.limit == QUERY_LIMIT && !q.limited);
	arena_done(&arena);
}

static void what_makes_no_sense_is_refused_by_name(void **state)
{
	static const struct {
		const char *body, *says;
	} rows[] = {
		{"", "JSON object"},
		{"[]", "JSON object"},
		{"{\"query\":\"{}\"", "not JSON"},
		{"{\"query\":\"{}\"} x", "not JSON"},
		{"{\"query\":5}", "query is a text"},
		{"{}", "either a query or the cursor"},
		{"{\"query\":\"{}\",\"cursor\":\"a.1\"}", "either a query or the cursor"},
		{"{\"cursor\":\"a.1\",\"explain\":true}", "a cursor leads to a page"},
		{"{\"query\":\"{}\",\"limt\":5}", "did you mean limit?"},
		{"{\"query\":\"{}\",\"limit\":0}", "limit is a number above 0"},
		{"{\"query\":\"{}\",\"limit\":1000000}", "at most 100000"},
		{"{\"query\":\"{}\",\"dialect\":\"sql\"}", "dialect is"},
		{"{\"query\":\"{}\",\"id\":\"a b\"}", "id is"},
		{"{\"query\":\"{}\",\"start\":\"soon\"}", "start is a moment"},
		{"{\"query\":\"{}\",\"start\":\"now\",\"end\":\"-1h\"}", "start lies behind end"},
		{"{\"query\":\"{}\",\"step\":\"5\"}", "step is a duration"},
		{"{\"query\":\"{}\",\"timeout\":\"-5s\"}", "timeout is a duration"},
		{"{\"query\":\"{}\",\"memory\":\"lots\"}", "memory is a size"},
		{"{\"query\":\"{}\",\"explain\":1}", "explain is true or false"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena = {0};
		struct query_request q;
		struct error e = {0};

		assert_int_equal(parse(rows[i].body, &q, &e, &arena), -EINVAL);
		if (!strstr(e.text, rows[i].says))
			fail_msg("'%s' for %s", e.text, rows[i].body);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_read),
		cmocka_unit_test(what_makes_no_sense_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
