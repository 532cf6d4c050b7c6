#include "t.h"

#include "base/arena.h"

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
	struct arena a = {0};
	char *seen[2000];

	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		seen[i] = arena_alloc(&a, i % 97 + 1);
		assert_non_null(seen[i]);
		assert_int_equal((uintptr_t)seen[i] % 16, 0);
		memset(seen[i], (int)(i & 0xff), i % 97 + 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		for (size_t k = 0; k < i % 97 + 1; k++)
			assert_int_equal((unsigned char)seen[i][k], i & 0xff);
	arena_done(&a);
	assert_int_equal(a.bytes, 0);
}

static void impossible_sizes_fail(void **state)
{
	struct arena a = {0};

	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_zalloc(&a, SIZE_MAX / 2, 4));
	assert_non_null(arena_alloc(&a, 0));
	arena_done(&a);
}

static void text_is_copied_with_a_nul(void **state)
{
	struct arena a = {0};

	assert_string_equal(arena_dup(&a, SLICE("abc")).p, "abc");
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
		cmocka_unit_test(impossible_sizes_fail),
		cmocka_unit_test(text_is_copied_with_a_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
