#include "trace_text.h"

#include "infer/skew.h"

static const char system_spec[] =
	"duration 60s\nsightings both\ninstances 2\nlink C W uniform 1ms 3ms\n"
	"link W A uniform 1ms 4ms\nlink W B uniform 1ms 2ms\nlink A D uniform 500us 1ms\n"
	"skew W 40ms\nskew A -25ms\nskew D 2s\n"
	"tracelet t: C -> W { A { D }; B }\n";

static void offsets_are_found_from_the_quickest_messages(void **state)
{
	static const struct {
		const char *name;
		int64_t offset_ns;
	} rows[] = {{"C", 0}, {"W", 40000000}, {"A", -25000000}, {"B", 0}, {"D", 2000000000}};
	struct skew_estimate e[8];
	struct trace_text t;

	trace_make(&t, system_spec, NULL);
	assert_int_equal(skew_estimate(&t.calls, t.nodes.n, names_find(&t.nodes, SLICE("C")), e),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t node = names_find(&t.nodes, slice_cstr(rows[i].name));
		int64_t wrong = e[node].offset_ns - rows[i].offset_ns;

		assert_true(e[node].error_ns >= 0);
		assert_true(wrong >= -500000 && wrong <= 500000);
		assert_true(e[node].error_ns < 5000000);
	}
	trace_done(&t);
}

static void without_both_ends_nothing_is_said(void **state)
{
	struct skew_estimate e[4];
	struct trace_text t;

	trace_read(&t, "1 CALL A B 1\n2 RET B A 1\n");
	assert_int_equal(skew_estimate(&t.calls, t.nodes.n, NAMES_NONE, e), 0);
	assert_int_equal(e[0].error_ns, -1);
	assert_int_equal(e[1].error_ns, -1);
	trace_done(&t);
}

static void what_is_put_in_can_be_taken_out(void **state)
{
	const int64_t offsets[] = {0, 7};
	struct message m[] = {{.time_ns = 1, .sender = 0, .receiver = 1, .sight = MESSAGE_SENT},
			      {.time_ns = 2, .sender = 0, .receiver = 1, .sight = MESSAGE_RECV},
			      {.time_ns = 3, .sender = 1, .receiver = 0, .sight = MESSAGE_SEEN},
			      {.time_ns = 4, .sender = 1, .receiver = 0, .sight = MESSAGE_RECV}};
	struct message_list list = {0};
	struct message_sink sink = message_list_sink(&list);

	assert_int_equal(sink.put(sink.context, m, 4), 0);
	assert_int_equal(skew_apply(&list, offsets, 2, 1), 0);
	assert_int_equal(list.at[0].time_ns, 1);
	assert_int_equal(list.at[1].time_ns, 4);
	assert_int_equal(list.at[2].time_ns, 9);
	assert_int_equal(list.at[3].time_ns, 10);
	assert_int_equal(skew_apply(&list, offsets, 2, -1), 0);
	assert_memory_equal(list.at, m, sizeof(m));
	message_list_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_found_from_the_quickest_messages),
		cmocka_unit_test(without_both_ends_nothing_is_said),
		cmocka_unit_test(what_is_put_in_can_be_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
