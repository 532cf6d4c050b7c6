/* Limits of a batch, and how a sealed one lies in memory. */
#include "t.h"

#include <errno.h>
#include <math.h>

#include "base/blocks.h"
#include "base/cleanup.h"
#include "model/batch_copy.h"

static void keys_and_types_do_not_touch_each_other(void **state)
{
	struct attr a = {.key = BATCH_STRINGS_MOST - 1, .type = VALUE_RAW_PAIR, .word = UINT32_MAX};

	assert_int_equal(a.key, BATCH_STRINGS_MOST - 1);
	assert_int_equal(a.type, VALUE_RAW_PAIR);
	a.type = VALUE_EMPTY;
	assert_int_equal(a.key, BATCH_STRINGS_MOST - 1);
	a.key = 0;
	a.type = VALUE_INT;
	assert_int_equal(a.key, 0);
	assert_int_equal(a.word, UINT32_MAX);
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
		b->nested[0] = batch_double(b, 0.5);
		*batch_event(b) = (struct event){.attrs = {0, (uint32_t)attrs}, .id1 = 7};
		assert_int_equal(batch_seal_in(b, blocks), 0);
		assert_true(batch_check(b));
		assert_int_equal((uintptr_t)b->nested % 8, 0);
		assert_int_equal((uintptr_t)b->wides % 8, 0);
		assert_int_equal((uintptr_t)b->extras % 8, 0);
		assert_int_equal((uintptr_t)b->scopes % 8, 0);
		assert_int_equal((uintptr_t)b->text % 8, 0);
		end = (char *)b->block + batch_arrays_bytes(b);
		assert_ptr_equal(end, b->text + (b->text_n + 7) / 8 * 8);
		for (int i = 0; i < attrs; i++)
			assert_true(attr_integer(b, &b->attrs[i]) == INT64_MIN + i);
		assert_true(attr_number(b, &b->nested[0]) == 0.5);
		assert_int_equal(b->events[0].id1, 7);
		batch_unref(b);
	}
	blocks_close(blocks);
}

/* Of the rows behind the fifth every third has a place, and every sixth only half of one. */
static struct event_place place_told(size_t i)
{
	if (i < 5 || i % 3 != 2)
		return (struct event_place){0, 0};
	return (struct event_place){i % 2 ? 100 + i : 0, 1000 + i};
}

static struct batch *placed_batch(size_t n)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < n; i++) {
		batch_event(b)->id1 = i + 1;
		batch_place(b, (uint32_t)i, place_told(i));
	}
	return b;
}

static void assert_placed(const struct batch *b, size_t n)
{
	assert_int_equal(b->event_n, n);
	for (size_t i = 0; i < n; i++) {
		struct event_place place = event_place((struct event_ref){b, (uint32_t)i});

		assert_int_equal(b->events[i].id1, i + 1);
		assert_int_equal(place.unit, place_told(i).unit);
		assert_int_equal(place.seq, place_told(i).seq);
	}
}

static void places_are_kept_while_built_and_sealed(void **state)
{
	static const size_t counts[] = {0, 5, 6, 8, 1000};
	struct blocks *blocks = blocks_new();

	for (size_t k = 0; k < ARRAY_SIZE(counts) * 2; k++) {
		size_t n = counts[k / 2];
		struct batch *b = placed_batch(n);

		assert_placed(b, n);
		assert_int_equal(k % 2 ? batch_seal_in(b, blocks) : batch_seal(b), 0);
		assert_true(batch_check(b));
		assert_placed(b, n);
		assert_int_equal(b->place_n, n > 5 ? n : 0);
		assert_true(batch_bytes(b) >= b->place_n * sizeof(*b->places));
		if (k % 2)
			assert_int_equal((uintptr_t)b->attrs - (uintptr_t)b->events,
					 b->event_n * sizeof(struct event) +
						 b->place_n * sizeof(struct event_place));
		batch_unref(b);
	}
	blocks_close(blocks);
}

