/* Memory for what comes by the hundred kilobytes and goes in the order in which it came. */
#include "t.h"

#include <pthread.h>

#include "base/blocks.h"

#define CHUNK BLOCKS_CHUNK_BYTES

static void blocks_are_aligned_and_do_not_overlap(void **state)
{
	static const size_t sizes[] = {0,    1,      63,         64,    65,
				       4096, 300000, CHUNK - 64, CHUNK, 3 * CHUNK};
	struct blocks *b = blocks_new();
	char *taken[ARRAY_SIZE(sizes)];

	assert_non_null(b);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		taken[i] = blocks_take(b, sizes[i]);
		assert_non_null(taken[i]);
		assert_int_equal((uintptr_t)taken[i] % 64, 0);
		memset(taken[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t k = 0; k < sizes[i]; k += 61)
			assert_int_equal(taken[i][k], i + 1);
		blocks_free(taken[i]);
	}
	blocks_free(NULL);
	assert_null(blocks_close(b));
	assert_null(blocks_close(NULL));
}

static void a_chunk_is_used_again_or_given_back_when_its_last_block_has_gone(void **state)
{
	enum { N = 192 };
	size_t before, after;
	struct blocks *b = blocks_new();
	void *taken[N];

	for (int i = 0; i < N; i++)
		taken[i] = blocks_take(b, CHUNK / 3);
	assert_true(blocks_bytes(b) >= N / 3 * CHUNK);
	before = blocks_bytes(b);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N - 1; i++)
			blocks_free(taken[i]);
		for (int i = 0; i < N - 1; i++)
			taken[i] = blocks_take(b, CHUNK / 3);
		assert_true(blocks_bytes(b) <= before + CHUNK);
	}
	for (int i = 0; i < N - 1; i++)
		blocks_free(taken[i]);
	/* What was needed since the last time stays; else it goes little by little, and not all. */
	before = blocks_bytes(b);
	blocks_trim(b);
	assert_int_equal(blocks_bytes(b), before);
	blocks_trim(b);
	after = blocks_bytes(b);
	assert_true(after < before && after > before / 2);
	for (int i = 0; i < N; i++)
		blocks_trim(b);
	assert_true(blocks_bytes(b) >= BLOCKS_KEEP * CHUNK);
	assert_true(blocks_bytes(b) <= (BLOCKS_KEEP + 2) * CHUNK);
	before = blocks_bytes(b);
	memset(taken[N - 1], 1, CHUNK / 3);
	blocks_free(taken[N - 1]);
	/* What is larger than a chunk is not kept at all. */
	blocks_free(blocks_take(b, 8 * CHUNK));
	assert_true(blocks_bytes(b) <= before + CHUNK);
	blocks_close(b);
}

static void what_is_absurdly_large_is_refused(void **state)
{
	struct blocks *b = blocks_new();

	assert_null(blocks_take(b, SIZE_MAX));
	assert_null(blocks_take(b, SIZE_MAX / 2));
	blocks_free(blocks_take(b, 1));
	blocks_close(b);
}

static void *free_later(void *block)
{
	memset(block, 7, 1000);
	blocks_free(block);
	return NULL;
}

static void blocks_outlive_their_owner(void **state)
{
	struct blocks *b = blocks_new();
	pthread_t threads[8];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *block = blocks_take(b, CHUNK / 2);

		assert_non_null(block);
		assert_int_equal(pthread_create(&threads[i], NULL, free_later, block), 0);
	}
	blocks_close(b);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_aligned_and_do_not_overlap),
		cmocka_unit_test(a_chunk_is_used_again_or_given_back_when_its_last_block_has_gone),
		cmocka_unit_test(what_is_absurdly_large_is_refused),
		cmocka_unit_test(blocks_outlive_their_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
