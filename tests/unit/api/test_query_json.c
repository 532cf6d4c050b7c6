/* Results of queries as JSON, and back. */
#include "t.h"

#include <math.h>

#include "api/query_json.h"

static struct slice text_of(enum plan_type column, struct value v, struct buffer *out)
{
	struct json_writer w = json_write(out);

	buffer_clear(out);
	query_json_value(&w, column, v);
	return buffer_get(out);
}

static void cells_are_plain_where_the_column_says_what_they_are(void **state)
{
	const struct value inside[] = {value_int(1), value_text(SLICE("a")),
				       value_of(V_DURATION, 7)};
	struct value bytes = value_text(SLICE("\x01\xff"));
	const struct {
		enum plan_type column;
		struct value value;
		const char *json;
	} rows[] = {
		{PLAN_STRING, value_text(SLICE("a\"b")), "\"a\\\"b\""},
		{PLAN_ANY, value_text(SLICE("a")), "\"a\""},
		{PLAN_INT, value_text(SLICE("12")), "{\"string\":\"12\"}"},
		{PLAN_INT, value_int(5), "5"},
		{PLAN_INT, value_int(INT64_MAX), "\"9223372036854775807\""},
		{PLAN_ANY, value_int(INT64_MIN), "{\"int\":\"-9223372036854775808\"}"},
		{PLAN_ANY, value_int(5), "5"},
		{PLAN_DURATION, value_of(V_DURATION, 1500), "1500"},
		{PLAN_DURATION, value_int(3), "{\"int\":3}"},
		{PLAN_ANY, value_of(V_DURATION, 1500), "{\"duration\":1500}"},
		{PLAN_TIME, value_of(V_TIME, 1700000000000000001), "\"1700000000000000001\""},
		{PLAN_ANY, value_of(V_TIME, 5), "{\"time\":\"5\"}"},
		{PLAN_FLOAT, value_float(1.5), "1.5"},
		{PLAN_FLOAT, value_float(NAN), "\"NaN\""},
		{PLAN_ANY, value_float(NAN), "{\"float\":\"NaN\"}"},
		{PLAN_BOOL, value_bool(true), "true"},
		{PLAN_INT, value_nil(), "null"},
		{PLAN_STATUS, value_of(V_STATUS, 2), "\"error\""},
		{PLAN_KIND, value_of(V_KIND, 2), "\"server\""},
		{PLAN_ANY, value_of(V_KIND, 2), "{\"kind\":\"server\"}"},
		{PLAN_LIST, value_list(inside, 3), "[1,\"a\",{\"duration\":7}]"},
		{PLAN_ANY, value_list(inside, 0), "[]"},
		{PLAN_ANY, (bytes.type = V_BYTES, bytes), "{\"bytes\":\"Af8=\"}"},
	};
	struct buffer out = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice json = text_of(rows[i].column, rows[i].value, &out);
		struct json_reader r = json_open(json);
		struct arena arena = {0};
		struct value back = {0};

		assert_slice_equal(json, slice_cstr(rows[i].json));
		assert_true(query_json_read_value(&r, rows[i].column, &arena, &back));
		assert_int_equal(json_finish(&r, NULL), 0);
		assert_int_equal(back.type, rows[i].value.type);
		assert_int_equal(value_order(back, rows[i].value), 0);
		arena_done(&arena);
	}
	buffer_done(&out);
}