static void a_row_taken_back_leaves_no_place(void **state)
{
	struct batch *b = placed_batch(9);
	struct batch_mark mark = batch_mark(b);

	for (uint32_t i = 9; i < 13; i++) {
		batch_event(b);
		batch_place(b, i, (struct event_place){1, 2});
	}
	batch_rewind(b, mark);
	batch_event(b)->id1 = 10;
	assert_placed(b, 10);
	mark.event_n = 4;
	batch_rewind(b, mark);
	batch_event(b)->id1 = 5;
	assert_int_equal(batch_seal(b), 0);
	assert_placed(b, 5);
	batch_unref(b);
}

static void a_place_can_be_taken_back(void **state)
{
	struct batch *b = placed_batch(6);

	batch_place(b, 5, (struct event_place){0, 0});
	assert_int_equal(batch_place_get(b, 5).seq, 0);
	assert_int_equal(batch_place_get(b, 5).unit, 0);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	batch_unref(b);
}

static void places_are_none_or_one_a_row(void **state)
{
	struct batch *b = placed_batch(8);

	assert_int_equal(batch_seal(b), 0);
	b->place_n = 7;
	assert_false(batch_check(b));
	b->place_n = 9;
	assert_false(batch_check(b));
	b->place_n = 8;
	assert_true(batch_check(b));
	b->place_n = 0;
	assert_true(batch_check(b));
	batch_unref(b);
}

static void copies_of_rows_have_their_places(void **state)
{
	struct batch *from = placed_batch(20), *to = batch_new(0);
	struct batch_copy copy;

	assert_int_equal(batch_seal(from), 0);
	batch_copy_init(&copy, to);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(batch_copy_event(&copy, (struct event_ref){from, i}), i);
	assert_int_equal(batch_seal(to), 0);
	assert_placed(to, 20);
	batch_copy_done(&copy);
	batch_unref(to);
	batch_unref(from);
}

/* At the borders of what fits into an attribute, of what fits into 32 bits, and beyond. */
static const int64_t integers[] = {0,
				   1,
				   -1,
				   INT32_MAX,
				   (int64_t)INT32_MAX + 1,
				   INT32_MIN,
				   (int64_t)INT32_MIN - 1,
				   UINT32_MAX,
				   (int64_t)UINT32_MAX + 1,
				   INT64_MAX,
				   INT64_MIN};
/* The least one that is not zero has the bits of 1. */
static const double doubles[] = {0.0, -0.0, 0x1p-1074, 0x1p-1043, 0.5, -1e300, INFINITY};

static struct batch *numbers(void)
{
	struct batch *b = batch_new(0);
	uint32_t first = batch_nested(b, 2);
	struct attr list = batch_list(b, VALUE_KVLIST, (struct value_range){first, 2});

	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < ARRAY_SIZE(integers); i++)
		batch_attr_int(b, SLICE("integer"), integers[i]);
	for (size_t i = 0; i < ARRAY_SIZE(doubles); i++)
		batch_attr_double(b, SLICE("double"), doubles[i]);
	b->nested[first] = batch_int(b, INT64_MIN);
	b->nested[first + 1] = batch_double(b, -2.5);
	list.key = batch_string(b, SLICE("list"));
	batch_attr(b, list);
	batch_attr(b, batch_list(b, VALUE_ARRAY, (struct value_range){first, 0}));
	*batch_event(b) = (struct event){.attrs = {0, (uint32_t)b->attr_n}};
	batch_extra(b, 0)->body = batch_int(b, -7);
	return b;
}

static void assert_numbers(const struct batch *b)
{
	const struct attr *a = b->attrs;
	struct value_range children;

	assert_true(batch_check(b));
	for (size_t i = 0; i < ARRAY_SIZE(integers); i++, a++) {
		assert_true(attr_integer(b, a) == integers[i]);
		assert_true(attr_bits(b, a) == (uint64_t)integers[i]);
		assert_int_equal(a->word >= ATTR_WIDE, integers[i] < 0 || integers[i] > INT32_MAX);
	}
	for (size_t i = 0; i < ARRAY_SIZE(doubles); i++, a++) {
		double number = attr_number(b, a);

		assert_memory_equal(&number, &doubles[i], sizeof(number));
	}
	children = attr_children(b, a++);
	assert_int_equal(children.count, 2);
	assert_true(attr_integer(b, &b->nested[children.first]) == INT64_MIN);
	assert_true(attr_number(b, &b->nested[children.first + 1]) == -2.5);
	assert_int_equal(attr_children(b, a).count, 0);
	assert_int_equal(attr_children(b, b->attrs).count, 0);
	assert_int_equal(attr_integer(b, &b->extras[b->events[0].extra].body), -7);
}

