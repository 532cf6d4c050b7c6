#include "t.h"

#include "base/pages.h"

static void any_size_can_be_filled(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       4096,
				       ((size_t)1 << 20) - 1,
				       (size_t)1 << 20,
				       ((size_t)4 << 20) + 1,
				       (size_t)6 << 20};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct pages *p = pages_new(sizes[i]);

		assert_non_null(p);
		assert_int_equal(p->n, sizes[i]);
		assert_int_equal((uintptr_t)p->bytes % 16, 0);
		memset(p->bytes, 0x5a, p->n);
		assert_null(pages_unref(p));
	}
}

static void the_last_owner_frees(void **state)
{
	struct pages *p = pages_new((size_t)3 << 20);

	assert_non_null(p);
	assert_ptr_equal(pages_ref(p), p);
	pages_unref(p);
	memset(p->bytes, 1, p->n); /* still ours */
	pages_unref(p);
	assert_null(pages_unref(NULL));
}

static void impossible_sizes_fail(void **state)
{
	assert_null(pages_new(SIZE_MAX));
	assert_null(pages_new(SIZE_MAX / 2 - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_size_can_be_filled),
		cmocka_unit_test(the_last_owner_frees),
		cmocka_unit_test(impossible_sizes_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
