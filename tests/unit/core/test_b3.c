#include "t.h"

#include <errno.h>

#include "core/b3.h"

#define TRACE  "80f198ee56343ba864fe8b2a57d3eff7"
#define SPAN   "e457b5a2e4d86bd1"
#define PARENT "05e3ac9a4f6e3b90"

/* What comes back is the canonical spelling; NULL: refused. */
static void single_headers_round_trip(void **state)
{
	static const struct {
		const char *in, *out;
		enum b3_sampling sampling;
	} rows[] = {
		{TRACE "-" SPAN "-1-" PARENT, TRACE "-" SPAN "-1-" PARENT, B3_ACCEPT},
		{TRACE "-" SPAN "-0", TRACE "-" SPAN "-0", B3_DENY},
		{TRACE "-" SPAN "-d", TRACE "-" SPAN "-d", B3_DEBUG},
		{TRACE "-" SPAN, TRACE "-" SPAN, B3_DEFER},
		{TRACE "-" SPAN "-" PARENT, TRACE "-" SPAN "-" PARENT, B3_DEFER},
		{"64fe8b2a57d3eff7-" SPAN "-1", "000000000000000064fe8b2a57d3eff7-" SPAN "-1",
		 B3_ACCEPT},
		{"80F198EE56343BA864FE8B2A57D3EFF7-E457B5A2E4D86BD1-1", TRACE "-" SPAN "-1",
		 B3_ACCEPT},
		{" " TRACE "-" SPAN " ", TRACE "-" SPAN, B3_DEFER},
		{"0", "0", B3_DENY},
		{"1", "1", B3_ACCEPT},
		{"d", "d", B3_DEBUG},
		{"", NULL, 0},
		{"2", NULL, 0},
		{"-", NULL, 0},
		{"true", NULL, 0},
		{TRACE, NULL, 0},
		{TRACE "-", NULL, 0},
		{"-" SPAN, NULL, 0},
		{TRACE "-" SPAN "-", NULL, 0},
		{TRACE "-" SPAN "-2", NULL, 0},
		{TRACE "-" SPAN "-1-", NULL, 0},
		{TRACE "-" SPAN "-1-" PARENT "-", NULL, 0},
		{TRACE "-" SPAN "-1-" PARENT "-x", NULL, 0},
		{TRACE "-" SPAN "-1-05e3ac9a4f6e3b9", NULL, 0},
		{"00000000000000000000000000000000-" SPAN, NULL, 0},
		{TRACE "-0000000000000000", NULL, 0},
		{"80f198ee56343ba8-64fe8b2a57d3eff", NULL, 0},
		{"80f198ee56343ba864-" SPAN, NULL, 0},
		{"g0f198ee56343ba8-" SPAN, NULL, 0},
	};
	char text[B3_SINGLE_CHARS + 1];
	struct b3 b3;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (b3_parse_single(slice_cstr(rows[i].in), &b3) != (rows[i].out ? 0 : -EINVAL))
			fail_msg("'%s'", rows[i].in);
		if (!rows[i].out)
			continue;
		assert_int_equal(b3.sampling, rows[i].sampling);
		assert_int_equal(b3_format_single(&b3, text), strlen(rows[i].out));
		assert_string_equal(text, rows[i].out);
	}
}

static void several_headers_say_the_same(void **state)
{
	static const struct {
		const char *trace, *span, *parent, *sampled, *flags;
		int r;
		enum b3_sampling sampling;
	} rows[] = {
		{TRACE, SPAN, PARENT, "1", NULL, 0, B3_ACCEPT},
		{TRACE, SPAN, NULL, "0", NULL, 0, B3_DENY},
		{TRACE, SPAN, NULL, "true", NULL, 0, B3_ACCEPT},
		{TRACE, SPAN, NULL, "False", NULL, 0, B3_DENY},
		{TRACE, SPAN, NULL, NULL, "1", 0, B3_DEBUG},
		{TRACE, SPAN, NULL, "0", "1", 0, B3_DEBUG},
		{TRACE, SPAN, NULL, "1", "0", 0, B3_ACCEPT},
		{TRACE, SPAN, NULL, NULL, NULL, 0, B3_DEFER},
		{" 64fe8b2a57d3eff7 ", " " SPAN, NULL, " 1", NULL, 0, B3_ACCEPT},
		{NULL, NULL, NULL, "0", NULL, 0, B3_DENY},
		{NULL, NULL, NULL, NULL, "1", 0, B3_DEBUG},
		{NULL, NULL, NULL, NULL, NULL, -ENOENT, 0},
		{TRACE, NULL, NULL, "1", NULL, -EINVAL, 0},
		{NULL, SPAN, NULL, "1", NULL, -EINVAL, 0},
		{NULL, NULL, PARENT, "1", NULL, -EINVAL, 0},
		{TRACE, SPAN, "x", "1", NULL, -EINVAL, 0},
		{TRACE, SPAN, "", "1", NULL, -EINVAL, 0},
		{TRACE, SPAN, NULL, "yes", NULL, -EINVAL, 0},
		{"", "", NULL, "1", NULL, -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct b3_headers headers = {
			slice_cstr(rows[i].trace),  slice_cstr(rows[i].span),
			slice_cstr(rows[i].parent), slice_cstr(rows[i].sampled),
			slice_cstr(rows[i].flags),
		};
		struct b3 b3;
		int r = b3_parse_multi(&headers, &b3);

		if (r != rows[i].r)
			fail_msg("row %zu gave %d", i, r);
		if (r == 0)
			assert_int_equal(b3.sampling, rows[i].sampling);
	}
}

static void several_headers_are_written(void **state)
{
	struct b3_texts t;
	struct b3 b3;

	assert_int_equal(b3_parse_single(SLICE(TRACE "-" SPAN "-1-" PARENT), &b3), 0);
	b3_format_multi(&b3, &t);
	assert_string_equal(t.trace, TRACE);
	assert_string_equal(t.span, SPAN);
	assert_string_equal(t.parent, PARENT);
	assert_string_equal(t.sampled, "1");
	assert_string_equal(t.flags, "");
	b3.sampling = B3_DEBUG;
	b3.parent = 0;
	b3_format_multi(&b3, &t);
	assert_string_equal(t.parent, "");
	assert_string_equal(t.sampled, "");
	assert_string_equal(t.flags, "1");
	b3_format_multi(&(struct b3){.sampling = B3_DENY}, &t);
	assert_string_equal(t.trace, "");
	assert_string_equal(t.sampled, "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_headers_round_trip),
		cmocka_unit_test(several_headers_say_the_same),
		cmocka_unit_test(several_headers_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
