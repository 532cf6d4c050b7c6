#include "t.h"

#include <errno.h>

#include "http/request.h"

static void values_are_decoded(void **state)
{
	static const struct {
		const char *query, *name;
		int found;
		const char *value;
	} rows[] = {
		{"", "a", 0, NULL},
		{"a", "a", 1, ""},
		{"a=", "a", 1, ""},
		{"a=1&b=2", "b", 1, "2"},
		{"a=1&a=2", "a", 1, "1"},
		{"&&b=x&", "b", 1, "x"},
		{"b=a%20b+c%2B%26%3d", "b", 1, "a b c+&="},
		{"%61=1", "a", 1, "1"},
		{"a=b=c", "a", 1, "b=c"},
		{"ab=1", "a", 0, NULL},
		{"a=%", "a", -EINVAL, NULL},
		{"a=%4", "a", -EINVAL, NULL},
		{"a=%4g", "a", -EINVAL, NULL},
		{"%zz=1&a=1", "a", -EINVAL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_request req = {.query = slice_cstr(rows[i].query)};
		struct slice value;
		int r = http_query_get(&req, rows[i].name, &value);

		if (r != rows[i].found)
			print_message("row %zu\n", i);
		assert_int_equal(r, rows[i].found);
		if (r == 1)
			assert_text(value, rows[i].value);
		arena_done(&req.arena);
	}
}

static void all_pairs_come_in_order(void **state)
{
	struct http_request req = {.query = SLICE("tag=a%3Ab&tag=c&x")};
	struct slice name, value;
	size_t at = 0;

	assert_int_equal(http_query_next(&req, &at, &name, &value), 1);
	assert_text(name, "tag");
	assert_text(value, "a:b");
	assert_int_equal(http_query_next(&req, &at, &name, &value), 1);
	assert_text(value, "c");
	assert_int_equal(http_query_next(&req, &at, &name, &value), 1);
	assert_text(name, "x");
	assert_int_equal(value.n, 0);
	assert_int_equal(http_query_next(&req, &at, &name, &value), 0);
	arena_done(&req.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_decoded),
		cmocka_unit_test(all_pairs_come_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
