#include "t.h"

#include <errno.h>

#include "infer/lines.h"
#include "infer/log_read.h"
#include "infer/mbox_read.h"
#include "infer/message_list.h"

struct fixture {
	struct names nodes, operations;
	struct message_list list;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){0};
	names_init(&f->nodes);
	names_init(&f->operations);
}

static void fixture_done(struct fixture *f)
{
	names_done(&f->nodes);
	names_done(&f->operations);
	message_list_done(&f->list);
}

static int read_line(struct fixture *f, const char *pattern, const char *line)
{
	struct log_reader r;
	struct error error = {0};

	assert_int_equal(log_reader_init(&r, slice_cstr(pattern), &error), 0);
	r.nodes = &f->nodes;
	r.operations = &f->operations;
	r.sink = message_list_sink(&f->list);
	return log_reader_line(&r, slice_cstr(line));
}

static void a_line_of_an_access_log_is_a_call_and_its_return(void **state)
{
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(
		read_line(&f, "%s - - [%t] \"%n\" %* %d",
			  "10.0.0.7 - - [10/Oct/2026:13:55:36 +0200] \"GET /x y\" 200 0.250"),
		1);
	assert_int_equal(f.list.n, 2);
	assert_int_equal(f.list.at[0].op, MESSAGE_CALL);
	assert_int_equal(f.list.at[1].op, MESSAGE_RET);
	assert_int_equal(f.list.at[1].time_ns, 1791633336000000000);
	assert_int_equal(f.list.at[0].time_ns, 1791633336000000000 - 250000000);
	assert_int_equal(f.list.at[0].id, f.list.at[1].id);
	assert_text(names_get(&f.nodes, f.list.at[0].sender), "10.0.0.7");
	assert_text(names_get(&f.nodes, f.list.at[0].receiver), "server");
	assert_text(names_get(&f.operations, f.list.at[0].name), "GET /x y");
	fixture_done(&f);
}

static void lines_of_one_message_each_say_which(void **state)
{
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(read_line(&f, "%t %o %s->%r id=%i",
				   "2026-10-10T11:55:36.5Z   Request web->db id=42"),
			 1);
	assert_int_equal(f.list.n, 1);
	assert_int_equal(f.list.at[0].op, MESSAGE_CALL);
	assert_int_equal(f.list.at[0].time_ns, 1791633336500000000);
	assert_text(names_get(&f.nodes, f.list.at[0].receiver), "db");
	assert_int_equal(f.list.at[0].id, message_id_of_text(SLICE("42")));
	fixture_done(&f);
}

static void lines_that_do_not_match_are_passed_over(void **state)
{
	static const char *const lines[] = {"", "hello", "[x] 12", "99 CALL a b", "99 FOO a b c"};
	struct fixture f;

	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(read_line(&f, "%t %o %s %r %i", lines[i]), 0);
	assert_int_equal(f.list.n, 0);
	fixture_done(&f);
}

static void a_pattern_that_makes_no_sense_is_refused(void **state)
{
	struct log_reader r;
	struct error error = {0};

	assert_int_equal(log_reader_init(&r, SLICE("%s %r"), &error), -EINVAL);
	assert_string_equal(error.text, "a pattern needs %t, the time");
	assert_int_equal(log_reader_init(&r, SLICE("%t %q"), &error), -EINVAL);
	assert_int_equal(log_reader_init(&r, SLICE("%t %"), &error), -EINVAL);
}

static const char mailbox[] =
	"From ann Sat Oct 10 11:55:40 2026\n"
	"Return-Path: <ann@example>\n"
	"Received: from MX1.example (mx1 [192.0.2.1])\n"
	"\tby hub2.example with ESMTP id 4711;\n"
	"\tSat, 10 Oct 2026 13:55:36 +0200\n"
	"Received: from localhost by mx1.example; Sat, 10 Oct 2026 13:55:30 +0200\n"
	"Received: by hub3.example; 10 Oct 2026 11:55:35 GMT\n"
	"Received: from a by b; whenever\n"
	"Subject: Received: from x by y; Sat, 10 Oct 2026 13:55:36 +0200\n"
	"\n"
	"Received: from x by y; Sat, 10 Oct 2026 13:55:36 +0200\n"
	"From bob Sat Oct 10 11:55:41 2026\r\n"
	"Received: from hub2.example by box; Sat, 10 Oct 2026 06:55:37 EST\r\n";

static int to_mbox(void *context, struct slice line, bool cut)
{
	return mbox_reader_line(context, line);
}

static void received_headers_become_messages(void **state)
{
	static struct mbox_reader r;

	assert_true(mbox_sniff(slice_cstr(mailbox)));
	for (size_t step = 1; step < 200; step += 13) {
		struct slice rest = slice_cstr(mailbox);
		struct lines lines = {.take = to_mbox, .context = &r};
		struct fixture f;

		fixture_init(&f);
		mbox_reader_init(&r, &f.nodes, message_list_sink(&f.list));
		for (; rest.n > 0; rest = slice_from(rest, step))
			assert_int_equal(lines_feed(&lines, slice_first(rest, step)), 0);
		assert_int_equal(lines_finish(&lines), 0);
		assert_int_equal(mbox_reader_finish(&r), 0);
		lines_done(&lines);
		assert_int_equal(r.mails, 2);
		assert_int_equal(r.headers, 5);
		assert_int_equal(r.unusable, 3);
		assert_int_equal(f.list.n, 2);
		assert_text(names_get(&f.nodes, f.list.at[0].sender), "mx1.example");
		assert_text(names_get(&f.nodes, f.list.at[0].receiver), "hub2.example");
		assert_int_equal(f.list.at[0].sender != f.list.at[1].sender, true);
		assert_int_equal(f.list.at[0].time_ns, 1791633336000000000);
		assert_int_equal(f.list.at[1].time_ns, 1791633337000000000);
		assert_int_equal(f.list.at[0].receiver, f.list.at[1].sender);
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_an_access_log_is_a_call_and_its_return),
		cmocka_unit_test(lines_of_one_message_each_say_which),
		cmocka_unit_test(lines_that_do_not_match_are_passed_over),
		cmocka_unit_test(a_pattern_that_makes_no_sense_is_refused),
		cmocka_unit_test(received_headers_become_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
