#include "t.h"

#include <errno.h>
#include <math.h>

#include "base/rng.h"
#include "sampling/threshold.h"

static struct trace_id random_id(struct rng *r)
{
	struct trace_id id;

	store_be64(id.b, rng_next(r));
	store_be64(id.b + 8, rng_next(r));
	return id;
}

static void texts_of_the_specification(void **state)
{
	static const struct {
		const char *text;
		uint64_t threshold;
		double probability;
	} rows[] = {
		{"0", 0, 1},
		{"8", 0x80000000000000, 0.5},
		{"c", 0xc0000000000000, 0.25},
		{"4", 0x40000000000000, 0.75},
		{"f", 0xf0000000000000, 0.0625},
		{"ff", 0xff000000000000, 0x1p-8},
		{"fd70a4", 0xfd70a400000000, 0x28f5cp-24},
		{"00000000000001", 1, 1},
		{"ffffffffffffff", 0xffffffffffffff, 0x1p-56},
	};
	char text[THRESHOLD_DIGITS + 1];
	uint64_t t;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(threshold_parse(slice_cstr(rows[i].text), &t), 0);
		assert_true(t == rows[i].threshold);
		assert_int_equal(threshold_format(t, text), strlen(rows[i].text));
		assert_string_equal(text, rows[i].text);
		assert_true(threshold_probability(t) == rows[i].probability);
	}
	assert_int_equal(threshold_parse(SLICE("c0000"), &t), 0);
	threshold_format(t, text);
	assert_string_equal(text, "c");
}

static void bad_texts_are_refused(void **state)
{
	static const char *const bad[] = {"", "C", "g", "0x1", " 1", "-1", "000000000000000", "8 "};
	uint64_t t = 77;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(threshold_parse(slice_cstr(bad[i]), &t), -EINVAL);
	assert_int_equal(randomness_parse(SLICE("1234567890abc"), &t), -EINVAL);
	assert_int_equal(randomness_parse(SLICE("1234567890abcde"), &t), -EINVAL);
	assert_int_equal(randomness_parse(SLICE("1234567890ABCD"), &t), -EINVAL);
	assert_true(t == 77);
	assert_int_equal(randomness_parse(SLICE("1234567890abcd"), &t), 0);
	assert_true(t == 0x1234567890abcd);
}

static void probabilities_become_short_thresholds(void **state)
{
	/* Most of them are OpenTelemetry's own examples. */
	static const struct {
		double probability;
		unsigned precision;
		const char *text;
	} rows[] = {
		{1, 4, "0"},
		{0.5, 4, "8"},
		{0.25, 4, "c"},
		{0.1, 4, "e666"},
		{0.1, 3, "e66"},
		{0.01, 4, "fd70a"},
		{0.001, 4, "ffbe77"},
		{0.7, 4, "4ccd"},
		{0.99, 4, "028f6"},
		{1 / 3.0, 4, "aaab"},
		{2 / 3.0, 4, "5555"},
		{1 / 3.0, 14, "aaaaaaaaaaaaac"},
		{2 / 3.0, 14, "55555555555558"},
		{0x1p-56, 1, "ffffffffffffff"},
		{0x1p-56, 14, "ffffffffffffff"},
		{1 - 0x1p-53, 14, "00000000000008"},
	};
	char text[THRESHOLD_DIGITS + 1];
	uint64_t t;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(threshold_from_probability_short(rows[i].probability,
								  rows[i].precision, &t),
				 0);
		threshold_format(t, text);
		assert_string_equal(text, rows[i].text);
	}
	assert_int_equal(threshold_from_probability_short(0, 4, &t), 0);
	assert_true(t == THRESHOLD_NEVER);
	assert_int_equal(threshold_from_probability_short(0.5, 0, &t), -ERANGE);
	assert_int_equal(threshold_from_probability_short(0.5, 15, &t), -ERANGE);
}

static void what_is_no_probability_is_refused(void **state)
{
	static const double bad[] = {-0.1, 1.0000001, NAN, INFINITY, -INFINITY, 0x1p-57, 1e-300};
	uint64_t t = 77;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(threshold_from_probability(bad[i], &t), -ERANGE);
		assert_int_equal(threshold_from_probability_short(bad[i], 4, &t), -ERANGE);
	}
	assert_true(t == 77);
}

static void thresholds_round_trip(void **state)
{
	struct rng r = {.state = 1};
	char text[THRESHOLD_DIGITS + 1];
	uint64_t back;

	for (int i = 0; i < 100000; i++) {
		/* 53 significant bits at most, at every magnitude. */
		uint64_t kept = 1 + (rng_next(&r) >> 11 >> rng_below(&r, 53));
		uint64_t t = THRESHOLD_NEVER - (kept << rng_below(&r, 4));

		assert_int_equal(threshold_from_probability(threshold_probability(t), &back), 0);
		assert_true(back == t);
		threshold_format(t, text);
		assert_int_equal(threshold_parse(slice_cstr(text), &back), 0);
		assert_true(back == t);
		assert_true(fabs(threshold_weight(t) * threshold_probability(t) - 1) < 1e-15);
	}
}

