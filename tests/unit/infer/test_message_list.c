#include "t.h"

#include <errno.h>

#include "infer/message_list.h"
#include "infer/names.h"
#include "infer/rename.h"

static struct message from_file(uint16_t file, int64_t t, uint64_t id)
{
	return (struct message){.time_ns = t, .id = id, .file = file, .sender = 1, .receiver = 2};
}

static void put(struct message_list *l, const struct message *m, size_t n)
{
	struct message_sink sink = message_list_sink(l);

	assert_int_equal(sink.put(sink.context, m, n), 0);
	assert_int_equal(message_list_sort(l), 0);
}

static void messages_are_put_in_order(void **state)
{
	const struct message m[] = {from_file(0, 5, 1), from_file(0, -7, 2), from_file(1, 5, 3),
				    from_file(1, 0, 4)};
	struct message_list l = {0};

	put(&l, m, ARRAY_SIZE(m));
	assert_int_equal(l.at[0].id, 2);
	assert_int_equal(l.at[1].id, 4);
	assert_int_equal(l.at[2].id, 1);
	assert_int_equal(l.at[3].id, 3);
	message_list_done(&l);
}

static void what_two_files_saw_counts_once(void **state)
{
	const struct message m[] = {
		from_file(0, 100, 1), from_file(1, 101, 1), /* the same */
		from_file(0, 200, 2), from_file(0, 201, 2), /* sent twice */
		from_file(0, 300, 3), from_file(1, 500, 3), /* too far apart */
		from_file(0, 600, 0), from_file(0, 601, 0), /* two without ids, */
		from_file(1, 602, 0), from_file(1, 603, 0), /* and both again */
		from_file(0, 700, 4), from_file(1, 701, 5), /* others */
	};
	struct message_list l = {0};
	uint64_t dropped;

	put(&l, m, ARRAY_SIZE(m));
	assert_int_equal(message_list_unique(&l, 10, &dropped), 0);
	assert_int_equal(dropped, 3);
	assert_int_equal(l.n, 9);
	message_list_done(&l);
}

static void nodes_are_renamed_by_the_first_rule_that_matches(void **state)
{
	static const char *const names_in[] = {"10.0.0.1:80", "10.0.0.1:443", "10.0.0.2:80", "web"};
	struct message_list l = {0};
	struct error error = {0};
	struct names nodes;
	struct rename *r;
	struct message m = {0};
	uint32_t number;

	names_init(&nodes);
	r = rename_new(&nodes, message_list_sink(&l));
	assert_int_equal(rename_add(r, SLICE("10.0.0.1:80=web"), &error), 0);
	assert_int_equal(rename_add(r, SLICE("10.0.0.*=host:*"), &error), 0);
	assert_int_equal(rename_add(r, SLICE("nonsense"), &error), -EINVAL);
	assert_int_equal(rename_add(r, SLICE("=x"), &error), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(names_in); i++) {
		assert_int_equal(names_intern(&nodes, slice_cstr(names_in[i]), &number), 0);
		m.sender = m.receiver = number;
		assert_int_equal(rename_sink(r).put(r, &m, 1), 0);
	}
	assert_text(names_get(&nodes, l.at[0].sender), "web");
	assert_text(names_get(&nodes, l.at[1].receiver), "host:443");
	assert_text(names_get(&nodes, l.at[2].sender), "host:80");
	assert_int_equal(l.at[3].sender, l.at[0].sender);
	rename_free(r);
	message_list_done(&l);
	names_done(&nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_put_in_order),
		cmocka_unit_test(what_two_files_saw_counts_once),
		cmocka_unit_test(nodes_are_renamed_by_the_first_rule_that_matches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
