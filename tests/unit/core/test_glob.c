#include "t.h"

#include "base/rng.h"
#include "core/glob.h"

static void patterns_match_whole_texts(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "anything", true},
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"?", "", false},
		{"?", "x", true},
		{"user.*", "user.name", true},
		{"user.*", "user.", true},
		{"user.*", "user", false},
		{"*password*", "db.password.old", true},
		{"*.id", "user.id.id", true},
		{"*.id", "user.idx", false},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "a1c2b", false},
		{"a**c", "ac", true},
		{"*?", "", false},
		{"??*", "ab", true},
		{"*a?", "aaab", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (glob_match(slice_cstr(rows[i].pattern), slice_cstr(rows[i].text)) !=
		    rows[i].matches)
			fail_msg("'%s' against '%s'", rows[i].pattern, rows[i].text);
}

/* The definition, as slow as it likes. */
static bool reference(const char *p, const char *t)
{
	if (*p == '\0')
		return *t == '\0';
	if (*p == '*')
		return reference(p + 1, t) || (*t && reference(p, t + 1));
	return *t && (*p == '?' || *p == *t) && reference(p + 1, t + 1);
}

static void random_patterns_agree_with_the_definition(void **state)
{
	struct rng r = {.state = 7};
	char pattern[8], text[10];

	for (int round = 0; round < 20000; round++) {
		size_t p = rng_below(&r, sizeof(pattern)), t = rng_below(&r, sizeof(text));

		for (size_t i = 0; i < p; i++)
			pattern[i] = "ab*?"[rng_below(&r, 4)];
		for (size_t i = 0; i < t; i++)
			text[i] = "ab"[rng_below(&r, 2)];
		pattern[p] = text[t] = '\0';
		if (glob_match(slice_cstr(pattern), slice_cstr(text)) != reference(pattern, text))
			fail_msg("'%s' against '%s'", pattern, text);
	}
}

/* Some text of up to three more bytes makes it match; longer ones only help stars. */
static bool reference_extends(const char *pattern, const char *text)
{
	char longer[32];
	size_t n = strlen(text);

	memcpy(longer, text, n);
	for (int code = 1; code < 4 * 4 * 4 * 4 * 4 * 4 * 4; code++) {
		size_t at = n;

		for (int rest = code; rest; rest /= 4) {
			if (rest % 4 == 0)
				break;
			longer[at++] = "ab."[rest % 4 - 1];
		}
		longer[at] = '\0';
		if (at > n && reference(pattern, longer))
			return true;
	}
	return false;
}

static void extensions_agree_with_the_definition(void **state)
{
	static char long_pattern[GLOB_MAX_EXTEND_CHARS + 1];
	struct rng r = {.state = 8};
	char pattern[7], text[6];

	for (int round = 0; round < 300; round++) {
		size_t p = rng_below(&r, sizeof(pattern)), t = rng_below(&r, sizeof(text));

		for (size_t i = 0; i < p; i++)
			pattern[i] = "ab*?"[rng_below(&r, 4)];
		for (size_t i = 0; i < t; i++)
			text[i] = "ab"[rng_below(&r, 2)];
		pattern[p] = text[t] = '\0';
		if (glob_may_extend(slice_cstr(pattern), slice_cstr(text)) !=
		    reference_extends(pattern, text))
			fail_msg("'%s' against '%s'", pattern, text);
	}
	memset(long_pattern, 'x', sizeof(long_pattern));
	assert_true(glob_may_extend(slice_of(long_pattern, sizeof(long_pattern)), SLICE("a")));
	assert_false(glob_may_extend(slice_of(long_pattern, sizeof(long_pattern) - 1), SLICE("a")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_whole_texts),
		cmocka_unit_test(random_patterns_agree_with_the_definition),
		cmocka_unit_test(extensions_agree_with_the_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
