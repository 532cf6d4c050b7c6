#include "t.h"

#include <errno.h>

#include "core/traceparent.h"

#define TRACE  "12345678901234567890123456789012"
#define PARENT "1234567890123456"

/* The cases of the W3C test suite (trace-context/test/test.py), by its names. */
static void the_w3c_suites_headers_are_judged_alike(void **state)
{
	static const struct {
		const char *name, *text;
		bool good;
	} rows[] = {
		{"traceparent_included", "00-" TRACE "-" PARENT "-01", true},
		{"version_0x00", "00-" TRACE "-" PARENT "-01.", false},
		{"version_0x00", "00-" TRACE "-" PARENT "-01-what-the-future-will-be-like", false},
		{"version_0xcc", "cc-" TRACE "-" PARENT "-01", true},
		{"version_0xcc", "cc-" TRACE "-" PARENT "-01-what-the-future-will-be-like", true},
		{"version_0xcc", "cc-" TRACE "-" PARENT "-01.what-the-future-will-be-like", false},
		{"version_0xcc", "cc-" TRACE "-" PARENT "-01-", true},
		{"version_0xff", "ff-" TRACE "-" PARENT "-01", false},
		{"version_illegal_characters", ".0-" TRACE "-" PARENT "-01", false},
		{"version_illegal_characters", "0.-" TRACE "-" PARENT "-01", false},
		{"version_too_long", "000-" TRACE "-" PARENT "-01", false},
		{"version_too_long", "0000-" TRACE "-" PARENT "-01", false},
		{"version_too_short", "0-" TRACE "-" PARENT "-01", false},
		{"trace_id_all_zero", "00-00000000000000000000000000000000-" PARENT "-01", false},
		{"trace_id_illegal_characters", "00-.2345678901234567890123456789012-" PARENT "-01",
		 false},
		{"trace_id_illegal_characters", "00-1234567890123456789012345678901.-" PARENT "-01",
		 false},
		{"trace_id_too_long", "00-" TRACE "3-" PARENT "-01", false},
		{"trace_id_too_short", "00-1234567890123456789012345678901-" PARENT "-01", false},
		{"parent_id_all_zero", "00-" TRACE "-0000000000000000-01", false},
		{"parent_id_illegal_characters", "00-" TRACE "-.234567890123456-01", false},
		{"parent_id_illegal_characters", "00-" TRACE "-123456789012345.-01", false},
		{"parent_id_too_long", "00-" TRACE "-" PARENT "7-01", false},
		{"parent_id_too_short", "00-" TRACE "-123456789012345-01", false},
		{"trace_flags_illegal_characters", "00-" TRACE "-" PARENT "-.0", false},
		{"trace_flags_illegal_characters", "00-" TRACE "-" PARENT "-0.", false},
		{"trace_flags_too_long", "00-" TRACE "-" PARENT "-001", false},
		{"trace_flags_too_short", "00-" TRACE "-" PARENT "-1", false},
		{"ows_handling", " 00-" TRACE "-" PARENT "-01", true},
		{"ows_handling", "\t00-" TRACE "-" PARENT "-01", true},
		{"ows_handling", "00-" TRACE "-" PARENT "-01 ", true},
		{"ows_handling", "\t 00-" TRACE "-" PARENT "-01 \t", true},
		{"upper case", "00-ABCDEF78901234567890123456789012-" PARENT "-01", false},
		{"upper case", "00-" TRACE "-ABCDEF7890123456-01", false},
		{"upper case", "0A-" TRACE "-" PARENT "-01", false},
		{"upper case", "00-" TRACE "-" PARENT "-0A", false},
		{"upper case later", "cc-" TRACE "-" PARENT "-01-WHAT", true},
		{"dashes", "00_" TRACE "-" PARENT "-01", false},
		{"dashes", "00-" TRACE "_" PARENT "-01", false},
		{"dashes", "00-" TRACE "-" PARENT "_01", false},
		{"empty", "", false},
	};
	struct traceparent t;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (traceparent_parse(slice_cstr(rows[i].text), &t) != (rows[i].good ? 0 : -EINVAL))
			fail_msg("%s: '%s'", rows[i].name, rows[i].text);
}

static void fields_arrive_where_they_belong(void **state)
{
	struct traceparent t;
	char text[TRACEPARENT_CHARS + 1];

	assert_int_equal(
		traceparent_parse(SLICE("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"),
				  &t),
		0);
	assert_int_equal(t.trace.b[0], 0x0a);
	assert_int_equal(t.trace.b[15], 0x9c);
	assert_true(t.parent == 0xb7ad6b7169203331ULL);
	assert_int_equal(t.version, 0);
	assert_int_equal(t.flags, TRACEPARENT_SAMPLED | TRACEPARENT_RANDOM);
	traceparent_format(&t, text);
	assert_string_equal(text, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03");
}

static void what_we_send_is_version_00_with_known_flags(void **state)
{
	struct traceparent t;
	char text[TRACEPARENT_CHARS + 1];

	assert_int_equal(traceparent_parse(SLICE("cc-" TRACE "-" PARENT "-ff-more"), &t), 0);
	assert_int_equal(t.version, 0xcc);
	assert_int_equal(t.flags, 0xff);
	traceparent_format(&t, text);
	assert_string_equal(text, "00-" TRACE "-" PARENT "-03");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_w3c_suites_headers_are_judged_alike),
		cmocka_unit_test(fields_arrive_where_they_belong),
		cmocka_unit_test(what_we_send_is_version_00_with_known_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
