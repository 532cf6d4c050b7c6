/* Answers kept for paging. */
#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "api/query_pages.h"
#include "core/clock.h"

static struct query_answer answer_of(size_t results, size_t rows)
{
	struct query_answer a = {0};

	for (size_t i = 0; i < results; i++) {
		struct query_answer_result *r = query_answer_begin(&a);

		assert_non_null(r);
		buffer_printf(&r->head, "\"result\":%zu", i);
		for (size_t row = 0; row < rows; row++) {
			char text[32];

			snprintf(text, sizeof(text), "[%zu]", row);
			assert_int_equal(query_answer_add(&a, slice_cstr(text)), 0);
		}
	}
	return a;
}

static void pages_together_are_the_answer(void **state)
{
	struct query_answer a = answer_of(2, 3);
	static const char *const pages[] = {
		"\"results\":[{\"result\":0,\"rows\":[[0],[1]]}]",
		"\"results\":[{\"result\":0,\"rows\":[[2]]},{\"result\":1,\"rows\":[[0]]}]",
		"\"results\":[{\"result\":1,\"rows\":[[1],[2]]}]",
		"\"results\":[]",
	};
	struct buffer out = {0};
	uint64_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		buffer_clear(&out);
		at = query_answer_page(&a, at, 2, &out);
		assert_string_equal(buffer_cstr(&out), pages[i]);
	}
	assert_int_equal(at, query_answer_rows(&a));
	query_answer_done(&a);
	a = answer_of(1, 0);
	buffer_clear(&out);
	query_answer_page(&a, 0, 2, &out);
	assert_string_equal(buffer_cstr(&out), "\"results\":[{\"result\":0,\"rows\":[]}]");
	query_answer_done(&a);
	buffer_done(&out);
}

static void count(void *context, const struct query_answer *answer)
{
	*(uint64_t *)context = query_answer_rows(answer);
}

static int rows_of(struct query_pages *p, const char *owner, const char *id)
{
	uint64_t n = 0;
	int r = query_pages_read(p, owner, slice_cstr(id), count, &n);

	return r < 0 ? r : (int)n;
}

static void an_answer_is_its_owners_and_stays_while_there_is_room(void **state)
{
	struct query_answer a = answer_of(1, 10), b = answer_of(1, 20), c = answer_of(1, 30);
	size_t room = a.bytes + c.bytes;
	struct query_pages *p = query_pages_new(room, 3600 * NS_PER_S);

	assert_int_equal(query_pages_keep(p, "alice", "a", &a), 0);
	assert_int_equal(a.result_n, 0); /* taken */
	assert_int_equal(rows_of(p, "alice", "a"), 10);
	assert_int_equal(rows_of(p, "bob", "a"), -ENOENT);
	assert_int_equal(rows_of(p, "alice", "x"), -ENOENT);
	assert_int_equal(query_pages_keep(p, "alice", "b", &b), 0);
	assert_int_equal(rows_of(p, "alice", "a"), 10); /* used later than b */
	assert_int_equal(query_pages_keep(p, "alice", "c", &c), 0);
	assert_int_equal(rows_of(p, "alice", "b"), -ENOENT);
	assert_int_equal(rows_of(p, "alice", "a"), 10);
	assert_int_equal(rows_of(p, "alice", "c"), 30);
	a = answer_of(1, 100);
	assert_int_equal(query_pages_keep(p, "alice", "d", &a), -ENOSPC);
	assert_int_equal(a.result_n, 1); /* still ours */
	query_answer_done(&a);
	query_pages_free(p);
}

static void old_answers_go(void **state)
{
	struct query_pages *p = query_pages_new(1 << 20, -1);
	struct query_answer a = answer_of(1, 1);

	assert_int_equal(query_pages_keep(p, "alice", "a", &a), 0);
	assert_int_equal(rows_of(p, "alice", "a"), -ENOENT);
	query_pages_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_together_are_the_answer),
		cmocka_unit_test(an_answer_is_its_owners_and_stays_while_there_is_room),
		cmocka_unit_test(old_answers_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
