/* Quantiles from bins: close, mergeable, at home in all 63 bits. */
#include "t.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "store/octaves.h"

#define N 20000

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_are_within_their_error(void **state)
{
	static const double qs[] = {0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999};
	uint64_t *values = malloc(N * sizeof(*values));
	struct rng rng = {5};

	(void)state;
	for (unsigned spread = 3; spread <= 63; spread += 10) {
		struct octaves all = {0}, halves[2] = {0};
		struct arena arena = {0};

		for (size_t i = 0; i < N; i++) {
			values[i] = rng_next(&rng) >> (64 - spread) >> rng_below(&rng, spread);
			assert_true(octaves_add(&all, &arena, values[i]));
			assert_true(octaves_add(&halves[i % 2], &arena, values[i]));
		}
		qsort(values, N, sizeof(*values), by_size);
		assert_true(octaves_merge(&halves[0], &arena, &halves[1]));
		for (size_t i = 0; i < ARRAY_SIZE(qs); i++) {
			double truth = (double)values[(size_t)(qs[i] * N)];
			uint64_t found = octaves_quantile(&all, qs[i]);

			assert_true(fabs((double)found - truth) <= truth / 128 + 0.5);
			assert_int_equal(octaves_quantile(&halves[0], qs[i]), found);
		}
		assert_int_equal(octaves_quantile(&all, 1), values[N - 1]);
		arena_done(&arena);
	}
	free(values);
}

static void nothing_and_the_largest_number(void **state)
{
	struct octaves o = {0};
	struct arena arena = {0};

	(void)state;
	assert_int_equal(octaves_quantile(&o, 0.5), 0);
	assert_true(octaves_add(&o, &arena, UINT64_MAX));
	assert_int_equal(octaves_quantile(&o, 0.5), octaves_quantile(&o, 0));
	assert_int_equal(octaves_quantile(&o, 1), UINT64_MAX);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_their_error),
		cmocka_unit_test(nothing_and_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
