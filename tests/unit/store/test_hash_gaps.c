#include "t.h"

#include "base/rng.h"
#include "store/hash_gaps.h"

#define MANY 100000

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t *sorted(size_t n, uint64_t seed)
{
	uint64_t *hashes = malloc((n + 1) * sizeof(*hashes));
	struct rng rng = {seed};

	for (size_t i = 0; i < n; i++)
		hashes[i] = rng_next(&rng);
	qsort(hashes, n, sizeof(*hashes), by_value);
	return hashes;
}

static void every_hash_is_found(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 100, 4097, MANY};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		size_t n = sizes[k];
		uint64_t *hashes = sorted(n, n);
		struct hash_gaps *g = hash_gaps_new(hashes, n);
		struct hash_walk walk = {.of = g};

		assert_int_equal(g->hashes, n);
		for (size_t i = 0; i < n; i++) {
			assert_true(hash_walk_to(&walk, hashes[i]));
			assert_true(hash_walk_to(&walk, hashes[i])); /* and again */
			assert_true(hash_gaps_has(g, hashes[i]));
		}
		/* Two bytes each, and one long gap for every few. */
		assert_true(g->n <= n + n / 4 + 16);
		hash_gaps_free(g);
		free(hashes);
	}
}

static void few_others_seem_to_be_there(void **state)
{
	uint64_t *hashes = sorted(MANY, 1), *others = sorted(MANY, 2);
	struct hash_gaps *g = hash_gaps_new(hashes, MANY);
	struct hash_walk walk = {.of = g};
	size_t wrong = 0;

	for (size_t i = 0; i < MANY; i++) {
		bool has = hash_walk_to(&walk, others[i]);

		assert_true(hash_gaps_has(g, others[i]) == has);
		wrong += has;
	}
	assert_in_range(wrong, 1, MANY >> (HASH_GAP_BITS - 2));
	hash_gaps_free(g);
	free(hashes);
	free(others);
}

static void none_and_the_ends_of_the_range(void **state)
{
	static const uint64_t ends[] = {0, 0, UINT64_MAX, UINT64_MAX};
	struct hash_gaps *g = hash_gaps_new(NULL, 0);
	struct hash_walk walk = {.of = g};

	assert_false(hash_walk_to(&walk, 0));
	assert_false(hash_walk_to(&walk, UINT64_MAX));
	assert_false(hash_gaps_has(g, 0));
	hash_gaps_free(g);
	g = hash_gaps_new(ends, 4);
	walk = (struct hash_walk){.of = g};
	assert_true(hash_walk_to(&walk, 0));
	assert_false(hash_walk_to(&walk, UINT64_MAX / 2));
	assert_true(hash_walk_to(&walk, UINT64_MAX));
	assert_true(hash_gaps_has(g, 0));
	assert_false(hash_gaps_has(g, UINT64_MAX / 2));
	assert_true(hash_gaps_has(g, UINT64_MAX));
	hash_gaps_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_hash_is_found),
		cmocka_unit_test(few_others_seem_to_be_there),
		cmocka_unit_test(none_and_the_ends_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
