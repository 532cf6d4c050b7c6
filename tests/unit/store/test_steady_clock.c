#include "t.h"

#include "core/clock.h"
#include "store/steady_clock.h"

#define HOUR (3600 * NS_PER_S)
#define DAY  (24 * HOUR)
#define T0   ((int64_t)1790000000 * NS_PER_S) /* the wall clock at first */

static void it_follows_the_wall_clock(void **state)
{
	struct steady_clock c;

	steady_clock_init(&c, T0 - 60 * NS_PER_S, T0, 500);
	for (int64_t t = 0; t < 100 * DAY; t += HOUR)
		assert_true(steady_clock_now(&c, T0 + t, 500 + t) == T0 + t);
	/* Set back, and forth by less than an hour. */
	assert_true(steady_clock_now(&c, T0, 500 + 100 * DAY) == T0);
	assert_true(steady_clock_now(&c, T0 + HOUR / 2, 501 + 100 * DAY) == T0 + HOUR / 2);
}

static void a_jump_ahead_is_believed_after_a_day(void **state)
{
	struct steady_clock c;
	int64_t jump = 365 * DAY, t;

	steady_clock_init(&c, 0, T0, 0);
	assert_true(steady_clock_now(&c, T0 + HOUR, HOUR) == T0 + HOUR);
	for (t = HOUR + 1; t < 25 * HOUR; t += HOUR)
		assert_true(steady_clock_now(&c, T0 + jump + t, t) == T0 + t);
	t = 25 * HOUR + 1;
	assert_true(steady_clock_now(&c, T0 + jump + t, t) == T0 + jump + t);
}

static void a_jump_that_is_taken_back_leaves_no_trace(void **state)
{
	struct steady_clock c;

	steady_clock_init(&c, 0, T0, 0);
	for (int64_t t = HOUR; t < 20 * DAY; t += HOUR) {
		int64_t jump = t / HOUR % 24 < 20 ? 30 * DAY : 0;

		assert_true(steady_clock_now(&c, T0 + jump + t, t) == T0 + t);
	}
}

static void a_start_with_a_wrong_clock_begins_at_the_newest_data(void **state)
{
	struct steady_clock c;

	steady_clock_init(&c, T0, T0 + 3000 * DAY, 7);
	assert_true(steady_clock_now(&c, T0 + 3000 * DAY, 7) == T0);
	assert_true(steady_clock_now(&c, T0 + 3000 * DAY + HOUR, 7 + HOUR) == T0 + HOUR);
	/* One that is behind is believed. */
	steady_clock_init(&c, T0, T0 - DAY, 7);
	assert_true(steady_clock_now(&c, T0 - DAY, 7) == T0 - DAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_follows_the_wall_clock),
		cmocka_unit_test(a_jump_ahead_is_believed_after_a_day),
		cmocka_unit_test(a_jump_that_is_taken_back_leaves_no_trace),
		cmocka_unit_test(a_start_with_a_wrong_clock_begins_at_the_newest_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
