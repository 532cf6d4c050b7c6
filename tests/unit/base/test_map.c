#include "t.h"

#include "base/map.h"
#include "base/rng.h"
#include "core/hash.h"

struct keys {
	uint64_t key[20000];
	uint32_t n;
};

static bool same_key(const void *context, uint32_t value, const void *key)
{
	const struct keys *keys = context;

	return keys->key[value] == *(const uint64_t *)key;
}

static void agrees_with_a_plain_array(void **state)
{
	static struct keys keys;
	struct rng rng = {42};
	struct map m;

	map_init(&m);
	for (int i = 0; i < 40000; i++) {
		uint64_t key = rng_below(&rng, 15000), hash = hash_u64(key, m.seed);
		uint32_t at = map_get(&m, hash, same_key, &keys, &key);
		static uint32_t expected[15000]; /* index + 1 */

		assert_int_equal(at, expected[key] - 1);
		if (at != MAP_NONE)
			continue;
		keys.key[keys.n] = key;
		assert_true(map_put(&m, hash, keys.n));
		expected[key] = ++keys.n;
	}
	assert_int_equal(m.used, keys.n);
	map_clear(&m);
	assert_int_equal(map_get(&m, hash_u64(keys.key[0], m.seed), same_key, &keys, &keys.key[0]),
			 MAP_NONE);
	map_done(&m);
}

static void hashes_spread_short_strings(void **state)
{
	uint64_t seen = 0;

	for (char c = 'a'; c <= 'z'; c++)
		seen |= 1ULL << (hash_bytes(&c, 1, 1) >> 58);
	assert_true(__builtin_popcountll(seen) > 12);
	assert_true(hash_bytes("", 0, 1) != hash_bytes("\0", 1, 1));
	assert_true(hash_bytes("\0\0", 2, 1) != hash_bytes("\0", 1, 1));
	assert_true(hash_bytes("abcdefghijklmnopq", 17, 1) !=
		    hash_bytes("abcdefghijklmnopr", 17, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_plain_array),
		cmocka_unit_test(hashes_spread_short_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
