#include "t.h"

#include "core/wide.h"

#define STRING_MAX 70

static void both_hashes_are_the_same(void **state)
{
	for (size_t n = 1; n <= WIDE; n++) {
		char text[WIDE + STRING_MAX];

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)(i * 37 + 200);
		assert_int_equal(wide_hash(text, n, 7), wide_hash_bytes(text, n, 7));
		memset(text + n, 'x', sizeof(text) - n); /* what lies behind does not matter */
		assert_int_equal(wide_hash(text, n, 7), wide_hash_bytes(text, n, 7));
	}
}

static void every_bit_and_the_length_change_the_hash(void **state)
{
	char text[STRING_MAX] = "";

	for (size_t n = 0; n < sizeof(text); n++) {
		uint64_t hash = wide_hash_bytes(text, n, 7);

		assert_true(hash != wide_hash_bytes(text, n, 8));
		assert_true(n == 0 || hash != wide_hash_bytes(text, n - 1, 7));
		for (size_t bit = 0; bit < n * 8; bit++) {
			text[bit / 8] ^= (char)(1 << bit % 8);
			assert_true(hash != wide_hash_bytes(text, n, 7));
			text[bit / 8] ^= (char)(1 << bit % 8);
		}
	}
}

static void only_bytes_of_the_mask_are_compared(void **state)
{
	char a[WIDE] = "", b[WIDE] = "";

	for (size_t n = 0; n <= WIDE + 1; n++) {
		assert_true(wide_equal(a, b, wide_mask(n)));
		for (size_t i = 0; i < WIDE; i++) {
			b[i] = 1;
			assert_int_equal(wide_equal(a, b, wide_mask(n)), i >= n);
			b[i] = 0;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_hashes_are_the_same),
		cmocka_unit_test(every_bit_and_the_length_change_the_hash),
		cmocka_unit_test(only_bytes_of_the_mask_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
