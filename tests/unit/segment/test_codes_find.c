/* A code is found wherever it stands, in any number of codes. */
#include "t.h"

#include "base/rng.h"
#include "segment/codes_find.h"

#define MOST 100

static void every_place_of_a_code_is_found(void **state)
{
	struct rng rng = {3};

	for (uint32_t n = 0; n <= MOST; n++)
		for (uint32_t kinds = 1; kinds < 40; kinds += 13) {
			uint32_t codes[MOST], out[MOST + 1], found, at = 0;

			for (uint32_t i = 0; i < n; i++)
				codes[i] = (uint32_t)rng_below(&rng, kinds);
			found = codes_find(codes, n, 0, out);
			for (uint32_t i = 0; i < n; i++)
				if (codes[i] == 0) {
					assert_true(at < found);
					assert_int_equal(out[at++], i);
				}
			assert_int_equal(at, found);
			assert_int_equal(codes_find(codes, n, kinds, out), 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_of_a_code_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
