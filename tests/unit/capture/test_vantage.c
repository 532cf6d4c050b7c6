/* Where captures were taken. */
#include "capture/vantage.h"
#include "infer/names.h"
#include "t.h"

static struct message m(uint32_t sender, uint32_t receiver, uint16_t file)
{
	return (struct message){.sender = sender, .receiver = receiver, .file = file, .id = 1};
}

static void hosts_are_told_by_who_is_in_every_message(void **state)
{
	/* 1 talks to 2, 2 to 3 and 4; files 0 to 3 were captured on 1, 2, 3, 4. */
	struct message all[] = {m(1, 2, 0), m(2, 1, 0), m(1, 2, 1), m(2, 3, 1),
				m(4, 2, 1), m(2, 3, 2), m(2, 4, 3)};
	uint32_t nodes[4];

	assert_int_equal(vantage_mark(all, ARRAY_SIZE(all), 4, nodes), 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(nodes[i], i + 1);
	assert_int_equal(all[0].sight, MESSAGE_SENT);
	assert_int_equal(all[1].sight, MESSAGE_RECV);
	assert_int_equal(all[2].sight, MESSAGE_RECV);
	assert_int_equal(all[3].sight, MESSAGE_SENT);
	assert_int_equal(all[5].sight, MESSAGE_RECV);
}

static void nothing_is_marked_where_one_cannot_tell(void **state)
{
	struct message pair[] = {m(1, 2, 0), m(2, 1, 1)};               /* either's */
	struct message bridge[] = {m(1, 2, 0), m(2, 3, 0), m(3, 4, 0)}; /* nobody's */
	struct message mixed[] = {m(1, 2, 0), m(1, 3, 0), m(1, 2, 1), m(3, 4, 1)};
	struct message silent[] = {m(1, 2, 0), m(1, 3, 0)}; /* file 1 is empty */

	assert_int_equal(vantage_mark(pair, 2, 2, NULL), 0);
	assert_int_equal(vantage_mark(bridge, 3, 1, NULL), 0);
	assert_int_equal(vantage_mark(mixed, 4, 2, NULL), 0);
	assert_int_equal(vantage_mark(silent, 2, 2, NULL), 0);
	assert_int_equal(mixed[0].sight, MESSAGE_SEEN);
	assert_int_equal(vantage_mark(NULL, 0, 0, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_told_by_who_is_in_every_message),
		cmocka_unit_test(nothing_is_marked_where_one_cannot_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
