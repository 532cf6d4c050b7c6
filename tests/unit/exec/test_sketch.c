/* exec/sketch.h: quantiles within the stated error, whatever was merged in which order. */
#include "t.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "exec/sketch.h"

#define NUMBERS 20000

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double draw(struct rng *r, int kind)
{
	switch (kind) {
	case 0:
		return exp(20 * rng_unit(r)); /* durations */
	case 1:
		return rng_unit(r) - 0.5; /* both signs */
	case 2:
		return -1e200 * rng_unit(r) * rng_unit(r);
	default:
		return (double)rng_below(r, 5); /* few, and 0 */
	}
}

static void quantiles_are_within_the_stated_error(void **state)
{
	static double numbers[NUMBERS];
	static const double shares[] = {0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
	struct rng r = {.state = 1};

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct arena arena = {0};
		struct sketch s;

		sketch_init(&s);
		for (size_t i = 0; i < NUMBERS; i++) {
			numbers[i] = draw(&r, kind);
			assert_true(sketch_add(&s, &arena, numbers[i], 1));
		}
		qsort(numbers, NUMBERS, sizeof(*numbers), by_number);
		for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
			size_t rank = MIN((size_t)(shares[i] * NUMBERS), (size_t)NUMBERS - 1);
			double truth = numbers[rank], got = sketch_quantile(&s, shares[i]);

			assert_true(fabs(got - truth) <= SKETCH_ERROR * fabs(truth) * (1 + 1e-12));
		}
		arena_done(&arena);
	}
}

static void merging_is_adding_in_any_order(void **state)
{
	struct arena arena = {0};
	struct sketch parts[4], whole, forward, backward;
	struct rng r = {.state = 2};

	(void)state;
	sketch_init(&whole);
	sketch_init(&forward);
	sketch_init(&backward);
	for (size_t i = 0; i < 4; i++)
		sketch_init(&parts[i]);
	for (size_t i = 0; i < NUMBERS; i++) {
		double x = draw(&r, (int)(i % 4)), weight = (double)(1 + i % 3);

		assert_true(sketch_add(&whole, &arena, x, weight));
		assert_true(sketch_add(&parts[rng_below(&r, 4)], &arena, x, weight));
	}
	for (size_t i = 0; i < 4; i++) {
		assert_true(sketch_merge(&forward, &arena, &parts[i]));
		assert_true(sketch_merge(&backward, &arena, &parts[3 - i]));
	}
	for (double q = 0; q <= 1; q += 0.01) {
		assert_true(sketch_quantile(&whole, q) == sketch_quantile(&forward, q));
		assert_true(sketch_quantile(&whole, q) == sketch_quantile(&backward, q));
	}
	arena_done(&arena);
}

static void nothing_and_the_extremes(void **state)
{
	struct arena arena = {0};
	struct sketch s;

	(void)state;
	sketch_init(&s);
	assert_true(isnan(sketch_quantile(&s, 0.5)));
	assert_true(sketch_add(&s, &arena, NAN, 1));
	assert_true(isnan(sketch_quantile(&s, 0.5)));
	assert_true(sketch_add(&s, &arena, 0, 1));
	assert_true(sketch_add(&s, &arena, 5e-324, 1));
	assert_true(sketch_quantile(&s, 0) == 0);
	assert_true(sketch_add(&s, &arena, INFINITY, 1));
	assert_true(sketch_add(&s, &arena, -INFINITY, 1));
	assert_true(sketch_add(&s, &arena, 0x1.fffffffffffffp1023, 10));
	assert_true(sketch_quantile(&s, 0.9) >= 0x1.fp1023);
	assert_true(sketch_quantile(&s, 0.001) <= -0x1.fp1023);
	arena_done(&arena);
}

static void sum_weights(void *context, double low, double high, double weight)
{
	assert_true(low <= high);
	*(double *)context += weight;
}

static void buckets_hold_everything(void **state)
{
	struct arena arena = {0};
	struct rng r = {.state = 3};
	struct sketch s;
	double sum = 0;

	(void)state;
	sketch_init(&s);
	for (size_t i = 0; i < NUMBERS; i++)
		assert_true(sketch_add(&s, &arena, draw(&r, (int)(i % 4)), 2));
	sketch_each(&s, sum_weights, &sum);
	assert_true(sum == 2.0 * NUMBERS);
	arena_done(&arena);
}

static void many_whole_numbers_are_as_one_after_the_other(void **state)
{
	static int64_t numbers[NUMBERS];
	struct arena arena = {0};
	struct rng r = {.state = 4};
	struct sketch one, many;

	(void)state;
	sketch_init(&one);
	sketch_init(&many);
	for (size_t i = 0; i < NUMBERS; i++) {
		numbers[i] = (int64_t)(rng_next(&r) >> (1 + rng_below(&r, 63))) - 1;
		if (numbers[i] >= 0)
			assert_true(sketch_add(&one, &arena, (double)numbers[i], 1));
	}
	for (size_t i = 0, n; i < NUMBERS; i += n) {
		n = MIN(rng_below(&r, 50), NUMBERS - i);
		assert_true(sketch_add_whole(&many, &arena, numbers + i, n));
	}
	assert_true(one.weight == many.weight && one.zero == many.zero);
	assert_true(one.min == many.min && one.max == many.max);
	for (double q = 0; q <= 1; q += 1.0 / 256)
		assert_true(sketch_quantile(&one, q) == sketch_quantile(&many, q));
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_the_stated_error),
		cmocka_unit_test(merging_is_adding_in_any_order),
		cmocka_unit_test(nothing_and_the_extremes),
		cmocka_unit_test(buckets_hold_everything),
		cmocka_unit_test(many_whole_numbers_are_as_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