static void rows_columns_and_statistics_come_back(void **state)
{
	const struct query_column columns[] = {
		{.name = SLICE("service"), .type = PLAN_STRING},
		{.name = SLICE("n"), .type = PLAN_INT},
		{.name = SLICE("time"), .type = PLAN_TIME, .series = true}};
	const struct value values[] = {value_text(SLICE("cart")), value_int(4),
				       value_of(V_TIME, 9)};
	const double estimate[] = {0, 2.5, 0};
	bool is_estimate = false;
	struct query_stats stats = {.traces = 1,
				    .rows = 2,
				    .segments = 3,
				    .segments_total = 4,
				    .rows_out = 5,
				    .estimated = true,
				    .warning_n = 1,
				    .warnings = {{DIAG_CLOCK_RULE, "by the \"clock\""}}},
			   back = {0};
	struct query_column *read = NULL;
	struct value got[3];
	double plus_minus[3];
	struct buffer out = {0};
	struct arena arena = {0};
	struct json_writer w = json_write(&out);
	struct json_reader r;
	size_t n = 0;

	query_json_columns(&w, columns, 3);
	r = json_open(buffer_get(&out));
	assert_true(query_json_read_columns(&r, &arena, &read, &n));
	assert_int_equal(n, 3);
	assert_slice_equal(read[0].name, SLICE("service"));
	assert_true(read[1].type == PLAN_INT && read[2].series && !read[1].series);

	buffer_clear(&out);
	w = json_write(&out);
	query_json_row(&w, columns, values, NULL, 3);
	assert_slice_equal(buffer_get(&out), SLICE("[\"cart\",4,\"9\"]"));
	r = json_open(buffer_get(&out));
	assert_true(query_json_read_row(&r, read, 3, &arena, got, plus_minus, &is_estimate));
	assert_int_equal(got[1].i, 4);
	assert_false(is_estimate);

	buffer_clear(&out);
	w = json_write(&out);
	query_json_row(&w, columns, values, estimate, 3);
	assert_slice_equal(buffer_get(&out),
			   SLICE("[\"cart\",{\"value\":4,\"plusMinus\":2.5},\"9\"]"));
	r = json_open(buffer_get(&out));
	assert_true(query_json_read_row(&r, read, 3, &arena, got, plus_minus, &is_estimate));
	assert_true(is_estimate && plus_minus[0] == 0 && plus_minus[1] == 2.5 && got[1].i == 4);

	buffer_clear(&out);
	w = json_write(&out);
	query_json_stats(&w, &stats, 77);
	r = json_open(buffer_get(&out));
	assert_true(query_json_read_stats(&r, &back));
	assert_true(back.traces == 1 && back.rows == 2 && back.segments == 3 &&
		    back.segments_total == 4 && back.rows_out == 5 && back.estimated);
	assert_int_equal(back.warning_n, 1);
	assert_string_equal(back.warnings[0].text, "by the \"clock\"");
	assert_int_equal(back.warnings[0].code, DIAG_CLOCK_RULE);
	buffer_done(&out);
	arena_done(&arena);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const rows[] = {"[1]",
					   "[1,2,3]",
					   "{}",
					   "[1,{}]",
					   "[1,{\"x\":1}]",
					   "[1,{\"int\":1,\"int\":2}]",
					   "[1,[2]",
					   "[1,{\"kind\":\"x\"}]",
					   "[1,{\"bytes\":\"?\"}]"};
	const struct query_column columns[] = {{.type = PLAN_INT}, {.type = PLAN_ANY}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_reader r = json_open(slice_cstr(rows[i]));
		struct arena arena = {0};
		struct value got[2];
		double plus_minus[2];
		bool estimate;

		assert_false(
			query_json_read_row(&r, columns, 2, &arena, got, plus_minus, &estimate));
		arena_done(&arena);
	}
}

static void diagnostics_say_where(void **state)
{
	static const char text[] = "From x\nIn spanz";
	struct arena arena = {0};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct diags diags;

	diags_init(&diags, &arena);
	diag_add(&diags, DIAG_UNKNOWN_SOURCE, 10, 15, "there is no %s", "spanz");
	diag_fix(&diags, 10, 15, SLICE("spans"));
	query_json_diags(&w, &diags, slice_cstr(text));
	assert_non_null(strstr(buffer_cstr(&out),
			       "\"severity\":\"error\",\"begin\":10,\"end\":15,\"line\":2,"
			       "\"column\":4,\"message\":\"there is no spanz\","
			       "\"fix\":{\"begin\":10,\"end\":15,\"text\":\"spans\"}"));
	buffer_done(&out);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_plain_where_the_column_says_what_they_are),
		cmocka_unit_test(rows_columns_and_statistics_come_back),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(diagnostics_say_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
