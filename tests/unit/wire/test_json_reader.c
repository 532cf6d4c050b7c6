#include "t.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>

#include "wire/json_reader.h"

/* Skips the whole text; the offset of what is wrong, or -1. */
static long bad_at(struct slice text)
{
	struct json_reader r = json_open(text);
	struct error e = {.offset = 0};

	json_skip(&r);
	if (json_finish(&r, &e) == 0)
		return -1;
	assert_int_equal(e.code, -EBADMSG);
	assert_true(e.offset <= text.n);
	return (long)e.offset;
}

static void valid_texts_are_accepted(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		" [ ] ",
		"null",
		"true",
		"false",
		"0",
		"-0",
		"-0.5e-3",
		"1E+9",
		"\"\"",
		"[1,2,[3,{\"a\":[]}],\"x\"]",
		"{\"a\":{\"b\":{\"c\":null}},\"d\":[true,false]}",
		"\t\r\n{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }\n",
		"\"\\u00e4\\ud83d\\ude00\\n\\/\"",
		"\"a string of some length that takes more than one block of sixteen\"",
		"\xef\xbb\xbf[\"byte order mark\"]",
		"[\n                                        1\n]",
		"\"\xc3\xa4\xf0\x9f\x98\x80\"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(bad_at(slice_cstr(texts[i])), -1);
}

static void wrong_texts_are_refused_where_they_are_wrong(void **state)
{
	static const struct {
		const char *text;
		long offset;
	} rows[] = {
		{"", 0},
		{"   ", 3},
		{"{", 1},
		{"[1,", 3},
		{"[1,]", 3},
		{"[,1]", 1},
		{"[1 2]", 3},
		{"{,}", 1},
		{"{\"a\":1,}", 7},
		{"{\"a\"}", 4},
		{"{\"a\":}", 5},
		{"{\"a\" 1}", 5},
		{"{a:1}", 1},
		{"{'a':1}", 1},
		{"{\"a\":1]", 6},
		{"[1}", 2},
		{"01", 0},
		{"-", 0},
		{"1.", 0},
		{".5", 0},
		{"+1", 0},
		{"1e", 0},
		{"1e+", 0},
		{"tru", 0},
		{"truex", 4},
		{"nul", 0},
		{"NaN", 0},
		{"Infinity", 0},
		{"[] []", 3},
		{"\"abc", 0},
		{"\"a\\x\"", 2},
		{"\"a\\u12g4\"", 2},
		{"\"a\\u12\"", 2},
		{"\"a\\", 2},
		{"\"tab\there\"", 4},
		{"\"123456789012345678\n\"", 19},
		{"\"\xff\"", 1},
		{"\"12345678901234567890\xc0\x80\"", 21},
		{"\"\xed\xa0\x80\"", 1},
		{"/* no */ 1", 0},
		{"\xef\xbb\xbf", 3},
		{"\xef\xbb", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		long offset = bad_at(slice_cstr(rows[i].text));

		if (offset != rows[i].offset)
			fail_msg("%s: wrong at %ld, not at %ld", rows[i].text, rows[i].offset,
				 offset);
	}
}

static void nesting_has_a_limit(void **state)
{
	char text[2 * (JSON_DEPTH_MAX + 1)];

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_int_equal(bad_at(slice_of(text, (size_t)2 * JSON_DEPTH_MAX)), -1);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	assert_int_equal(bad_at(slice_of(text, sizeof(text))), JSON_DEPTH_MAX);
}

static void a_text_cut_anywhere_is_refused_without_reading_past_it(void **state)
{
	static const char text[] = "{\"key\":[1,-2.5e3,\"a \\u00e4 string of more than sixteen "
				   "bytes \xc3\xa4\",true,false,null,{\"x\":{}}]}";
	const size_t page = 4096, n = sizeof(text) - 1;
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	for (size_t cut = 0; cut <= n; cut++) {
		char *at = pages + page - cut;

		memcpy(at, text, cut);
		assert_int_equal(bad_at(slice_of(at, cut)) == -1, cut == n);
	}
	munmap(pages, 2 * page);
}

static void strings_are_found_at_every_length_and_place(void **state)
{
	char text[80];

	for (size_t n = 0; n < 60; n++) {
		struct json_reader r;
		struct json_string s;

		memset(text, 'x', sizeof(text));
		text[0] = text[n + 1] = '"';
		r = json_open(slice_of(text, n + 2));
		assert_true(json_string(&r, &s));
		assert_int_equal(s.raw.n, n);
		assert_false(s.escaped);
		for (size_t i = 1; i <= n; i++) {
			text[i] = '\x1f';
			assert_int_equal(bad_at(slice_of(text, n + 2)), i);
			text[i] = '\xff';
			assert_int_equal(bad_at(slice_of(text, n + 2)), i);
			text[i] = '\x7f';
			assert_int_equal(bad_at(slice_of(text, n + 2)), -1);
			text[i] = 'x';
		}
		/* What stands behind the quote is not part of the string. */
		text[n + 2] = '\xff';
		r = json_open(slice_of(text, n + 20));
		assert_true(json_string(&r, &s));
		assert_int_equal(s.raw.n, n);
	}
}

static void escapes_are_taken_out(void **state)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{"\"plain\"", "plain"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
		{"\"\\u0041\\u00e4\\u20AC\\ud83d\\uDE00\"",
		 "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\"\\ud83d\"", "\xef\xbf\xbd"},
		{"\"\\ude00\"", "\xef\xbf\xbd"},
		{"\"\\ud83dx\"", "\xef\xbf\xbdx"},
		{"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
				       "A"},
		{"\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
		{"\"a\\u000a\"", "a\n"},
	};
	struct buffer scratch = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_reader r = json_open(slice_cstr(rows[i].json));
		struct json_string s;

		assert_true(json_string(&r, &s));
		assert_text(json_text(s, &scratch), rows[i].text);
		assert_int_equal(json_finish(&r, NULL), 0);
	}
	buffer_done(&scratch);
}

