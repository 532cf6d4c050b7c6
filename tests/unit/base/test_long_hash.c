#include "t.h"

#include "base/long_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Whatever the processor: files that one machine wrote are read by another. */
static void it_is_xxh3_at_every_length(void **state)
{
	static char bytes[5000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 131 >> 3);
	for (size_t n = 0; n + 3 < sizeof(bytes); n += n < 600 ? 1 : 97) {
		const char *p = bytes + n % 3;
		XXH128_hash_t expected = XXH3_128bits_withSeed(p, n, n * 7);
		struct long_hash hash = long_hash_128(p, n, n * 7);

		assert_true(long_hash_64(p, n) == XXH3_64bits(p, n));
		assert_true(hash.low == expected.low64 && hash.high == expected.high64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_xxh3_at_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
