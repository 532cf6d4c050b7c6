/* A few seats: in the order of arrival, for as long as they are wanted. */
#include "t.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/seats.h"
#include "core/clock.h"

#define AT_ONCE 0
#define LONG    (3600 * NS_PER_S)

static void seats_are_taken_in_the_order_of_arrival(void **state)
{
	struct seat a = {0}, b = {0}, c = {0};
	struct seats s;

	seats_init(&s);
	assert_true(seats_take(&s, &a, 1, AT_ONCE));
	assert_true(seats_take(&s, &a, 1, AT_ONCE)); /* it has one */
	assert_int_equal(s.taken, 1);
	assert_false(seats_take(&s, &b, 1, AT_ONCE));
	assert_false(seats_take(&s, &c, 1, AT_ONCE));
	assert_false(seats_take(&s, &b, 1, AT_ONCE));
	seats_leave(&s, &a);
	assert_false(seats_take(&s, &c, 1, AT_ONCE)); /* b came first, … */
	assert_true(seats_take(&s, &b, 1, AT_ONCE));
	assert_false(seats_take(&s, &c, 1, AT_ONCE));
	assert_true(seats_take(&s, &c, 2, AT_ONCE)); /* … and now there are two */
	seats_leave(&s, &b);
	seats_leave(&s, &c);
	assert_int_equal(s.taken, 0);
	seats_done(&s);
}

static void who_leaves_the_line_is_not_waited_for(void **state)
{
	struct seat a = {0}, b = {0}, c = {0};
	struct seats s;

	seats_init(&s);
	seats_leave(&s, &a); /* was never there */
	assert_true(seats_take(&s, &a, 1, AT_ONCE));
	assert_false(seats_take(&s, &b, 1, AT_ONCE));
	assert_false(seats_take(&s, &c, 1, AT_ONCE));
	seats_leave(&s, &b);
	seats_leave(&s, &a);
	assert_true(seats_take(&s, &c, 1, AT_ONCE));
	/* The last of the line is one that can be joined again. */
	assert_false(seats_take(&s, &b, 1, AT_ONCE));
	seats_leave(&s, &c);
	assert_true(seats_take(&s, &b, 1, AT_ONCE));
	seats_leave(&s, &b);
	seats_done(&s);
}

#define GUESTS 6
#define ROUNDS 200

struct room {
	struct seats seats;
	_Atomic int sitting, most, served;
};

static void *guest(void *context)
{
	struct room *r = context;

	for (int i = 0; i < ROUNDS; i++) {
		struct seat seat = {0};
		int n, most;

		assert_true(seats_take(&r->seats, &seat, 2, LONG));
		n = atomic_fetch_add(&r->sitting, 1) + 1;
		most = atomic_load(&r->most);
		while (most < n && !atomic_compare_exchange_weak(&r->most, &most, n))
			;
		atomic_fetch_add(&r->served, 1);
		atomic_fetch_sub(&r->sitting, 1);
		seats_leave(&r->seats, &seat);
	}
	return NULL;
}

static void everybody_gets_one_and_never_too_many_at_once(void **state)
{
	struct room r = {.served = 0};
	pthread_t threads[GUESTS];

	seats_init(&r.seats);
	for (int i = 0; i < GUESTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, guest, &r), 0);
	for (int i = 0; i < GUESTS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(r.served, GUESTS * ROUNDS);
	assert_in_range(r.most, 1, 2);
	assert_int_equal(r.seats.taken, 0);
	assert_null(r.seats.first);
	seats_done(&r.seats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seats_are_taken_in_the_order_of_arrival),
		cmocka_unit_test(who_leaves_the_line_is_not_waited_for),
		cmocka_unit_test(everybody_gets_one_and_never_too_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
