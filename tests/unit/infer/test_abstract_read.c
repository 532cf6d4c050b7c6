#include "t.h"

#include <errno.h>

#include "base/cleanup.h"
#include "infer/abstract_read.h"

struct collected {
	struct names nodes, operations;
	struct message at[2000];
	size_t n;
	int fail; /* returned by the sink */
};

static int collect(void *context, const struct message *messages, size_t n)
{
	struct collected *c = context;

	if (c->fail)
		return c->fail;
	assert_true(c->n + n <= ARRAY_SIZE(c->at));
	memcpy(c->at + c->n, messages, n * sizeof(*messages));
	c->n += n;
	return 0;
}

static struct collected *collected_new(void)
{
	struct collected *c = calloc(1, sizeof(*c));

	names_init(&c->nodes);
	names_init(&c->operations);
	return c;
}

static void collected_free(struct collected *c)
{
	names_done(&c->nodes);
	names_done(&c->operations);
	free(c);
}

/* Reads text in pieces of `step` bytes. */
static int read_text(struct collected *c, const char *text, size_t step, bool tolerant,
		     uint64_t *ret_bad, struct error *error)
{
	struct slice rest = slice_cstr(text);
	struct abstract_reader r;
	int e = 0;

	abstract_reader_init(&r, &c->nodes, &c->operations, (struct message_sink){collect, c});
	r.tolerant = tolerant;
	while (rest.n > 0 && e == 0) {
		e = abstract_reader_feed(&r, slice_first(rest, step), error);
		rest = slice_from(rest, step);
	}
	if (e == 0)
		e = abstract_reader_finish(&r, error);
	if (ret_bad)
		*ret_bad = r.bad;
	abstract_reader_done(&r);
	return e;
}

static const char example[] = "# the paper's\n"
			      "1047680084.482205\tCALL_SENT nodeA nodeB id37\r\n"
			      "\n"
			      "1047680084.483575 RET_SENT nodeB nodeA id37 /list\n"
			      "-0.5 MSG a b\n"
			      "7 CALL_RECV a b -";

static void lines_become_messages_however_they_are_cut(void **state)
{
	for (size_t step = 1; step < sizeof(example); step++) {
		struct collected *c = collected_new();
		struct error error = {0};

		assert_int_equal(read_text(c, example, step, false, NULL, &error), 0);
		assert_int_equal(c->n, 4);
		assert_int_equal(c->at[0].time_ns, 1047680084482205000);
		assert_int_equal(c->at[0].op, MESSAGE_CALL);
		assert_int_equal(c->at[0].sight, MESSAGE_SENT);
		assert_int_equal(c->at[0].id, c->at[1].id);
		assert_int_equal(c->at[0].sender, c->at[1].receiver);
		assert_text(names_get(&c->nodes, c->at[1].sender), "nodeB");
		assert_text(names_get(&c->operations, c->at[1].name), "/list");
		assert_int_equal(c->at[0].name, NAMES_NONE);
		assert_int_equal(c->at[2].time_ns, -500000000);
		assert_int_equal(c->at[2].id, MESSAGE_NO_ID);
		assert_int_equal(c->at[3].sight, MESSAGE_RECV);
		collected_free(c);
	}
}

static void what_is_written_reads_the_same(void **state)
{
	struct collected *c = collected_new(), *again = collected_new();
	_cleanup_(buffer_done)
	struct buffer out = {0};

	assert_int_equal(read_text(c, example, 100, false, NULL, NULL), 0);
	for (size_t i = 0; i < c->n; i++)
		abstract_write(&c->at[i], &c->nodes, &c->operations, &out);
	assert_int_equal(read_text(again, buffer_cstr(&out), 100, false, NULL, NULL), 0);
	assert_int_equal(again->n, c->n);
	assert_memory_equal(again->at, c->at, c->n * sizeof(c->at[0]));
	collected_free(c);
	collected_free(again);
}

static void a_wrong_line_is_named(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"1 CALL a b\nx CALL a b\n", "line 2: 'x' is no time in seconds"},
		{"1e3 CALL a b 1", "line 1: '1e3' is no time in seconds"},
		{"99999999999 CALL a b 1", "line 1: '99999999999' is no time in seconds"},
		{"- CALL a b", "line 1: '-' is no time in seconds"},
		{"1 CALLED a b", "line 1: 'CALLED' is none of CALL, RET and MSG (with _SENT or "
				 "_RECV)"},
		{"1", "line 1: '' is none of CALL, RET and MSG (with _SENT or _RECV)"},
		{"1 RET a", "line 1: no receiver"},
		{"1 RET", "line 1: no sender"},
		{"1 RET a b 1 op more", "line 1: more than six words"},
		{"1 RET a\001 b 1", "line 1: a control character"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct collected *c = collected_new();
		struct error error = {0};

		assert_int_equal(read_text(c, rows[i].text, 3, false, NULL, &error), -EINVAL);
		assert_string_equal(error.text, rows[i].says);
		collected_free(c);
	}
}

static void wrong_lines_can_be_counted_instead(void **state)
{
	struct collected *c = collected_new();
	uint64_t bad;

	assert_int_equal(read_text(c, "1 CALL a b\nhello\n2 RET b a\n3 RET b", 5, true, &bad, NULL),
			 0);
	assert_int_equal(c->n, 2);
	assert_int_equal(bad, 2);
	collected_free(c);
}

static void an_endless_line_is_refused_in_bounded_memory(void **state)
{
	struct collected *c = collected_new();
	struct abstract_reader r;
	struct error error = {0};
	char blanks[1000];

	memset(blanks, 'x', sizeof(blanks));
	abstract_reader_init(&r, &c->nodes, &c->operations, (struct message_sink){collect, c});
	for (int i = 0; i < 100; i++)
		assert_int_equal(abstract_reader_feed(&r, slice_of(blanks, sizeof(blanks)), &error),
				 0);
	assert_true(r.carry.n <= ABSTRACT_MAX_LINE + 1);
	assert_int_equal(abstract_reader_finish(&r, &error), -EINVAL);
	assert_string_equal(error.text, "line 1: a line of more than 4096 bytes");
	abstract_reader_done(&r);
	collected_free(c);
}

static void a_failing_sink_ends_the_reading(void **state)
{
	struct collected *c = collected_new();

	c->fail = -EPIPE;
	assert_int_equal(read_text(c, "1 CALL a b\n", 5, false, NULL, NULL), -EPIPE);
	collected_free(c);
}

static void traces_are_recognised(void **state)
{
	assert_true(abstract_sniff(SLICE("# x\n\n 1.5 CALL_SENT a b 1\n")));
	assert_false(abstract_sniff(SLICE("{\"resourceSpans\":[]}")));
	assert_false(abstract_sniff(SLICE("")));
	assert_false(abstract_sniff(SLICE("12 monkeys")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_become_messages_however_they_are_cut),
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(wrong_lines_can_be_counted_instead),
		cmocka_unit_test(an_endless_line_is_refused_in_bounded_memory),
		cmocka_unit_test(a_failing_sink_ends_the_reading),
		cmocka_unit_test(traces_are_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
