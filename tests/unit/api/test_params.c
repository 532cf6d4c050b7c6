/* What a search asks for, from the query of its URL. */
#include "t.h"

#include <errno.h>

#include "api/params.h"
#include "core/clock.h"

#define NOW (1700000000 * NS_PER_S)

static int parse(const char *query, struct params *params, struct http_request *req,
		 struct error *error)
{
	*req = (struct http_request){.query = slice_cstr(query)};
	return params_parse(req, NOW, params, error);
}

static void everything_can_be_asked(void **state)
{
	struct http_request req;
	struct params p;
	struct error e;

	assert_int_equal(
		parse("service=a%20b&operation=GET+%2F&tag=k%3Dv%3Dw&tags=x=&minDuration=1.5s&"
		      "maxDuration=2m&start=-1h&end=2023-11-14T22:13:20Z&errors=true&limit=7&"
		      "cursor=5-7-0102&order=slowest&format=otlp",
		      &p, &req, &e),
		0);
	assert_text(p.query.service, "a b");
	assert_text(p.query.operation, "GET /");
	assert_int_equal(p.query.tag_n, 2);
	assert_text(p.query.tags[0].key, "k");
	assert_text(p.query.tags[0].value, "v=w");
	assert_text(p.query.tags[1].value, "");
	assert_int_equal(p.query.min_duration_ns, 1500 * NS_PER_MS);
	assert_int_equal(p.query.max_duration_ns, 120 * NS_PER_S);
	assert_int_equal(p.query.from_ns, NOW - 3600 * NS_PER_S);
	assert_int_equal(p.query.to_ns, NOW);
	assert_true(p.query.errors);
	assert_int_equal(p.query.limit, 7);
	assert_true(p.query.after);
	assert_int_equal(p.query.after_start_ns, 5);
	assert_int_equal(p.query.after_duration_ns, 7);
	assert_int_equal(p.query.order, STORE_SLOWEST);
	assert_int_equal(p.query.after_id.b[15], 2);
	assert_text(p.format, "otlp");
	assert_true(p.filtered);
	arena_done(&req.arena);
}

static void nothing_asked_is_no_filter(void **state)
{
	struct http_request req;
	struct params p;
	struct error e;

	assert_int_equal(parse("limit=3&format=events", &p, &req, &e), 0);
	assert_false(p.filtered);
	assert_int_equal(parse("", &p, &req, &e), 0);
	assert_int_equal(p.query.limit, 0);
	arena_done(&req.arena);
}

static void mistakes_name_the_parameter(void **state)
{
	static const char *const rows[][2] = {
		{"servce=x", "there is no parameter 'servce'; did you mean service?"},
		{"zebra=x", "there is no parameter 'zebra'"},
		{"tag=novalue", "tag: 'novalue' is not key=value"},
		{"tag==v", "tag: '=v' is not key=value"},
		{"minDuration=5", "minDuration: '5' is not a duration such as 1.5s or 200ms"},
		{"maxDuration=-1s", "maxDuration: '-1s' is not a duration such as 1.5s or 200ms"},
		{"limit=0", "limit: '0' is not a number from 1 to 10000"},
		{"limit=10001", "limit: '10001' is not a number from 1 to 10000"},
		{"errors=maybe", "errors: 'maybe' is neither true nor false"},
		{"cursor=x", "cursor: 'x' is not one that an answer's \"next\" gave"},
		{"order=oldest", "order: 'oldest' is neither newest nor slowest"},
		{"cursor=1-0102", "cursor: '1-0102' is not one that an answer's \"next\" gave"},
		{"cursor=1-", "cursor: '1-' is not one that an answer's \"next\" gave"},
		{"service=%zz", "the query is not percent-encoded as it should be"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_request req;
		struct params p;
		struct error e = {0};

		assert_int_equal(parse(rows[i][0], &p, &req, &e), -EINVAL);
		assert_string_equal(e.text, rows[i][1]);
		arena_done(&req.arena);
	}
}

static void too_many_tags_are_refused(void **state)
{
	char query[PARAMS_MAX_TAGS * 8 + 16] = "";
	struct http_request req;
	struct params p;
	struct error e = {0};

	for (int i = 0; i <= PARAMS_MAX_TAGS; i++)
		strcat(query, "tag=a=b&");
	assert_int_equal(parse(query, &p, &req, &e), -EINVAL);
	arena_done(&req.arena);
}

static void a_cursor_reads_back(void **state)
{
	struct trace_summary row = {.start_ns = 42, .duration_ns = 9, .id = {{1, 2, 3}}};
	char text[CURSOR_TEXT_BYTES], query[96] = "cursor=";
	struct http_request req;
	struct params p;
	struct error e;

	cursor_format(&row, text);
	strcat(query, text);
	assert_int_equal(parse(query, &p, &req, &e), 0);
	assert_int_equal(p.query.after_start_ns, 42);
	assert_int_equal(p.query.after_duration_ns, 9);
	assert_true(trace_id_eq(p.query.after_id, row.id));
	arena_done(&req.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_can_be_asked),
		cmocka_unit_test(nothing_asked_is_no_filter),
		cmocka_unit_test(mistakes_name_the_parameter),
		cmocka_unit_test(too_many_tags_are_refused),
		cmocka_unit_test(a_cursor_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