static void numbers_of_any_size_stay_what_they_are(void **state)
{
	struct blocks *blocks = blocks_new();
	struct batch *b = numbers(), *in = numbers(), *to = batch_new(0);
	struct batch_copy copy;

	assert_numbers(b);
	assert_int_equal(batch_seal(b), 0);
	assert_numbers(b);
	assert_int_equal(batch_seal_in(in, blocks), 0);
	assert_numbers(in);
	batch_copy_init(&copy, to);
	batch_copy_event(&copy, (struct event_ref){in, 0});
	batch_copy_done(&copy);
	batch_unref(in);
	assert_int_equal(batch_seal_in(to, blocks), 0);
	assert_numbers(to);
	assert_true(batch_bytes(to) >= batch_arrays_bytes(to));
	batch_unref(to);
	batch_unref(b);
	blocks_close(blocks);
}

static void rewinding_keeps_wide_values(void **state)
{
	struct batch *b = batch_new(0);
	struct batch_mark mark = batch_mark(b);
	struct attr remembered;

	batch_attr_int(b, SLICE("key"), -1);
	remembered = b->attrs[0];
	batch_rewind(b, mark);
	batch_attr_int(b, SLICE("key"), -2);
	batch_attr(b, remembered);
	assert_int_equal(attr_integer(b, &b->attrs[0]), -2);
	assert_int_equal(attr_integer(b, &b->attrs[1]), -1);
	batch_unref(b);
}

static void indices_of_wide_values_are_checked(void **state)
{
	struct batch *b = numbers();
	uint32_t behind = ATTR_WIDE | (uint32_t)b->wide_n;
	struct attr *const places[] = {&b->attrs[0], &b->nested[0], &b->extras[1].body,
				       &b->resources[0].entities};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct attr kept = *places[i];

		for (uint32_t type = VALUE_EMPTY; type <= VALUE_RAW_PAIR; type++) {
			*places[i] = (struct attr){.type = type & 15, .word = behind};
			assert_false(batch_check(b));
			places[i]->word = UINT32_MAX;
			assert_false(batch_check(b));
		}
		/* There, but no code of a string, and no range of nested values. */
		*places[i] = (struct attr){.type = VALUE_BYTES, .word = ATTR_WIDE};
		assert_false(batch_check(b));
		b->wides[b->wide_n - 1] = (uint64_t)(b->nested_n + 1) << 32;
		*places[i] = (struct attr){.type = VALUE_ARRAY, .word = behind - 1};
		assert_false(batch_check(b));
		b->wides[b->wide_n - 1] = 1ULL << 32 | b->nested_n;
		assert_false(batch_check(b));
		b->wides[b->wide_n - 1] = 0;
		assert_true(batch_check(b));
		*places[i] = kept;
		assert_true(batch_check(b));
	}
	batch_unref(b);
}

static void more_wide_values_than_attributes_can_name_are_refused(void **state)
{
	struct batch *b = batch_new(0);

	b->wide_n = ATTR_WIDE;
	assert_int_equal(batch_word(b, UINT64_MAX), 0);
	assert_int_equal(b->failed, -E2BIG);
	b->wide_n = 0;
	assert_int_equal(batch_seal(b), -E2BIG);
	batch_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_types_do_not_touch_each_other),
		cmocka_unit_test(more_strings_than_keys_can_name_are_refused),
		cmocka_unit_test(arrays_of_a_block_begin_at_multiples_of_8),
		cmocka_unit_test(places_are_kept_while_built_and_sealed),
		cmocka_unit_test(a_row_taken_back_leaves_no_place),
		cmocka_unit_test(a_place_can_be_taken_back),
		cmocka_unit_test(places_are_none_or_one_a_row),
		cmocka_unit_test(copies_of_rows_have_their_places),
		cmocka_unit_test(numbers_of_any_size_stay_what_they_are),
		cmocka_unit_test(rewinding_keeps_wide_values),
		cmocka_unit_test(indices_of_wide_values_are_checked),
		cmocka_unit_test(more_wide_values_than_attributes_can_name_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