static void escaped_keys_are_known_names_too(void **state)
{
	static const struct json_name names[] = {JSON_NAME("one", 1), JSON_NAME("two", 2),
						 JSON_NAME("three", 3)};
	struct json_reader r =
		json_open(SLICE("{\"tw\\u006f\":1,\"three\":2,\"one\":3,\"four\":4,\"on\":5}"));
	const int expected[] = {2, 3, 1, -1, -1};
	unsigned hint = 0;
	struct slice name;

	assert_true(json_object(&r));
	for (size_t i = 0; json_next_name(&r, &name); i++) {
		assert_int_equal(json_name_find(names, ARRAY_SIZE(names), &hint, name),
				 expected[i]);
		json_skip(&r);
	}
	assert_int_equal(json_finish(&r, NULL), 0);
}

static void integers_are_exact(void **state)
{
	static const struct {
		const char *json;
		bool ok;
		int64_t value;
	} rows[] = {
		{"0", true, 0},
		{"-0", true, 0},
		{"9223372036854775807", true, INT64_MAX},
		{"-9223372036854775808", true, INT64_MIN},
		{"9223372036854775808", false, 0},
		{"-9223372036854775809", false, 0},
		{"\"9007199254740993\"", true, 9007199254740993},
		{"\"-5\"", true, -5},
		{"1e3", true, 1000},
		{"2.0", true, 2},
		{"12.50e1", true, 125},
		{"1200e-2", true, 12},
		{"0e999999999999", true, 0},
		{"2.5", false, 0},
		{"1e19", false, 0},
		{"1e999999999999", false, 0},
		{"1e-999999999999", false, 0},
		{"\"\"", false, 0},
		{"\"x\"", false, 0},
		{"\"1 \"", false, 0},
		{"\"+1\"", false, 0},
		{"true", false, 0},
		{"[1]", false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_reader r = json_open(slice_cstr(rows[i].json));
		int64_t value = 0;

		if (json_i64(&r, &value) != rows[i].ok)
			fail_msg("%s", rows[i].json);
		if (rows[i].ok)
			assert_int_equal(value, rows[i].value);
		else
			assert_non_null(r.bad);
	}
}

static void unsigned_integers_have_their_own_range(void **state)
{
	struct json_reader r = json_open(SLICE("[18446744073709551615,\"18446744073709551615\"]"));
	struct json_reader over = json_open(SLICE("18446744073709551616"));
	struct json_reader under = json_open(SLICE("-1"));
	struct json_reader wide = json_open(SLICE("4294967296"));
	uint64_t value = 0;
	uint32_t narrow;

	assert_true(json_array(&r) && json_next_item(&r) && json_u64(&r, &value));
	assert_true(value == UINT64_MAX);
	assert_true(json_next_item(&r) && json_u64(&r, &value) && !json_next_item(&r));
	assert_int_equal(json_finish(&r, NULL), 0);
	assert_false(json_u64(&over, &value));
	assert_false(json_u64(&under, &value));
	assert_false(json_u32(&wide, &narrow));
}

static void doubles_round_correctly(void **state)
{
	static const struct {
		const char *json;
		double value;
	} rows[] = {
		{"0", 0.0},
		{"0.1", 0.1},
		{"-2.5e-3", -2.5e-3},
		{"1e22", 1e22},
		{"1e23", 1e23},
		{"123456789012345678", 123456789012345678.0},
		{"9007199254740993", 9007199254740992.0},
		{"9007199254740993.00000000000000000000000000000000000001", 9007199254740994.0},
		{"2.2250738585072011e-308", 2.2250738585072011e-308},
		{"4.9406564584124654e-324", 4.9406564584124654e-324},
		{"2e-324", 0.0},
		{"1.7976931348623157e308", 1.7976931348623157e308},
		{"1e400", HUGE_VAL},
		{"1e99999999999999999999", HUGE_VAL},
		{"1e-99999999999999999999", 0.0},
		{"\"Infinity\"", HUGE_VAL},
		{"\"-Infinity\"", -HUGE_VAL},
		{"\"1.5\"", 1.5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_reader r = json_open(slice_cstr(rows[i].json));
		double value = -1;

		assert_true(json_double(&r, &value));
		if (memcmp(&value, &rows[i].value, sizeof(value)) != 0)
			fail_msg("%s is %.17g", rows[i].json, value);
	}
}

static void digits_far_behind_still_break_a_tie(void **state)
{
	/* Half-way between 2^53 and 2^53 + 2, then a thousand zeros, then perhaps a one. */
	char text[1100];
	double value;
	struct json_reader r;
	int n = snprintf(text, sizeof(text), "9007199254740993.%01000d", 0);

	r = json_open(slice_of(text, (size_t)n));
	assert_true(json_double(&r, &value) && value == 9007199254740992.0);
	text[n - 1] = '1';
	r = json_open(slice_of(text, (size_t)n));
	assert_true(json_double(&r, &value) && value == 9007199254740994.0);
}

static void not_a_number_is_a_double(void **state)
{
	struct json_reader r = json_open(SLICE("\"NaN\"")), s = json_open(SLICE("\"nan\""));
	struct json_reader t = json_open(SLICE("\"-0\""));
	double value = 0;

	assert_true(json_double(&r, &value) && isnan(value));
	assert_false(json_double(&s, &value));
	assert_true(json_double(&t, &value) && value == 0 && signbit(value));
}

static void a_wrong_type_stops_the_reader_there(void **state)
{
	struct json_reader r = json_open(SLICE("{\"a\": [1]}"));
	struct json_string key, s;
	struct error e;

	assert_true(json_object(&r) && json_next_key(&r, &key));
	assert_false(json_string(&r, &s));
	assert_false(json_next_key(&r, &key));
	assert_int_equal(json_peek(&r), JSON_BAD);
	assert_int_equal(json_finish(&r, &e), -EBADMSG);
	assert_int_equal(e.offset, 6);
	assert_string_equal(e.text, "JSON: a string is expected at byte 6, near \"a\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_texts_are_accepted),
		cmocka_unit_test(wrong_texts_are_refused_where_they_are_wrong),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(a_text_cut_anywhere_is_refused_without_reading_past_it),
		cmocka_unit_test(strings_are_found_at_every_length_and_place),
		cmocka_unit_test(escapes_are_taken_out),
		cmocka_unit_test(escaped_keys_are_known_names_too),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(unsigned_integers_have_their_own_range),
		cmocka_unit_test(doubles_round_correctly),
		cmocka_unit_test(digits_far_behind_still_break_a_tie),
		cmocka_unit_test(not_a_number_is_a_double),
		cmocka_unit_test(a_wrong_type_stops_the_reader_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
