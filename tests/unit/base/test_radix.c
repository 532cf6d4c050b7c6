#include "t.h"

#include "base/radix.h"
#include "base/rng.h"

static void sorts_and_keeps_the_order_of_equals(void **state)
{
	static struct radix_item items[20000], spare[20000];
	static const uint64_t most[] = {1, 7, 300, 1 << 20, UINT64_MAX};
	struct rng rng = {1};

	for (size_t round = 0; round < 200; round++) {
		size_t n = rng_below(&rng, round % 2 ? 80 : 20000);

		for (size_t i = 0; i < n; i++)
			items[i] = (struct radix_item){
				rng_below(&rng, most[round % 5]) << round % 3, (uint32_t)i};
		/* One far from the others, which are then nearly equal. */
		if (n > 0 && round % 4 == 0)
			items[n / 2].key = UINT64_MAX;
		radix_sort(items, spare, n);
		for (size_t i = 1; i < n; i++) {
			assert_true(items[i - 1].key <= items[i].key);
			if (items[i - 1].key == items[i].key)
				assert_true(items[i - 1].value < items[i].value);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_and_keeps_the_order_of_equals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
