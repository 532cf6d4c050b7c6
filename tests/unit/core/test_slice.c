#include "t.h"

#include <errno.h>

static void trim_takes_blanks_from_both_ends(void **state)
{
	assert_text(slice_trim(SLICE(" \t a b\r\n")), "a b");
	assert_text(slice_trim(SLICE("   ")), "");
	assert_text(slice_trim(SLICE("")), "");
}

static void cut_walks_the_parts(void **state)
{
	struct slice rest = SLICE("a,,b");

	assert_text(slice_cut(&rest, ','), "a");
	assert_text(slice_cut(&rest, ','), "");
	assert_non_null(rest.p);
	assert_text(slice_cut(&rest, ','), "b");
	assert_null(rest.p);
}

static void numbers_are_strict(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"0x1", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 0;

		assert_int_equal(slice_parse_u64(slice_cstr(rows[i].text), &value), rows[i].r);
		assert_int_equal(value, rows[i].value);
	}
}

static void comparison_orders_by_bytes_then_length(void **state)
{
	assert_true(slice_cmp(SLICE("a"), SLICE("b")) < 0);
	assert_true(slice_cmp(SLICE("a"), SLICE("ab")) < 0);
	assert_true(slice_cmp(SLICE("b"), SLICE("ab")) > 0);
	assert_int_equal(slice_cmp(SLICE("ab"), SLICE("ab")), 0);
	assert_true(slice_eq_nocase(SLICE("Content-TYPE"), SLICE("content-type")));
	assert_false(slice_eq_nocase(SLICE("a"), SLICE("A ")));
	assert_true(slice_starts(SLICE("abc"), SLICE("ab")));
	assert_false(slice_starts(SLICE("a"), SLICE("ab")));
	assert_true(slice_ends(SLICE("abc"), SLICE("bc")));
	assert_true(slice_ends(SLICE("abc"), SLICE("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trim_takes_blanks_from_both_ends),
		cmocka_unit_test(cut_walks_the_parts),
		cmocka_unit_test(numbers_are_strict),
		cmocka_unit_test(comparison_orders_by_bytes_then_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
