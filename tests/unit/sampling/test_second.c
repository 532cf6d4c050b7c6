/* Sampling what was already sampled: fair, whole, nested, and independent of the first sampler. */
#include "t.h"

#include <math.h>

#include "base/rng.h"
#include "sampling/second.h"

#define TRACES 200000

static struct trace_id random_id(struct rng *rng)
{
	struct trace_id id;

	for (size_t i = 0; i < sizeof(id.b); i += 8) {
		uint64_t word = rng_next(rng);

		memcpy(id.b + i, &word, 8);
	}
	return id;
}

/* The number is in what stores have written: it must stay. */
static void a_trace_keeps_its_number(void **state)
{
	static const struct trace_id id = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

	(void)state;
	assert_int_equal(second_randomness((struct trace_id){{0}}), 0);
	assert_int_equal(second_randomness(id), 0x527625a421048e);
}

static void the_share_that_stays_is_the_share_that_was_asked(void **state)
{
	static const double shares[] = {1, 0.5, 0.1, 0.01};
	struct rng rng;

	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		double p = shares[i], spread = 4 * sqrt(TRACES * p * (1 - p));
		uint64_t threshold, kept = 0;

		rng = (struct rng){7 + i};
		assert_int_equal(threshold_from_probability(p, &threshold), 0);
		for (int n = 0; n < TRACES; n++)
			kept += threshold_keeps(threshold, second_randomness(random_id(&rng)));
		assert_true(fabs((double)kept - TRACES * p) <= spread);
	}
}

/* Sequential ids, ids of 64 bits, and ids a first sampler chose by their low bits. */
static void ids_that_are_not_random_are_spread_all_the_same(void **state)
{
	uint64_t kept_sequential = 0, kept_small = 0, kept_first = 0, first = 0;
	struct rng rng;

	(void)state;
	rng = (struct rng){3};
	for (uint64_t n = 0; n < TRACES; n++) {
		struct trace_id a = {{0}}, b = {{0}}, c = random_id(&rng);
		uint64_t half = THRESHOLD_NEVER / 2, low = rng_next(&rng);

		for (int i = 0; i < 8; i++) {
			a.b[15 - i] = (uint8_t)(n >> 8 * i);
			b.b[8 + i] = (uint8_t)(low >> 8 * i);
		}
		kept_sequential += threshold_keeps(half, second_randomness(a));
		kept_small += threshold_keeps(half, second_randomness(b));
		if (!threshold_keeps(half, trace_randomness(c)))
			continue;
		first++;
		kept_first += threshold_keeps(half, second_randomness(c));
	}
	assert_true(fabs((double)kept_sequential - TRACES / 2.0) < 4 * sqrt(TRACES / 4.0));
	assert_true(fabs((double)kept_small - TRACES / 2.0) < 4 * sqrt(TRACES / 4.0));
	assert_true(fabs((double)kept_first - (double)first / 2) < 4 * sqrt((double)first / 4));
}

static void thinning_keeps_a_subset_and_probabilities_multiply(void **state)
{
	uint64_t half, tenth, both;
	bool known;
	struct rng rng;

	(void)state;
	rng = (struct rng){11};
	assert_int_equal(threshold_from_probability(0.5, &half), 0);
	assert_int_equal(threshold_from_probability(0.1, &tenth), 0);
	both = threshold_thin(half, tenth);
	for (int n = 0; n < 1000; n++) {
		uint64_t z = second_randomness(random_id(&rng));

		if (threshold_keeps(both, z))
			assert_true(threshold_keeps(half, z));
	}
	assert_true(fabs(second_weight(THRESHOLD_ALWAYS, both, &known) - 20) < 1e-9);
	assert_true(known);
	assert_true(fabs(second_weight(half, both, &known) - 40) < 1e-9);
	assert_true(fabs(second_weight(THRESHOLD_UNKNOWN, tenth, &known) - 10) < 1e-9);
	assert_false(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_keeps_its_number),
		cmocka_unit_test(the_share_that_stays_is_the_share_that_was_asked),
		cmocka_unit_test(ids_that_are_not_random_are_spread_all_the_same),
		cmocka_unit_test(thinning_keeps_a_subset_and_probabilities_multiply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
