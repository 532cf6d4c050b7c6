#include "t.h"

#include "store/wal_gather.h"

static void one_sender_never_waits(void **state)
{
	struct wal_gather g = {0};

	assert_true(wal_gather_enough(&g, 1, 100));
	wal_gather_note(&g, 1, 0, 0, NS_PER_MS);
	assert_true(wal_gather_enough(&g, 1, 100));
}

static void senders_that_take_turns_are_waited_for(void **state)
{
	struct wal_gather g = {0};

	wal_gather_note(&g, 2, 2, 0, NS_PER_MS);
	assert_false(wal_gather_enough(&g, 2, 100));
	assert_false(wal_gather_enough(&g, 3, 100));
	assert_true(wal_gather_enough(&g, 4, 100));
	/* When two stay away, the next round does without them. */
	wal_gather_note(&g, 2, 0, 0, NS_PER_MS);
	assert_true(wal_gather_enough(&g, 2, 100));
}

static void much_is_enough(void **state)
{
	struct wal_gather g = {0};

	wal_gather_note(&g, 100, 100, 0, NS_PER_MS);
	assert_false(wal_gather_enough(&g, 3, WAL_GATHER_BYTES - 1));
	assert_true(wal_gather_enough(&g, 3, WAL_GATHER_BYTES));
}

static void the_wait_is_as_long_as_the_round_at_most(void **state)
{
	struct wal_gather g = {0};

	wal_gather_note(&g, 2, 2, 1000, 1000 + NS_PER_MS);
	assert_true(g.until_ns == 1000 + 2 * NS_PER_MS);
	wal_gather_note(&g, 2, 2, 1000, 1000 + NS_PER_S);
	assert_true(g.until_ns == 1000 + NS_PER_S + WAL_GATHER_MOST_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_sender_never_waits),
		cmocka_unit_test(senders_that_take_turns_are_waited_for),
		cmocka_unit_test(much_is_enough),
		cmocka_unit_test(the_wait_is_as_long_as_the_round_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
