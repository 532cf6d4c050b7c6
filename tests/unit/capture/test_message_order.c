/* Messages found late come out in order, or are counted. */
#include <errno.h>

#include "base/rng.h"
#include "capture/message_order.h"
#include "t.h"

struct seen {
	int64_t last_ns;
	uint64_t n, disorder;
	int fails_after;
};

static int put(void *context, const struct message *m, size_t n)
{
	struct seen *s = context;

	for (size_t i = 0; i < n; i++) {
		s->disorder += m[i].time_ns < s->last_ns;
		s->last_ns = m[i].time_ns;
	}
	s->n += n;
	return s->fails_after && s->n >= (uint64_t)s->fails_after ? -EPIPE : 0;
}

static void what_comes_within_the_time_held_is_put_in_order(void **state)
{
	struct seen seen = {.last_ns = INT64_MIN};
	struct message_order o;
	struct rng rng = {9};

	message_order_init(&o, (struct message_sink){put, &seen});
	for (int64_t i = 0; i < 100000; i++) {
		int64_t now = i * 10000;
		struct message m = {.time_ns = now - (int64_t)rng_below(&rng, ORDER_HOLD_NS / 2),
				    .id = (uint64_t)i};

		assert_int_equal(message_order_put(&o, &m), 0);
		if (i % 100 == 0)
			assert_int_equal(message_order_release(&o, now - ORDER_HOLD_NS), 0);
	}
	assert_true(seen.n < 100000);
	assert_int_equal(message_order_release(&o, INT64_MAX), 0);
	assert_int_equal(seen.n, 100000);
	assert_int_equal(seen.disorder, 0);
	assert_int_equal(o.late, 0);
	message_order_done(&o);
}

static void a_call_comes_before_its_return_of_the_same_instant(void **state)
{
	struct seen seen = {.last_ns = INT64_MIN};
	struct message_order o;
	struct message ret = {.time_ns = 5, .id = 7, .op = MESSAGE_RET},
		       call = {.time_ns = 5, .id = 7, .op = MESSAGE_CALL};

	message_order_init(&o, (struct message_sink){put, &seen});
	assert_int_equal(message_order_put(&o, &ret), 0);
	assert_int_equal(message_order_put(&o, &call), 0);
	assert_int_equal(o.heap[0].op, MESSAGE_CALL);
	message_order_done(&o);
}

static void too_many_are_given_on_early_and_the_late_are_counted(void **state)
{
	struct seen seen = {.last_ns = INT64_MIN};
	struct message_order o;

	message_order_init(&o, (struct message_sink){put, &seen});
	for (int64_t i = 0; i < ORDER_MAX + 10; i++)
		assert_int_equal(message_order_put(&o, &(struct message){.time_ns = 1000 + i}), 0);
	assert_int_equal(o.early, 10);
	assert_int_equal(message_order_put(&o, &(struct message){.time_ns = 1}), 0);
	assert_int_equal(message_order_release(&o, INT64_MAX), 0);
	assert_int_equal(o.late, 1);
	assert_int_equal(seen.n, ORDER_MAX + 11);
	message_order_done(&o);
}

static void what_the_sink_says_stays_said(void **state)
{
	struct seen seen = {.last_ns = INT64_MIN, .fails_after = 1};
	struct message_order o;

	message_order_init(&o, (struct message_sink){put, &seen});
	assert_int_equal(message_order_put(&o, &(struct message){.time_ns = 1}), 0);
	assert_int_equal(message_order_release(&o, INT64_MAX), -EPIPE);
	assert_int_equal(message_order_put(&o, &(struct message){.time_ns = 2}), -EPIPE);
	message_order_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_within_the_time_held_is_put_in_order),
		cmocka_unit_test(a_call_comes_before_its_return_of_the_same_instant),
		cmocka_unit_test(too_many_are_given_on_early_and_the_late_are_counted),
		cmocka_unit_test(what_the_sink_says_stays_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
