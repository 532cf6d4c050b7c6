#include "t.h"

#include "base/rng.h"
#include "sampling/policy.h"

#define HALF    0x80000000000000
#define QUARTER 0xc0000000000000

/* A slice as a constant initializer. */
#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static const struct policy_rule rules[] = {
	{TEXT("health"), TEXT(""), TEXT("GET /health*"), THRESHOLD_NEVER},
	{TEXT("checkout"), TEXT("checkout"), TEXT(""), THRESHOLD_ALWAYS},
	{TEXT("shop"), TEXT("shop-*"), TEXT("*search*"), QUARTER},
	{TEXT("shadowed"), TEXT("checkout"), TEXT("pay"), QUARTER},
};
static const struct policy policy = {
	rules, ARRAY_SIZE(rules), {.name = TEXT("default"), .threshold = HALF}};

static void the_first_match_wins(void **state)
{
	static const struct {
		const char *service, *operation, *policy;
	} rows[] = {
		{"checkout", "GET /healthz", "health"}, {"checkout", "pay", "checkout"},
		{"shop-web", "do search now", "shop"},  {"shop-web", "buy", "default"},
		{"shop", "search", "default"},          {"", "", "default"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_text(policy_match(&policy, slice_cstr(rows[i].service),
					 slice_cstr(rows[i].operation))
				    ->name,
			    rows[i].policy);
}

static void the_larger_threshold_decides_and_says_whose_it_is(void **state)
{
	const struct policy_rule quarter = {.name = SLICE("q"), .threshold = QUARTER};
	static const struct {
		uint64_t upstream, randomness, threshold;
		bool keep;
		const char *policy;
	} rows[] = {
		{THRESHOLD_ALWAYS, QUARTER, QUARTER, true, "q"},
		{THRESHOLD_ALWAYS, QUARTER - 1, QUARTER, false, "q"},
		{HALF, QUARTER + 5, QUARTER, true, "q"},
		{HALF, HALF + 5, QUARTER, false, "q"},
		{0xf0000000000000, 0xf0000000000000, 0xf0000000000000, true, ""},
		{THRESHOLD_UNKNOWN, QUARTER, THRESHOLD_UNKNOWN, true, ""},
		{THRESHOLD_UNKNOWN, HALF, THRESHOLD_UNKNOWN, false, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_decision d =
			policy_decide(&quarter, rows[i].upstream, rows[i].randomness);

		assert_int_equal(d.keep, rows[i].keep);
		assert_true(d.threshold == rows[i].threshold);
		assert_text(d.policy, rows[i].policy);
	}
}

/* Two samplers in a row keep what the stricter one alone would have kept. */
static void decisions_in_a_row_are_consistent(void **state)
{
	struct rng r = {.state = 11};

	for (int i = 0; i < 20000; i++) {
		uint64_t R = rng_next(&r) >> 8;
		struct policy_rule a = {.threshold = rng_next(&r) >> 8},
				   b = {.threshold = rng_next(&r) >> 8};
		struct policy_decision first = policy_decide(&a, THRESHOLD_ALWAYS, R), second;

		if (!first.keep)
			continue;
		second = policy_decide(&b, first.threshold, R);
		assert_int_equal(second.keep,
				 threshold_keeps(threshold_compose(a.threshold, b.threshold), R));
		if (second.keep)
			assert_true(threshold_keeps(second.threshold, R));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_match_wins),
		cmocka_unit_test(the_larger_threshold_decides_and_says_whose_it_is),
		cmocka_unit_test(decisions_in_a_row_are_consistent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
