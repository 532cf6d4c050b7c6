#include "t.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

static void commas_stand_where_they_must(void **state)
{
	struct buffer b = {0};
	struct json_writer w = json_write(&b);

	json_begin_object(&w);
	json_put_name(&w, "empty");
	json_begin_array(&w);
	json_end_array(&w);
	json_put_name(&w, "list");
	json_begin_array(&w);
	json_put_i64(&w, INT64_MIN);
	json_put_u64(&w, UINT64_MAX);
	json_begin_object(&w);
	json_end_object(&w);
	json_begin_object(&w);
	json_put_key(&w, SLICE("a\"b"));
	json_put_null(&w);
	json_end_object(&w);
	json_put_bool(&w, true);
	json_put_bool(&w, false);
	json_end_array(&w);
	json_put_name(&w, "text");
	json_put_cstr(&w, "x");
	json_put_name(&w, "signed");
	json_put_i64_text(&w, -12);
	json_put_name(&w, "unsigned");
	json_put_u64_text(&w, 0);
	json_put_name(&w, "hex");
	json_put_hex(&w, "\x00\xff", 2);
	json_put_name(&w, "raw");
	json_put_json(&w, SLICE("[1]"));
	json_end_object(&w);
	assert_text(buffer_get(&b),
		    "{\"empty\":[],\"list\":[-9223372036854775808,18446744073709551615,{},"
		    "{\"a\\\"b\":null},true,false],\"text\":\"x\",\"signed\":\"-12\",\"unsigned\":"
		    "\"0\",\"hex\":\"00ff\",\"raw\":[1]}");
	buffer_done(&b);
}

static void strings_are_escaped(void **state)
{
	static const struct {
		struct slice text;
		const char *json;
	} rows[] = {
		{{"", 0}, "\"\""},
		{{"a\"\\/b", 5}, "\"a\\\"\\\\/b\""},
		{{"\b\f\n\r\t\0\x1f\x7f", 8}, "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		{{"\xc3\xa4\xf0\x9f\x98\x80", 6}, "\"\xc3\xa4\xf0\x9f\x98\x80\""},
		{{"a\xff"
		  "b",
		  3},
		 "\"a\xef\xbf\xbd"
		 "b\""},
		{{"\xe2\x82", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buffer b = {0};
		struct json_writer w = json_write(&b);

		json_put_string(&w, rows[i].text);
		assert_text(buffer_get(&b), rows[i].json);
		buffer_done(&b);
	}
}

static void doubles_are_short(void **state)
{
	static const struct {
		double value;
		const char *json;
	} rows[] = {
		{0.0, "0"},
		{-0.0, "-0.0"},
		{5, "5"},
		{-3, "-3"},
		{0.1, "0.1"},
		{0.1 + 0.2, "0.30000000000000004"},
		{1.0 / 3, "0.3333333333333333"},
		{1e15, "1e+15"},
		{1e100, "1e+100"},
		{5e-324, "4.94065645841247e-324"},
		{1.7976931348623157e308, "1.7976931348623157e+308"},
		{(double)NAN, "\"NaN\""},
		{HUGE_VAL, "\"Infinity\""},
		{-HUGE_VAL, "\"-Infinity\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buffer b = {0};
		struct json_writer w = json_write(&b);

		json_put_double(&w, rows[i].value);
		assert_text(buffer_get(&b), rows[i].json);
		buffer_done(&b);
	}
}

static void every_double_reads_back_the_same(void **state)
{
	struct buffer b = {0};
	uint64_t bits = 88172645463325252ULL;

	for (int i = 0; i < 20000; i++) {
		struct json_writer w = json_write(&b);
		struct json_reader r;
		double value, again;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&value, &bits, sizeof(value));
		if (isnan(value))
			continue;
		buffer_clear(&b);
		json_put_double(&w, value);
		r = json_open(buffer_get(&b));
		assert_true(json_double(&r, &again));
		assert_memory_equal(&value, &again, sizeof(value));
	}
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_where_they_must),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(doubles_are_short),
		cmocka_unit_test(every_double_reads_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
