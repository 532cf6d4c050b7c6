/* Text from outside on a terminal. */
#include "t.h"

#include <locale.h>

#include "cli/table.h"
#include "cli/text.h"

#define BAD "\xef\xbf\xbd"

static void text_is_safe_and_as_wide_as_it_may_be(void **state)
{
	static const struct {
		struct slice text;
		size_t columns;
		const char *shown;
		size_t used;
	} rows[] = {
		{SLICE("plain"), 10, "plain", 5},
		{SLICE("plain"), 5, "plain", 5},
		{SLICE("plain"), 4, "pla\xe2\x80\xa6", 4},
		{SLICE("plain"), 1, "\xe2\x80\xa6", 1},
		{SLICE("plain"), 0, "", 0},
		{SLICE("a\x1b[2Jb"), 10, "a" BAD "[2Jb", 6},
		{SLICE("a\nb\0c\x7f"), 10, "a" BAD "b" BAD "c" BAD, 6},
		{SLICE("a\xff\xc3"), 10, "a" BAD BAD, 3},
		{SLICE("\xc2\x9b"
		       "1m"),
		 10, BAD "1m", 3},                             /* C1: another way to say ESC [ */
		{SLICE("x\xe2\x80\xaey"), 10, "x" BAD "y", 3}, /* right-to-left override */
		{SLICE("\xe6\x97\xa5\xe6\x9c\xac"), 4, "\xe6\x97\xa5\xe6\x9c\xac",
		 4}, /* wide characters */
		{SLICE("\xe6\x97\xa5\xe6\x9c\xac"), 3, "\xe6\x97\xa5\xe2\x80\xa6", 3},
		{SLICE("e\xcc\x81t"), 2, "e\xcc\x81t", 2}, /* a combining accent takes no column */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done)
		struct buffer out = {0};

		assert_int_equal(text_put(&out, rows[i].text, rows[i].columns), rows[i].used);
		assert_text(buffer_get(&out), rows[i].shown);
	}
}

static void tables_give_way_where_they_may(void **state)
{
	static const struct table_column columns[] = {
		{"ID", false, false}, {"N", true, false}, {"NAME", false, true}};
	struct arena arena = {0};
	struct table t = table_of(columns, ARRAY_SIZE(columns), &arena);
	_cleanup_(buffer_done)
	struct buffer out = {0};

	table_cell_text(&t, "abc");
	table_cell_u64(&t, 12345);
	table_cell_text(&t, "a rather long name");
	table_cell_text(&t, "d");
	table_cell_u64(&t, 7);
	table_cell_text(&t, "");
	table_write(&t, 0, &out);
	assert_text(buffer_get(&out),
		    "ID       N  NAME\nabc  12345  a rather long name\nd        7  \n");
	buffer_clear(&out);
	table_write(&t, 22, &out);
	assert_text(buffer_get(&out),
		    "ID       N  NAME\nabc  12345  a rather \xe2\x80\xa6\nd        7  \n");
	table_done(&t);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_safe_and_as_wide_as_it_may_be),
		cmocka_unit_test(tables_give_way_where_they_may),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
