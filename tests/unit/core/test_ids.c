#include "t.h"

#include <errno.h>

#include "core/ids.h"

static void trace_ids_round_trip_and_pad(void **state)
{
	struct trace_id id;
	char hex[TRACE_ID_HEX + 1];

	assert_int_equal(trace_id_parse(SLICE("0AF7651916cd43dd8448eb211c80319c"), &id), 0);
	trace_id_format(id, hex);
	assert_string_equal(hex, "0af7651916cd43dd8448eb211c80319c");

	assert_int_equal(trace_id_parse(SLICE("8448eb211c80319c"), &id), 0);
	trace_id_format(id, hex);
	assert_string_equal(hex, "00000000000000008448eb211c80319c");
}

static void bad_ids_are_refused(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "g",
					  "00000000000000000000000000000000",
					  "0af7651916cd43dd8448eb211c80319c0",
					  "12 4",
					  "-1"};
	struct trace_id id;
	span_id_t span;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(trace_id_parse(slice_cstr(bad[i]), &id), -EINVAL);
		assert_int_equal(span_id_parse(slice_cstr(bad[i]), &span), -EINVAL);
	}
	assert_int_equal(span_id_parse(SLICE("00000000000000001"), &span), -EINVAL);
}

static void span_ids_are_big_endian_numbers(void **state)
{
	const uint8_t wire[8] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};
	char hex[SPAN_ID_HEX + 1];
	span_id_t id;

	assert_int_equal(span_id_parse(SLICE("b7ad6b7169203331"), &id), 0);
	assert_true(id == load_be64(wire));
	span_id_format(id, hex);
	assert_string_equal(hex, "b7ad6b7169203331");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace_ids_round_trip_and_pad),
		cmocka_unit_test(bad_ids_are_refused),
		cmocka_unit_test(span_ids_are_big_endian_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
