#include "t.h"

#include "core/utf8.h"

static void valid_prefix_stops_at_the_first_bad_byte(void **state)
{
	static const struct {
		struct slice text;
		size_t valid;
	} rows[] = {
		{{"plain ascii, longer than eight", 30}, 30},
		{{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9}, 9},
		{{"ab\xff", 3}, 2},
		{{"\xc0\x80", 2}, 0},         /* overlong NUL */
		{{"\xed\xa0\x80", 3}, 0},     /* a surrogate */
		{{"\xf4\x90\x80\x80", 4}, 0}, /* past U+10FFFF */
		{{"\xe2\x82", 2}, 0},         /* cut off */
		{{"12345678\x80", 9}, 8},
		{{"", 0}, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(utf8_valid_prefix(rows[i].text), rows[i].valid);
}

static void every_code_point_round_trips(void **state)
{
	for (uint32_t c = 0; c < 0x110000; c++) {
		char out[4];
		size_t n = utf8_encode(c, out);

		if (c >= 0xd800 && c < 0xe000)
			continue;
		assert_int_equal(utf8_sequence(slice_of(out, n)), n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_prefix_stops_at_the_first_bad_byte),
		cmocka_unit_test(every_code_point_round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
