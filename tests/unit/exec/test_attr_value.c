/* A value is the same whether it is read from a batch or as a segment has packed it. */
#include "t.h"

#include "exec/attr_value.h"
#include "segment/packed_value.h"

#define DEEP 40

static struct batch *new_batch(void)
{
	struct batch *b = batch_new(0);

	assert_non_null(b);
	return b;
}

/* [b, [b, [b, … ]]], of lists or of lists of pairs. */
static struct attr deep(struct batch *b, int depth, enum value_type type)
{
	uint32_t first = batch_nested(b, 2), text = batch_string(b, SLICE("b"));
	struct attr inner = batch_int(b, 7);

	if (depth > 0)
		inner = deep(b, depth - 1, type);
	b->nested[first] = (struct attr){.key = text, .type = VALUE_STRING, .string = text};
	inner.key = text;
	b->nested[first + 1] = inner;
	return batch_list(b, type, (struct value_range){first, 2});
}

static struct attr longer(struct batch *b, uint32_t n)
{
	uint32_t first = batch_nested(b, n);

	for (uint32_t i = 0; i < n; i++)
		b->nested[first + i] = batch_int(b, i);
	return batch_list(b, VALUE_ARRAY, (struct value_range){first, n});
}

static void assert_same(const struct value *x, const struct value *y, int depth)
{
	assert_int_equal(x->type, y->type);
	if (x->type == V_STRING)
		assert_true(slice_eq(value_slice(*x), value_slice(*y)));
	if (x->type == V_INT)
		assert_int_equal(x->i, y->i);
	if (x->type != V_LIST)
		return;
	assert_int_equal(x->n, y->n);
	assert_true(depth < DEEP);
	for (uint32_t i = 0; i < x->n; i++)
		assert_same(&x->list[i], &y->list[i], depth + 1);
}

static void assert_packed_is_same(struct batch *b, struct attr a)
{
	struct arena arena = {0};
	struct buffer packed = {0};
	struct value x, y;

	packed_value_put(b, &a, &packed);
	x = attr_value(b, &a, &arena);
	y = text_value(a.type, buffer_get(&packed), &arena);
	assert_int_equal(x.type, V_LIST);
	assert_same(&x, &y, 0);
	buffer_done(&packed);
	arena_done(&arena);
	batch_unref(b);
}

static void what_is_nested_deeply_is_cut_at_the_same_place(void **state)
{
	(void)state;
	for (int depth = 0; depth < DEEP; depth++) {
		struct batch *b = new_batch(), *c = new_batch();

		assert_packed_is_same(b, deep(b, depth, VALUE_ARRAY));
		assert_packed_is_same(c, deep(c, depth, VALUE_KVLIST));
	}
}

static void long_lists_are_cut_at_the_same_place(void **state)
{
	static const uint32_t counts[] = {0, 1, ATTR_LIST_MOST - 1, ATTR_LIST_MOST,
					  ATTR_LIST_MOST + 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct batch *b = new_batch();

		assert_packed_is_same(b, longer(b, counts[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_nested_deeply_is_cut_at_the_same_place),
		cmocka_unit_test(long_lists_are_cut_at_the_same_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
