/* Filters of trace ids: what was added is there, little else seems to be, and they grow. */
#include "t.h"

#include "base/rng.h"
#include "store/id_filter.h"

static void what_was_added_is_there_and_little_else(void **state)
{
	struct id_filter *open = NULL, *f = id_filter_with_room(&open, ID_FILTER_LEAST);
	struct rng rng = {5}, again = {5}, others = {77};
	size_t wrong = 0;

	assert_ptr_equal(f, open);
	assert_false(id_filter_has(f, 0));
	for (size_t i = 0; i < ID_FILTER_LEAST; i++)
		id_filter_add(f, rng_next(&rng));
	for (size_t i = 0; i < ID_FILTER_LEAST; i++)
		assert_true(id_filter_has(f, rng_next(&again)));
	for (size_t i = 0; i < 100000; i++)
		wrong += id_filter_has(f, rng_next(&others));
	assert_in_range(wrong, 1, 200); /* one in 1,000 */
	id_filter_unref(f);
	id_filter_unref(open);
}

static void one_that_is_full_is_followed_by_a_larger_one(void **state)
{
	struct id_filter *open = NULL, *first = id_filter_with_room(&open, 3), *f;

	assert_int_equal(first->most, ID_FILTER_LEAST);
	first->n = ID_FILTER_LEAST - 10;
	f = id_filter_with_room(&open, 10);
	assert_ptr_equal(f, first);
	id_filter_unref(f);
	f = id_filter_with_room(&open, 11);
	assert_ptr_not_equal(f, first);
	assert_ptr_equal(f, open);
	assert_int_equal(f->most, 2 * ID_FILTER_LEAST);
	id_filter_unref(f);
	/* One segment may have more than the largest is for. */
	f = id_filter_with_room(&open, 2 * ID_FILTER_MOST + 1);
	assert_int_equal(f->most, 4 * ID_FILTER_MOST);
	f->n = f->most;
	id_filter_unref(f);
	f = id_filter_with_room(&open, 1);
	assert_int_equal(f->most, ID_FILTER_MOST);
	id_filter_unref(f);
	id_filter_unref(first);
	id_filter_unref(open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_there_and_little_else),
		cmocka_unit_test(one_that_is_full_is_followed_by_a_larger_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
