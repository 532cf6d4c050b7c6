#include "t.h"

#include "store/pace.h"

#define LIMIT ((size_t)1 << 30)

static void nobody_waits_while_half_is_free(void **state)
{
	assert_int_equal(pace_ns(0, LIMIT, 1 << 20, 3), 0);
	assert_int_equal(pace_ns(LIMIT / 2, LIMIT, 1 << 20, 3), 0);
	assert_true(pace_ns(LIMIT / 10 * 6, LIMIT, 1 << 20, 3) > 0);
}

static void at_seventy_per_cent_as_much_comes_as_is_flushed(void **state)
{
	int64_t ns = pace_ns(LIMIT / 10 * 7, LIMIT, 1 << 20, 3);

	assert_in_range(ns, (3 << 20) * 0.99, (3 << 20) * 1.01);
}

static void the_fuller_the_slower_up_to_a_quarter_of_the_pace(void **state)
{
	int64_t last = 0;

	for (size_t part = 51; part <= 90; part++) {
		int64_t ns = pace_ns(LIMIT / 100 * part, LIMIT, 1 << 20, 3);

		assert_true(ns > last);
		last = ns;
	}
	assert_true(pace_ns(LIMIT, LIMIT, 1 << 20, 3) == PACE_SLOWEST * 3 << 20);
	/* More than there may be, for it is counted before it is refused. */
	assert_true(pace_ns(2 * LIMIT, LIMIT, 1 << 20, 3) == PACE_SLOWEST * 3 << 20);
}

static void no_write_is_held_back_for_long(void **state)
{
	assert_true(pace_ns(LIMIT, LIMIT, SIZE_MAX, 1e9) == PACE_MOST_NS);
}

static void the_flusher_is_measured_by_its_last_heads(void **state)
{
	double pace = pace_note(0, 3000, 1000);

	assert_true(pace == 3);
	assert_true(pace_note(pace, 5000, 1000) == 4);
	assert_true(pace_note(pace, 0, 0) == 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_while_half_is_free),
		cmocka_unit_test(at_seventy_per_cent_as_much_comes_as_is_flushed),
		cmocka_unit_test(the_fuller_the_slower_up_to_a_quarter_of_the_pace),
		cmocka_unit_test(no_write_is_held_back_for_long),
		cmocka_unit_test(the_flusher_is_measured_by_its_last_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
