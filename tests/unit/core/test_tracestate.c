#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "core/tracestate.h"

#define TEN(s) s s s s s s s s s s
#define X240   TEN(TEN("xx")) TEN("xxxx")

static void check_format(const struct tracestate *t, const char *expected)
{
	char out[32 * 514];
	size_t n = tracestate_format(t, out, sizeof(out));

	assert_text(slice_of(out, n), expected);
}

/* The cases of the W3C test suite (trace-context/test/test.py).  NULL: discarded. */
static void the_w3c_suites_headers_are_judged_alike(void **state)
{
	static const struct {
		const char *name, *in, *out;
	} rows[] = {
		{"included", "foo=1,bar=2", "foo=1,bar=2"},
		{"empty_header", "", ""},
		{"empty members", "foo=1,", "foo=1"},
		{"empty members", ",foo=1,,bar=2", "foo=1,bar=2"},
		{"ows_handling", "foo=1 \t , \t bar=2, \t baz=3", "foo=1,bar=2,baz=3"},
		{"ows_handling", "foo=1\t \t,\t \tbar=2,\t \tbaz=3", "foo=1,bar=2,baz=3"},
		{"ows_handling", " foo=1", "foo=1"},
		{"ows_handling", "\tfoo=1 \t", "foo=1"},
		{"key_illegal_characters", "foo =1", NULL},
		{"key_illegal_characters", "FOO=1", NULL},
		{"key_illegal_characters", "foo.bar=1", NULL},
		{"key_illegal_vendor_format", "foo@=1,bar=2", NULL},
		{"key_illegal_vendor_format", "@foo=1,bar=2", NULL},
		{"key_illegal_vendor_format", "foo@@bar=1,bar=2", NULL},
		{"key_illegal_vendor_format", "foo@bar@baz=1,bar=2", NULL},
		{"vendor starts with a digit", "foo@1bar=1", NULL},
		{"tenant starts with a digit", "1foo@bar=1", "1foo@bar=1"},
		{"level 2: key starts with a digit", "1a=1", "1a=1"},
		{"key_length_limit", X240 "xxxxxxxxxxxxxxxx=1", X240 "xxxxxxxxxxxxxxxx=1"},
		{"key_length_limit", X240 "xxxxxxxxxxxxxxxxx=1", NULL},
		{"key_length_limit", X240 "x@vvvvvvvvvvvvvv=1", X240 "x@vvvvvvvvvvvvvv=1"},
		{"key_length_limit", X240 "xx@v=1", NULL},
		{"key_length_limit", "t@vvvvvvvvvvvvvvv=1", NULL},
		{"value_illegal_characters", "foo=bar=baz", NULL},
		{"value_illegal_characters", "foo=,bar=3", NULL},
		{"value_illegal_characters", "foo=\x7f", NULL},
		{"value_illegal_characters", "foo=\xc3\xa9", NULL},
		{"value_illegal_characters", "foo=a\tb", NULL},
		{"value with blanks inside", "foo= a b", "foo= a b"},
		{"value length", "foo=" X240 "xxxxxxxxxxxxxxxx", "foo=" X240 "xxxxxxxxxxxxxxxx"},
		{"value length", "foo=" X240 "xxxxxxxxxxxxxxxxx", NULL},
		{"no value", "foo", NULL},
		{"all_allowed_characters", "abcdefghijklmnopqrstuvwxyz0123456789_-*/=1",
		 "abcdefghijklmnopqrstuvwxyz0123456789_-*/=1"},
		{"all_allowed_characters", "foo=!\"#$%&'()*+-./0123456789:;<>?@ABZ[\\]^_`az{|}~",
		 "foo=!\"#$%&'()*+-./0123456789:;<>?@ABZ[\\]^_`az{|}~"},
		{"duplicated_keys", "foo=1,foo=1", "foo=1"},
		{"duplicated_keys", "foo=1,bar=2,foo=3", "foo=1,bar=2"},
	};

	assert_int_equal(strlen(X240), 240);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tracestate t = {0};
		int r = tracestate_parse(&t, slice_cstr(rows[i].in));

		if (r != (rows[i].out ? 0 : -EINVAL))
			fail_msg("%s: '%s' gave %d", rows[i].name, rows[i].in, r);
		check_format(&t, rows[i].out ? rows[i].out : "");
	}
}

static void header_lines_are_joined(void **state)
{
	struct tracestate t = {0};

	assert_int_equal(tracestate_parse(&t, SLICE("foo=1,bar=2")), 0);
	assert_int_equal(tracestate_parse(&t, SLICE("")), 0);
	assert_int_equal(tracestate_parse(&t, SLICE("rojo=1,congo=2,foo=9")), 0);
	check_format(&t, "foo=1,bar=2,rojo=1,congo=2");
	assert_int_equal(tracestate_parse(&t, SLICE("BAD=1")), -EINVAL);
	assert_int_equal(t.n, 0);
}

static void thirty_two_members_fit_and_the_next_discards_all(void **state)
{
	char text[400] = "";
	struct tracestate t = {0};

	for (int i = 0; i < 32; i++)
		sprintf(text + strlen(text), "%sbar%02d=%02d", i ? "," : "", i, i);
	assert_int_equal(tracestate_parse(&t, slice_cstr(text)), 0);
	assert_int_equal(t.n, 32);
	check_format(&t, text);
	t.n = 0;
	strcat(text, ",bar32=32");
	assert_int_equal(tracestate_parse(&t, slice_cstr(text)), -E2BIG);
	assert_int_equal(t.n, 0);
}

