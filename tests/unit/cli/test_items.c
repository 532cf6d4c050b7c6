/* Picking values out of a server's JSON answers; building its questions. */
#include "t.h"

#include <errno.h>

#include "cli/remote.h"

static int count(void *context, struct slice item)
{
	int *n = context;

	(*n)++;
	return slice_eq(item, SLICE("\"stop\"")) ? 7 : 0;
}

static void elements_are_walked(void **state)
{
	int n = 0;

	assert_int_equal(
		items_each(SLICE("{\"x\":1,\"a\":[{\"b\":[1,2]}, 3 ,null]}"), "a", count, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(items_each(SLICE("{\"a\":[\"stop\",1]}"), "a", count, &n), 7);
	assert_int_equal(items_each(SLICE("{\"a\":[]}"), "a", count, &n), 0);
	assert_int_equal(items_each(SLICE("{\"a\":5}"), "a", count, &n), -EBADMSG);
	assert_int_equal(items_each(SLICE("{\"b\":[]}"), "a", count, &n), -EBADMSG);
	assert_int_equal(items_each(SLICE("{\"a\":[1,"), "a", count, &n), -EBADMSG);
	assert_int_equal(items_each(SLICE("<html>"), "a", count, &n), -EBADMSG);
	assert_int_equal(items_each(SLICE(""), "a", count, &n), -EBADMSG);
}

static void values_are_found_by_name(void **state)
{
	struct slice
		object = SLICE(
			"{\"t\":\"a\\u0041\\n\",\"n\":\"18446744073709551615\",\"o\":{\"k\":1}}"),
		text;
	struct arena arena = {0};
	uint64_t number;

	assert_true(item_text(object, "t", &arena, &text));
	assert_text(text, "aA\n");
	assert_true(item_text(object, "o", &arena, &text));
	assert_text(text, "{\"k\":1}");
	assert_true(item_u64(object, "n", &number));
	assert_int_equal(number, UINT64_MAX);
	assert_false(item_u64(object, "t", &number));
	assert_false(item_text(object, "missing", &arena, &text));
	arena_done(&arena);
}

static void questions_are_percent_encoded(void **state)
{
	_cleanup_(buffer_done)
	struct buffer query = {0};

	query_add(&query, "tag", SLICE("a=b&c d/\xc3\xa4"));
	query_add(&query, "limit", SLICE("5"));
	assert_text(buffer_get(&query), "?tag=a%3Db%26c%20d%2F%C3%A4&limit=5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_walked),
		cmocka_unit_test(values_are_found_by_name),
		cmocka_unit_test(questions_are_percent_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
