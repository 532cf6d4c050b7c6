#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "core/baggage_header.h"

static void check_format(const struct baggage_header *b, const char *expected)
{
	static char out[BAGGAGE_MAX_BYTES];

	assert_text(slice_of(out, baggage_format(b, out, sizeof(out))), expected);
}

static void members_are_kept_as_they_came(void **state)
{
	static const struct {
		const char *in, *out;
		size_t malformed;
	} rows[] = {
		{"", "", 0},
		{"SomeKey=SomeValue", "SomeKey=SomeValue", 0},
		{"SomeKey=SomeValue;SomeProp", "SomeKey=SomeValue;SomeProp", 0},
		{"SomeKey=SomeValue;SomePropKey=SomePropValue",
		 "SomeKey=SomeValue;SomePropKey=SomePropValue", 0},
		{"SomeKey \t = \t SomeValue \t ; \t SomeProp \t , \t k2=v2",
		 "SomeKey=SomeValue;SomeProp,k2=v2", 0},
		{"userId=Am%C3%A9lie,serverNode=DF%2028,isProduction=false",
		 "userId=Am%C3%A9lie,serverNode=DF%2028,isProduction=false", 0},
		{"k=v=w==", "k=v=w==", 0},
		{"k=", "k=", 0},
		{"k=1,k=2", "k=1,k=2", 0},
		{"a=1,,b=2,", "a=1,b=2", 0},
		{"=v,ok=1", "ok=1", 1},
		{"novalue,ok=1", "ok=1", 1},
		{"k=a b,ok=1", "ok=1", 1},
		{"k=\"q\",ok=1", "ok=1", 1},
		{"k=a\\b,ok=1", "ok=1", 1},
		{"k\xc3\xa9=1,ok=1", "ok=1", 1},
		{"k=\xc3\xa9,ok=1", "ok=1", 1},
		{"a(b)=1,ok=1", "ok=1", 1},
		{"k=v;,ok=1", "ok=1", 1},
		{"k=v;;p,ok=1", "ok=1", 1},
		{"k=v;p;,ok=1", "ok=1", 1},
		{"k=v;=p,ok=1", "ok=1", 1},
		{"k=v;p=a b,ok=1", "ok=1", 1},
		{"!#$%&'*+-.^_`|~=1", "!#$%&'*+-.^_`|~=1", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct baggage_header b = {0};

		baggage_parse(&b, slice_cstr(rows[i].in));
		if (b.malformed != rows[i].malformed)
			fail_msg("'%s': %zu malformed", rows[i].in, b.malformed);
		check_format(&b, rows[i].out);
	}
}

static void properties_can_be_walked(void **state)
{
	struct baggage_header b = {0};
	struct slice rest, key, value;

	baggage_parse(&b, SLICE("k=v; secure ;ttl = 5;e="));
	assert_int_equal(b.n, 1);
	rest = b.members[0].properties;
	assert_true(baggage_property_next(&rest, &key, &value));
	assert_text(key, "secure");
	assert_null(value.p);
	assert_true(baggage_property_next(&rest, &key, &value));
	assert_text(key, "ttl");
	assert_text(value, "5");
	assert_true(baggage_property_next(&rest, &key, &value));
	assert_text(key, "e");
	assert_non_null(value.p);
	assert_int_equal(value.n, 0);
	assert_false(baggage_property_next(&rest, &key, &value));
}

static void what_must_be_carried_is_and_more_is_counted(void **state)
{
	static char text[9000], out[BAGGAGE_MAX_BYTES];
	struct baggage_header b = {0};
	size_t n;

	for (int i = 0; i < 64; i++)
		sprintf(text + strlen(text), "%skey%d=value%d", i ? "," : "", i, i);
	baggage_parse(&b, slice_cstr(text));
	assert_int_equal(b.n, 64);
	assert_int_equal(b.dropped, 0);
	check_format(&b, text);
	baggage_parse(&b, SLICE("one=more,bad"));
	assert_int_equal(b.n, 64);
	assert_int_equal(b.dropped, 1);
	assert_int_equal(b.malformed, 1);

	b = (struct baggage_header){0};
	memset(text, 'x', BAGGAGE_MAX_BYTES);
	text[1] = '=';
	text[8000] = ',';
	text[8002] = '=';
	baggage_parse(&b, slice_of(text, BAGGAGE_MAX_BYTES)); /* exactly 8192 bytes */
	assert_int_equal(b.n, 2);
	n = baggage_format(&b, out, sizeof(out));
	assert_int_equal(n, BAGGAGE_MAX_BYTES);
	assert_memory_equal(out, text, n);
	assert_int_equal(baggage_format(&b, out, n - 1), 8000);
	baggage_parse(&b, SLICE("a="));
	assert_int_equal(b.dropped, 1);
	b = (struct baggage_header){0};
	memset(text, 'x', BAGGAGE_MAX_BYTES + 1);
	text[1] = '=';
	baggage_parse(&b, slice_of(text, BAGGAGE_MAX_BYTES + 1));
	assert_int_equal(b.n, 0);
	assert_int_equal(b.dropped, 1);
}

static void setting_replaces_every_member_of_the_key(void **state)
{
	struct baggage_header b = {0};
	char many[1000] = "";

	baggage_parse(&b, SLICE("a=1,k=1,b=2,k=2;p"));
	assert_text(baggage_get(&b, SLICE("k"))->value, "2");
	assert_null(baggage_get(&b, SLICE("K")));
	assert_int_equal(
		baggage_set(&b, &(struct baggage_member){SLICE("k"), SLICE("9"), SLICE("q=1")}), 0);
	check_format(&b, "a=1,k=9;q=1,b=2");
	assert_int_equal(baggage_set(&b, &(struct baggage_member){SLICE("new"), SLICE(""), {0}}),
			 0);
	check_format(&b, "a=1,k=9;q=1,b=2,new=");
	baggage_remove(&b, SLICE("a"));
	baggage_remove(&b, SLICE("nobody"));
	check_format(&b, "k=9;q=1,b=2,new=");
	assert_int_equal(baggage_set(&b, &(struct baggage_member){SLICE("a b"), SLICE("1"), {0}}),
			 -EINVAL);
	assert_int_equal(baggage_set(&b, &(struct baggage_member){SLICE("a"), SLICE("1,2"), {0}}),
			 -EINVAL);
	assert_int_equal(
		baggage_set(&b, &(struct baggage_member){SLICE("a"), SLICE("1"), SLICE(";")}),
		-EINVAL);
	check_format(&b, "k=9;q=1,b=2,new=");

	b = (struct baggage_header){0};
	for (int i = 0; i < 64; i++)
		sprintf(many + strlen(many), "k%d=1,", i);
	baggage_parse(&b, slice_cstr(many));
	assert_int_equal(baggage_set(&b, &(struct baggage_member){SLICE("x"), SLICE("1"), {0}}),
			 -ENOSPC);
	assert_int_equal(baggage_set(&b, &(struct baggage_member){SLICE("k7"), SLICE("2"), {0}}),
			 0);
	assert_text(b.members[7].value, "2");
}

static void values_are_decoded(void **state)
{
	static const struct {
		const char *raw, *text;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"DF%2028", "DF 28"},
		{"Am%C3%A9lie", "Am\xc3\xa9lie"},
		{"Am%c3%a9lie", "Am\xc3\xa9lie"},
		{"%F0%9F%98%80!", "\xf0\x9f\x98\x80!"},
		{"100%", "100%"},
		{"%4", "%4"},
		{"%zz%41", "%zzA"},
		{"%2541", "%41"},
		{"%FF", "\xef\xbf\xbd"},
		{"a%C3b", "a\xef\xbf\xbd"
			  "b"},
		{"%C3%28", "\xef\xbf\xbd("},
		{"%ED%A0%80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"%E2%82", "\xef\xbf\xbd\xef\xbf\xbd"},
	};
	char out[100];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			baggage_value_decode(slice_cstr(rows[i].raw), out, sizeof(out), &n), 0);
		if (n != strlen(rows[i].text) || memcmp(out, rows[i].text, n) != 0)
			fail_msg("'%s' gave '%.*s'", rows[i].raw, (int)n, out);
		if (n)
			assert_int_equal(
				baggage_value_decode(slice_cstr(rows[i].raw), out, n - 1, &n),
				-ENOBUFS);
	}
}

static void values_are_encoded(void **state)
{
	static const struct {
		const char *text, *raw;
	} rows[] = {
		{"", ""},
		{"plain=!", "plain=!"},
		{"a b,c;d\"e\\f%", "a%20b%2Cc%3Bd%22e%5Cf%25"},
		{"\xc3\xa9\n\x7f", "%C3%A9%0A%7F"},
	};
	char raw[100], back[100];
	size_t n, m;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			baggage_value_encode(slice_cstr(rows[i].text), raw, sizeof(raw), &n), 0);
		assert_text(slice_of(raw, n), rows[i].raw);
		assert_int_equal(baggage_value_decode(slice_of(raw, n), back, sizeof(back), &m), 0);
		assert_text(slice_of(back, m), rows[i].text);
		if (n)
			assert_int_equal(
				baggage_value_encode(slice_cstr(rows[i].text), raw, n - 1, &n),
				-ENOBUFS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_kept_as_they_came),
		cmocka_unit_test(properties_can_be_walked),
		cmocka_unit_test(what_must_be_carried_is_and_more_is_counted),
		cmocka_unit_test(setting_replaces_every_member_of_the_key),
		cmocka_unit_test(values_are_decoded),
		cmocka_unit_test(values_are_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
