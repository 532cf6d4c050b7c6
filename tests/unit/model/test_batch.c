/* Limits of a batch, and how a sealed one lies in memory. */
#include "t.h"

#include <errno.h>

#include "base/blocks.h"
#include "model/batch.h"

static void keys_and_types_do_not_touch_each_other(void **state)
{
	struct attr a = {.key = BATCH_STRINGS_MOST - 1, .type = VALUE_RAW_PAIR, .bits = UINT64_MAX};

	assert_int_equal(a.key, BATCH_STRINGS_MOST - 1);
	assert_int_equal(a.type, VALUE_RAW_PAIR);
	a.type = VALUE_EMPTY;
	assert_int_equal(a.key, BATCH_STRINGS_MOST - 1);
	a.key = 0;
	a.type = VALUE_INT;
	assert_int_equal(a.key, 0);
	assert_true(a.integer == -1);
}

/* Codes are keys, which have fewer bits than codes. */
static void more_strings_than_keys_can_name_are_refused(void **state)
{
	struct batch *b = batch_new(0);

	assert_int_equal(batch_string(b, SLICE("one")), 1);
	b->strings = BATCH_STRINGS_MOST;
	assert_int_equal(batch_string(b, SLICE("another")), 0);
	assert_int_equal(b->failed, -E2BIG);
	b->strings = 2;
	assert_int_equal(batch_seal(b), -E2BIG);
	batch_unref(b);
}

static void arrays_of_a_block_begin_at_multiples_of_8(void **state)
{
	struct blocks *blocks = blocks_new();

	for (int attrs = 0; attrs < 5; attrs++) {
		struct batch *b = batch_new(0);
		char *end;

		batch_resource(b);
		batch_scope(b);
		for (int i = 0; i < attrs; i++)
			batch_attr_int(b, SLICE("key"), INT64_MIN + i);
		batch_nested(b, 1);
		b->nested[0] = (struct attr){.type = VALUE_DOUBLE, .number = 0.5};
		*batch_event(b) = (struct event){.attrs = {0, (uint32_t)attrs}, .id1 = 7};
		assert_int_equal(batch_seal_in(b, blocks), 0);
		assert_true(batch_check(b));
		assert_int_equal((uintptr_t)b->nested % 8, 0);
		assert_int_equal((uintptr_t)b->extras % 8, 0);
		assert_int_equal((uintptr_t)b->scopes % 8, 0);
		assert_int_equal((uintptr_t)b->text % 8, 0);
		end = (char *)b->block + batch_arrays_bytes(b);
		assert_ptr_equal(end, b->text + (b->text_n + 7) / 8 * 8);
		for (int i = 0; i < attrs; i++)
			assert_true(b->attrs[i].integer == INT64_MIN + i);
		assert_true(b->nested[0].number == 0.5);
		assert_int_equal(b->events[0].id1, 7);
		batch_unref(b);
	}
	blocks_close(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_types_do_not_touch_each_other),
		cmocka_unit_test(more_strings_than_keys_can_name_are_refused),
		cmocka_unit_test(arrays_of_a_block_begin_at_multiples_of_8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
