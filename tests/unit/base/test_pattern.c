/* base/pattern.h: patterns as RE2 has them, on texts that end nowhere. */
#include "t.h"

#include <errno.h>

#include "base/pattern.h"

static void patterns_match_as_in_re2(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool whole, part;
	} rows[] = {
		{"a", "a", true, true},
		{"a", "ba", false, true},
		{"", "", true, true},
		{"", "x", false, true},
		{"a|b", "ab", false, true},
		{"a|b", "b", true, true},
		{"GET.*", "GET /x", true, true},
		{"\\d+", "12", true, true},
		{"[\\d.]+", "1.2", true, true},
		{"\\w+\\s\\S", "a_b c", true, true},
		{"(?:ab)+", "abab", true, true},
		{"(?i)Error", "eRROR", true, true},
		{".*?x", "aax", true, true},
		{"a\\.b", "a.b", true, true},
		{"a\\.b", "axb", false, false},
		{"[[:alpha:]]+", "ab", true, true},
		{"[]a]+", "]a", true, true},
		{"[^]a]+", "b", true, true},
		{"x{2,3}", "xxx", true, true},
		{"/api/v\\d/.*", "/api/v1/users", true, true},
		{"\\/x", "/x", true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int whole = 0; whole < 2; whole++) {
			struct pattern *p;
			/* The byte behind the text is none of its own. */
			char text[64];
			size_t n = strlen(rows[i].text);

			memcpy(text, rows[i].text, n);
			text[n] = 'a';
			assert_int_equal(pattern_new(slice_cstr(rows[i].pattern), whole, &p, NULL),
					 0);
			assert_int_equal(pattern_matches(p, slice_of(text, n)),
					 whole ? rows[i].whole : rows[i].part);
			pattern_free(p);
		}
}

static void what_is_no_pattern_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = {"(",   "[a",   "a**b(",    "(?=x)", "\\",
					  "\\1", "\\pL", "(?P<n>x)", "[\\]]"};
	struct pattern *p = NULL;
	char longest[PATTERN_MAX_BYTES + 1] = {0};
	struct error e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		e.text[0] = 0;
		assert_int_equal(pattern_new(slice_cstr(bad[i]), true, &p, &e), -EINVAL);
		assert_true(e.text[0] != 0);
	}
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(pattern_new(slice_of(longest, sizeof(longest)), true, &p, &e), -EINVAL);
	assert_int_equal(pattern_new(SLICE("a\0b"), true, &p, &e), -EINVAL);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_in_re2),
		cmocka_unit_test(what_is_no_pattern_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
