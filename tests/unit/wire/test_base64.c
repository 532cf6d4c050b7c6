#include "t.h"

#include <errno.h>

#include "wire/base64.h"

static void known_answers_both_ways(void **state)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xfb\xff\xfe", "+//+"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice bytes = slice_cstr(rows[i].bytes);
		struct buffer out = {0};
		char text[16];

		base64_encode(bytes, text);
		assert_slice_equal(slice_of(text, base64_size(bytes.n)), slice_cstr(rows[i].text));
		assert_int_equal(base64_decode(slice_cstr(rows[i].text), &out), 0);
		assert_slice_equal(buffer_get(&out), bytes);
		buffer_done(&out);
	}
}

static void other_spellings_are_read(void **state)
{
	struct buffer out = {0};

	assert_int_equal(base64_decode(SLICE("-__-"), &out), 0);
	assert_int_equal(base64_decode(SLICE("Zg"), &out), 0);
	assert_int_equal(base64_decode(SLICE("Zm8"), &out), 0);
	assert_text(buffer_get(&out), "\xfb\xff\xfe"
				      "ffo");
	buffer_done(&out);
}

static void anything_else_is_refused_and_appends_nothing(void **state)
{
	static const char *const texts[] = {
		"Z", "Zg=", "Z===", "Zg==Zg==", "Zm9v=", "Zm 9", "Zm9\n"};
	struct buffer out = {0};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(base64_decode(slice_cstr(texts[i]), &out), -EINVAL);
	assert_int_equal(out.n, 0);
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers_both_ways),
		cmocka_unit_test(other_spellings_are_read),
		cmocka_unit_test(anything_else_is_refused_and_appends_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
