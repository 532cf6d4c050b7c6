#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "infer/message.h"
#include "infer/names.h"

static void a_name_keeps_its_number(void **state)
{
	struct names names;
	uint32_t number;
	char text[16];

	names_init(&names);
	for (uint32_t i = 0; i < 10000; i++) {
		int n = snprintf(text, sizeof(text), "node%u", i);

		assert_int_equal(names_intern(&names, slice_of(text, (size_t)n), &number), 0);
		assert_int_equal(number, i);
	}
	assert_int_equal(names_intern(&names, SLICE("node77"), &number), 0);
	assert_int_equal(number, 77);
	assert_int_equal(names_find(&names, SLICE("node9999")), 9999);
	assert_int_equal(names_find(&names, SLICE("nobody")), NAMES_NONE);
	assert_text(names_get(&names, 12), "node12");
	assert_text(names_get(&names, NAMES_NONE), "?");
	names_done(&names);
}

static void too_long_a_name_is_refused(void **state)
{
	char text[NAMES_MAX_BYTES + 1];
	struct names names;
	uint32_t number;

	names_init(&names);
	memset(text, 'x', sizeof(text));
	assert_int_equal(names_intern(&names, slice_of(text, sizeof(text)), &number), -E2BIG);
	assert_int_equal(names_intern(&names, slice_of(text, NAMES_MAX_BYTES), &number), 0);
	names_done(&names);
}

static void short_ids_can_be_written_again(void **state)
{
	static const char *const ids[] = {"1", "id37", "r16d4afa2", "a_b-C", "0123456789", "--"};
	char out[MESSAGE_ID_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_string_equal(message_id_format(message_id_of_text(slice_cstr(ids[i])), out),
				    ids[i]);
	assert_int_equal(message_id_of_text(SLICE("-")), MESSAGE_NO_ID);
	assert_int_equal(message_id_of_text(SLICE("")), MESSAGE_NO_ID);
	assert_string_equal(message_id_format(MESSAGE_NO_ID, out), "-");
	assert_string_equal(message_id_format(message_id_of_number(42), out), "42");
}

static void different_ids_stay_different(void **state)
{
	assert_true(message_id_of_text(SLICE("0")) != message_id_of_text(SLICE("00")));
	assert_true(message_id_of_text(SLICE("a.b")) != message_id_of_text(SLICE("a.c")));
	assert_true(message_id_of_text(SLICE("0123456789a")) !=
		    message_id_of_text(SLICE("0123456789b")));
	assert_true(message_id_of_number(1) != message_id_of_text(SLICE("1")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_number),
		cmocka_unit_test(too_long_a_name_is_refused),
		cmocka_unit_test(short_ids_can_be_written_again),
		cmocka_unit_test(different_ids_stay_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