static void a_set_member_moves_to_the_front(void **state)
{
	struct tracestate t = {0};
	char text[400] = "";

	assert_int_equal(tracestate_parse(&t, SLICE("a=1,b=2,c=3")), 0);
	assert_int_equal(tracestate_set(&t, SLICE("b"), SLICE("9")), 0);
	check_format(&t, "b=9,a=1,c=3");
	assert_int_equal(tracestate_set(&t, SLICE("ot"), SLICE("th:8")), 0);
	check_format(&t, "ot=th:8,b=9,a=1,c=3");
	assert_int_equal(tracestate_set(&t, SLICE("B"), SLICE("9")), -EINVAL);
	assert_int_equal(tracestate_set(&t, SLICE("b"), SLICE("9 ")), -EINVAL);
	assert_int_equal(tracestate_set(&t, SLICE("b"), SLICE("")), -EINVAL);
	tracestate_remove(&t, SLICE("a"));
	tracestate_remove(&t, SLICE("nobody"));
	check_format(&t, "ot=th:8,b=9,c=3");
	assert_text(tracestate_get(&t, SLICE("c")), "3");
	assert_null(tracestate_get(&t, SLICE("a")).p);

	t.n = 0;
	for (int i = 0; i < 32; i++)
		sprintf(text + strlen(text), "k%02d=x,", i);
	assert_int_equal(tracestate_parse(&t, slice_cstr(text)), 0);
	assert_int_equal(tracestate_set(&t, SLICE("ot"), SLICE("th:8")), 0);
	assert_int_equal(t.n, 32);
	assert_text(t.members[0].key, "ot");
	assert_text(t.members[31].key, "k30");
}

static void too_little_room_costs_long_members_first_then_the_last(void **state)
{
	struct tracestate t = {0};
	char out[512];
	size_t n;

	assert_int_equal(tracestate_parse(&t, SLICE("a=1,long=" X240 ",b=2,c=3")), 0);
	n = tracestate_format(&t, out, sizeof(out));
	assert_int_equal(n, 3 + 1 + 245 + 1 + 3 + 1 + 3);
	n = tracestate_format(&t, out, n - 1);
	assert_text(slice_of(out, n), "a=1,b=2,c=3");
	n = tracestate_format(&t, out, 11);
	assert_text(slice_of(out, n), "a=1,b=2,c=3");
	n = tracestate_format(&t, out, 10);
	assert_text(slice_of(out, n), "a=1,b=2");
	assert_int_equal(tracestate_format(&t, out, 2), 0);
	assert_int_equal(tracestate_format(&t, out, 0), 0);
}

static void sub_keys_of_ot_are_set_and_the_others_kept(void **state)
{
	static const struct {
		const char *member, *key, *value, *out;
	} rows[] = {
		{"", "th", "c", "th:c"},
		{"th:8", "th", "c", "th:c"},
		{"rv:6e6d1a75832a2f", "th", "0", "rv:6e6d1a75832a2f;th:0"},
		{"p:8;r:62;unknown", "th", "0", "p:8;r:62;unknown;th:0"},
		{"a:1;th:8;b:2", "th", "c", "a:1;th:c;b:2"},
		{"a:1;th:8;b:2", "th", NULL, "a:1;b:2"},
		{"th:8;th:9", "th", "a", "th:a"},
		{"th:8", "th", NULL, ""},
		{"", "th", NULL, ""},
	};
	char out[TRACESTATE_MAX_VALUE_CHARS];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int n = ot_set(slice_cstr(rows[i].member), slice_cstr(rows[i].key),
			       slice_cstr(rows[i].value), out);

		assert_true(n >= 0);
		assert_text(slice_of(out, (size_t)n), rows[i].out);
	}
	assert_text(ot_get(SLICE("rv:1;th:c"), SLICE("th")), "c");
	assert_text(ot_get(SLICE("th:"), SLICE("th")), "");
	assert_null(ot_get(SLICE("rv:1;xth:c;th"), SLICE("th")).p);
	assert_null(ot_get(slice_of(NULL, 0), SLICE("th")).p);
}

static void ot_keeps_to_its_grammar_and_size(void **state)
{
	char out[TRACESTATE_MAX_VALUE_CHARS];

	assert_int_equal(ot_set(SLICE(""), SLICE("Th"), SLICE("1"), out), -EINVAL);
	assert_int_equal(ot_set(SLICE(""), SLICE(""), SLICE("1"), out), -EINVAL);
	assert_int_equal(ot_set(SLICE(""), SLICE("th"), SLICE("1;x:2"), out), -EINVAL);
	assert_int_equal(ot_set(SLICE(""), SLICE("th"), SLICE("a:b"), out), -EINVAL);
	assert_int_equal(ot_set(SLICE("x:" X240), SLICE("th"), SLICE("12345678901"), out),
			 -ENOBUFS);
	assert_int_equal(ot_set(SLICE("x:" X240), SLICE("th"), SLICE("1234567890"), out), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_w3c_suites_headers_are_judged_alike),
		cmocka_unit_test(header_lines_are_joined),
		cmocka_unit_test(thirty_two_members_fit_and_the_next_discards_all),
		cmocka_unit_test(a_set_member_moves_to_the_front),
		cmocka_unit_test(too_little_room_costs_long_members_first_then_the_last),
		cmocka_unit_test(sub_keys_of_ot_are_set_and_the_others_kept),
		cmocka_unit_test(ot_keeps_to_its_grammar_and_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
