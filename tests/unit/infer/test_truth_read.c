#include "t.h"

#include <errno.h>

#include "infer/truth_read.h"

static void rows_find_their_calls(void **state)
{
	static const char text[] = "# id parent trace\n"
				   "a 0 t1\n"
				   "b a t1\r\n"
				   "\n"
				   "c - t2\n"
				   "gone c t2\n"
				   "d gone t2";
	struct call at[4] = {0};
	struct calls calls = {.at = at, .n = 4};
	struct truth_of_calls t;

	for (int i = 0; i < 4; i++)
		at[i].id = message_id_of_text((struct slice){&"abcd"[i], 1});
	for (size_t piece = 1; piece < sizeof(text); piece += 5) {
		struct truth_reader r;
		struct error error;

		truth_reader_init(&r);
		for (size_t i = 0; i < sizeof(text) - 1; i += piece)
			assert_int_equal(
				truth_reader_feed(
					&r,
					(struct slice){text + i, MIN(piece, sizeof(text) - 1 - i)},
					&error),
				0);
		assert_int_equal(truth_reader_finish(&r, &error), 0);
		assert_int_equal(r.row_n, 5);
		assert_int_equal(truth_match(&r, &calls, &t), 0);
		assert_int_equal(t.strangers, 1);
		assert_int_equal(t.trace_n, 2);
		assert_int_equal(t.links[0].parent, LINK_NONE);
		assert_int_equal(t.links[1].parent, 0);
		assert_int_equal(t.links[2].parent, LINK_NONE);
		assert_int_equal(t.links[3].parent, LINK_NONE); /* its parent is not there */
		assert_true(t.links[3].decided);
		assert_int_equal(t.trace[0], t.trace[1]);
		assert_int_not_equal(t.trace[0], t.trace[2]);
		truth_of_calls_done(&t);
		truth_reader_done(&r);
	}
}

static void ids_that_are_numbers_are_found_by_their_digits(void **state)
{
	struct call at[2] = {{.id = message_id_of_number(7)}, {.id = message_id_of_number(12)}};
	struct calls calls = {.at = at, .n = 2};
	struct truth_of_calls t;
	struct truth_reader r;
	struct error error;

	truth_reader_init(&r);
	assert_int_equal(truth_reader_feed(&r, slice_cstr("12 7 x\n7 0 x\n"), &error), 0);
	assert_int_equal(truth_match(&r, &calls, &t), 0);
	assert_int_equal(t.strangers, 0);
	assert_int_equal(t.links[1].parent, 0);
	assert_int_equal(t.links[0].parent, LINK_NONE);
	truth_of_calls_done(&t);
	truth_reader_done(&r);
}

static void wrong_lines_are_refused_with_their_number(void **state)
{
	static const char *const texts[] = {"a 0 t\nb 0\n", "a 0 t\nb 0 t x\n", "a 0 t\nb\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct truth_reader r;
		struct error error;

		truth_reader_init(&r);
		assert_int_equal(truth_reader_feed(&r, slice_cstr(texts[i]), &error), -EINVAL);
		assert_non_null(strstr(error.text, "line 2"));
		truth_reader_done(&r);
	}
}

static void an_endless_line_is_refused(void **state)
{
	static char text[TRUTH_MAX_LINE + 2];
	struct truth_reader r;
	struct error error;

	memset(text, 'x', sizeof(text));
	truth_reader_init(&r);
	assert_int_equal(truth_reader_feed(&r, (struct slice){text, sizeof(text)}, &error),
			 -EINVAL);
	truth_reader_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_find_their_calls),
		cmocka_unit_test(ids_that_are_numbers_are_found_by_their_digits),
		cmocka_unit_test(wrong_lines_are_refused_with_their_number),
		cmocka_unit_test(an_endless_line_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
