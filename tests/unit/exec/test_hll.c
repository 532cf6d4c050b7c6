/* exec/hll.h: exact for few, within the stated error for many, the union when merged. */
#include "t.h"

#include <math.h>

#include "base/rng.h"
#include "exec/hll.h"

static uint64_t nth(uint64_t i)
{
	struct rng r = {.state = i * 77};

	return rng_next(&r);
}

static void few_are_counted_exactly(void **state)
{
	struct arena arena = {0};
	struct hll h = {0};

	(void)state;
	assert_true(hll_count(&h) == 0);
	for (uint64_t twice = 0; twice < 2; twice++)
		for (uint64_t i = 0; i < HLL_EXACT; i++)
			assert_true(hll_add(&h, &arena, i == 7 ? 0 : nth(i)));
	assert_true(hll_is_exact(&h));
	assert_true(hll_count(&h) == HLL_EXACT);
	arena_done(&arena);
}

static void many_are_within_three_standard_errors(void **state)
{
	static const uint64_t sizes[] = {257, 1000, 4096, 10000, 20000, 100000, 1000000};
	struct arena arena = {0};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct hll h = {0};

		for (uint64_t i = 0; i < sizes[k]; i++)
			assert_true(hll_add(&h, &arena, nth(i)));
		assert_true(fabs(hll_count(&h) / (double)sizes[k] - 1) < 3 * HLL_ERROR);
	}
	arena_done(&arena);
}

static void merging_is_the_union(void **state)
{
	static const uint64_t sizes[][2] = {
		{10, 20}, {200, 200}, {100, 5000}, {5000, 100}, {6000, 7000}};
	struct arena arena = {0};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct hll a = {0}, b = {0}, all = {0};

		for (uint64_t i = 0; i < sizes[k][0]; i++)
			assert_true(hll_add(&a, &arena, nth(i)) && hll_add(&all, &arena, nth(i)));
		for (uint64_t i = 0; i < sizes[k][1]; i++)
			assert_true(hll_add(&b, &arena, nth(i + 50)) &&
				    hll_add(&all, &arena, nth(i + 50)));
		assert_true(hll_merge(&a, &arena, &b));
		assert_true(hll_count(&a) == hll_count(&all));
	}
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_are_counted_exactly),
		cmocka_unit_test(many_are_within_three_standard_errors),
		cmocka_unit_test(merging_is_the_union),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
