#include "t.h"

#include <errno.h>

#include "sampling/trace_sampling.h"

static struct trace_id id_of(const char *hex)
{
	struct trace_id id;

	assert_int_equal(trace_id_parse(slice_cstr(hex), &id), 0);
	return id;
}

static void the_header_says_how_the_trace_was_sampled(void **state)
{
	static const struct {
		const char *header;
		uint64_t threshold, randomness;
	} rows[] = {
		{"", THRESHOLD_UNKNOWN, 0xd0000000000001},
		{"ot=th:c", 0xc0000000000000, 0xd0000000000001},
		{"x=1,ot=th:0;p:8,y=2", THRESHOLD_ALWAYS, 0xd0000000000001},
		{"ot=th:c;rv:e0000000000000", 0xc0000000000000, 0xe0000000000000},
		{"ot=rv:e0000000000000", THRESHOLD_UNKNOWN, 0xe0000000000000},
		/* This threshold would have rejected the trace. */
		{"ot=th:e", THRESHOLD_UNKNOWN, 0xd0000000000001},
		{"ot=th:c;rv:b0000000000000", THRESHOLD_UNKNOWN, 0xb0000000000000},
		/* Against the grammar: as if not there. */
		{"ot=th:C", THRESHOLD_UNKNOWN, 0xd0000000000001},
		{"ot=th:c;rv:e0", 0xc0000000000000, 0xd0000000000001},
		{"OT=th:c", THRESHOLD_UNKNOWN, 0xd0000000000001},
	};
	struct trace_id id = id_of("ffffffffffffffffffd0000000000001");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace_sampling s = trace_sampling_parse(slice_cstr(rows[i].header), id);

		if (s.threshold != rows[i].threshold || s.randomness != rows[i].randomness)
			fail_msg("'%s': %llx %llx", rows[i].header, (unsigned long long)s.threshold,
				 (unsigned long long)s.randomness);
	}
}

static void setting_keeps_the_other_sub_keys(void **state)
{
	static const struct {
		const char *header;
		uint64_t threshold;
		const char *out;
	} rows[] = {
		{"", 0xc0000000000000, "ot=th:c"},
		{"x=1", THRESHOLD_ALWAYS, "ot=th:0,x=1"},
		{"x=1,ot=rv:e0000000000000;th:8", 0xc0000000000000,
		 "ot=rv:e0000000000000;th:c,x=1"},
		{"x=1,ot=th:8;rv:e0000000000000", THRESHOLD_UNKNOWN, "ot=rv:e0000000000000,x=1"},
		{"x=1,ot=th:8", THRESHOLD_UNKNOWN, "x=1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char storage[TRACESTATE_MAX_VALUE_CHARS], out[200];
		struct tracestate t = {0};

		assert_int_equal(tracestate_parse(&t, slice_cstr(rows[i].header)), 0);
		assert_int_equal(trace_sampling_set(&t, rows[i].threshold, storage), 0);
		assert_text(slice_of(out, tracestate_format(&t, out, sizeof(out))), rows[i].out);
	}
}

static void a_member_without_room_stays_as_it_was(void **state)
{
	char storage[TRACESTATE_MAX_VALUE_CHARS], header[300];
	struct tracestate t = {0};

	memset(header, 'x', sizeof(header));
	memcpy(header, "ot=a:", 5);
	assert_int_equal(tracestate_parse(&t, slice_of(header, 3 + TRACESTATE_MAX_VALUE_CHARS)), 0);
	assert_int_equal(trace_sampling_set(&t, 0, storage), -ENOBUFS);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.members[0].value.n, TRACESTATE_MAX_VALUE_CHARS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_says_how_the_trace_was_sampled),
		cmocka_unit_test(setting_keeps_the_other_sub_keys),
		cmocka_unit_test(a_member_without_room_stays_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
