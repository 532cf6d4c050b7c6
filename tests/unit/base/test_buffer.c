#include "t.h"

#include "base/buffer.h"

static void appends_grow(void **state)
{
	struct buffer b = {0};

	for (int i = 0; i < 1000; i++)
		buffer_printf(&b, "%d,", i);
	assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4);
	assert_true(slice_starts(buffer_get(&b), SLICE("0,1,2,")));
	assert_string_equal(buffer_cstr(&b) + b.n - 4, "999,");
	buffer_done(&b);
}

static void a_long_printf_is_whole(void **state)
{
	struct buffer b = {0};

	buffer_printf(&b, "%0500d", 7);
	assert_int_equal(b.n, 500);
	assert_int_equal(b.p[499], '7');
	buffer_done(&b);
}

static void failure_is_sticky(void **state)
{
	struct buffer b = {0};

	buffer_text(&b, "x");
	assert_null(buffer_reserve(&b, SIZE_MAX));
	buffer_text(&b, "y");
	assert_true(b.failed);
	assert_int_equal(b.n, 1);
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_grow),
		cmocka_unit_test(a_long_printf_is_whole),
		cmocka_unit_test(failure_is_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