static void a_short_threshold_is_near(void **state)
{
	struct rng r = {.state = 2};
	uint64_t t;

	for (int i = 0; i < 10000; i++) {
		double p = pow(2, -40 * rng_unit(&r));

		assert_int_equal(threshold_from_probability_short(p, 4, &t), 0);
		assert_true(fabs(threshold_probability(t) / p - 1) <= 0x1p-12);
	}
}

static void randomness_is_the_ids_low_56_bits(void **state)
{
	struct trace_id id;

	assert_int_equal(trace_id_parse(SLICE("ffffffffffffffffff1234567890abcd"), &id), 0);
	assert_true(trace_randomness(id) == 0x1234567890abcd);
	assert_true(threshold_keeps(THRESHOLD_ALWAYS, 0));
	assert_true(threshold_keeps(0x1234567890abcd, 0x1234567890abcd));
	assert_false(threshold_keeps(0x1234567890abce, 0x1234567890abcd));
	assert_false(threshold_keeps(THRESHOLD_NEVER, 0xffffffffffffff));
	assert_false(threshold_keeps(THRESHOLD_UNKNOWN, 0xffffffffffffff));
}

static void a_second_sampler_composes_with_the_first(void **state)
{
	struct rng r = {.state = 3};

	for (int i = 0; i < 100000; i++) {
		uint64_t a = rng_next(&r) >> 8, b = rng_next(&r) >> 8;
		uint64_t R = trace_randomness(random_id(&r));

		assert_int_equal(threshold_keeps(threshold_compose(a, b), R),
				 threshold_keeps(a, R) && threshold_keeps(b, R));
		assert_true(threshold_compose(a, b) == threshold_compose(b, a));
	}
	assert_true(threshold_compose(THRESHOLD_UNKNOWN, 5) == THRESHOLD_UNKNOWN);
	assert_true(threshold_compose(5, THRESHOLD_UNKNOWN) == THRESHOLD_UNKNOWN);
	assert_true(threshold_compose(THRESHOLD_NEVER, 5) == THRESHOLD_NEVER);
}

static void thinning_multiplies_probabilities(void **state)
{
	struct rng r = {.state = 4};

	for (int i = 0; i < 100000; i++) {
		uint64_t a = rng_next(&r) >> 8, b = rng_next(&r) >> 8, t = threshold_thin(a, b);
		double expected = threshold_probability(a) * threshold_probability(b);

		assert_true(t >= a && t >= b);
		assert_true(fabs(threshold_probability(t) - expected) <= 0x1p-53);
	}
	assert_true(threshold_thin(0x80000000000000, 0x80000000000000) == 0xc0000000000000);
	assert_true(threshold_thin(0, 0) == 0);
	assert_true(threshold_thin(THRESHOLD_NEVER, 0) == THRESHOLD_NEVER);
	assert_true(threshold_thin(THRESHOLD_UNKNOWN, 0) == THRESHOLD_UNKNOWN);
	assert_true(threshold_weight(THRESHOLD_NEVER) == 0);
	assert_true(threshold_weight(THRESHOLD_UNKNOWN) == 0);
	assert_true(threshold_weight(0xc0000000000000) == 4);
}

/* A fixed seed, so the outcome is fixed; the bound is five standard deviations. */
static void as_many_are_kept_as_promised_and_weights_give_them_back(void **state)
{
	static const double probabilities[] = {1, 0.5, 0.1, 0.01, 1 / 3.0};
	const int n = 200000;

	for (size_t i = 0; i < ARRAY_SIZE(probabilities); i++) {
		double p = probabilities[i], weights = 0, bound = 5 * sqrt(n * (1 - p) / p);
		struct rng r = {.state = 5 + i};
		uint64_t t;

		assert_int_equal(threshold_from_probability(p, &t), 0);
		for (int k = 0; k < n; k++)
			if (threshold_keeps(t, trace_randomness(random_id(&r))))
				weights += threshold_weight(t);
		if (fabs(weights - n) > bound + 1e-6)
			fail_msg("p=%g: %g instead of %d", p, weights, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_the_specification),
		cmocka_unit_test(bad_texts_are_refused),
		cmocka_unit_test(probabilities_become_short_thresholds),
		cmocka_unit_test(what_is_no_probability_is_refused),
		cmocka_unit_test(thresholds_round_trip),
		cmocka_unit_test(a_short_threshold_is_near),
		cmocka_unit_test(randomness_is_the_ids_low_56_bits),
		cmocka_unit_test(a_second_sampler_composes_with_the_first),
		cmocka_unit_test(thinning_multiplies_probabilities),
		cmocka_unit_test(as_many_are_kept_as_promised_and_weights_give_them_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
