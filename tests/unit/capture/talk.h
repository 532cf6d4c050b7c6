/* tests/unit/capture/talk.h - conversations as tables: who says what when, and the messages it must
 * become. */
#ifndef CAUSET_TESTS_UNIT_CAPTURE_TALK_H
#define CAUSET_TESTS_UNIT_CAPTURE_TALK_H

#include "base/buffer.h"
#include "capture/conv.h"
#include "t.h"

struct step {
	char who; /* 'C' client, 'S' server; 'c', 's' it closes; '<', '>' a hole of n bytes of C, S
		   */
	int ms;
	const char *bytes;
	size_t n;
};

#define C(ms, text)                                                                                \
	{                                                                                          \
		'C', ms, text, sizeof(text) - 1                                                    \
	}
#define S(ms, text)                                                                                \
	{                                                                                          \
		'S', ms, text, sizeof(text) - 1                                                    \
	}
#define C_CLOSES(ms)                                                                               \
	{                                                                                          \
		'c', ms, NULL, 0                                                                   \
	}
#define S_CLOSES(ms)                                                                               \
	{                                                                                          \
		's', ms, NULL, 0                                                                   \
	}
#define C_HOLE(ms, n)                                                                              \
	{                                                                                          \
		'<', ms, NULL, n                                                                   \
	}
#define S_HOLE(ms, n)                                                                              \
	{                                                                                          \
		'>', ms, NULL, n                                                                   \
	}

#define TALK_STEPS 24

struct talk {
	const char *what;
	const char *expected; /* lines of "ms CALL id name" and "ms RET id" */
	uint16_t port;        /* the server's; 0: 7777, which hints at nothing */
	bool unsure;          /* no SYN was seen: client and server may be mixed up */
	bool whole;           /* do not try it in smaller pieces */
	struct step steps[TALK_STEPS];
};

struct talk_run {
	struct names nodes, operations;
	struct conv_shared shared;
	struct conv conv;
	struct buffer out;
};

static int talk_put(void *context, const struct message *m, size_t n)
{
	struct talk_run *run = context;

	for (; n > 0; m++, n--) {
		char id[MESSAGE_ID_BYTES];

		buffer_printf(&run->out, "%d %s %s%s%s\n", (int)(m->time_ns / 1000000),
			      message_op_name(m->op, m->sight), message_id_format(m->id, id),
			      m->op == MESSAGE_CALL && m->name != NAMES_NONE ? " " : "",
			      m->op == MESSAGE_CALL && m->name != NAMES_NONE
				      ? names_get(&run->operations, m->name).p
				      : "");
	}
	return 0;
}

static void talk_begin(struct talk_run *run, const struct talk *talk)
{
	*run = (struct talk_run){0};
	names_init(&run->nodes);
	names_init(&run->operations);
	assert_int_equal(conv_shared_init(&run->shared, &run->nodes, &run->operations,
					  (struct message_sink){talk_put, run}),
			 0);
	conv_init(&run->conv, &run->shared);
	assert_int_equal(ip_parse("10.0.0.1", &run->conv.client), 0);
	assert_int_equal(ip_parse("10.0.0.2", &run->conv.server), 0);
	run->conv.client_port = 40000;
	run->conv.server_port = talk->port ? talk->port : 7777;
	run->conv.client_known = !talk->unsure;
}

static void talk_end(struct talk_run *run)
{
	conv_done(&run->conv);
	assert_int_equal(conv_shared_advance(&run->shared, INT64_MAX), 0);
	assert_int_equal(run->shared.memory, 0); /* everything was given back */
	conv_shared_done(&run->shared);
	names_done(&run->nodes);
	names_done(&run->operations);
}

/* One step, in pieces of `piece` bytes (the first one of a side of at least 24, to be recognised).
 */
static void talk_step(struct talk_run *run, const struct step *s, size_t piece, bool first)
{
	enum side side =
		s->who == 'C' || s->who == 'c' || s->who == '<' ? SIDE_CLIENT : SIDE_SERVER;
	int64_t ns = (int64_t)s->ms * 1000000;

	assert_int_equal(conv_shared_advance(&run->shared, ns), 0);
	if (s->who == 'c' || s->who == 's') {
		assert_int_equal(conv_closed(&run->conv, side), 0);
	} else if (s->who == '<' || s->who == '>') {
		assert_int_equal(conv_gap(&run->conv, side, s->n, ns), 0);
	} else {
		for (size_t at = 0, n; at < s->n; at += n) {
			n = MIN(first && at == 0 ? MAX(piece, (size_t)24) : piece, s->n - at);
			assert_int_equal(
				conv_data(&run->conv, side, slice_of(s->bytes + at, n), ns), 0);
		}
	}
}

static void talk_run(const struct talk *talk, size_t piece)
{
	struct talk_run run;
	bool said[2] = {false, false};

	talk_begin(&run, talk);
	for (size_t i = 0; i < TALK_STEPS && talk->steps[i].who; i++) {
		int who = talk->steps[i].who == 'S';

		talk_step(&run, &talk->steps[i], piece, !said[who]);
		if (talk->steps[i].who == 'C' || talk->steps[i].who == 'S')
			said[who] = true;
	}
	assert_int_equal(conv_shared_advance(&run.shared, INT64_MAX), 0);
	if (strcmp(buffer_cstr(&run.out), talk->expected) != 0)
		print_error("%s, in pieces of %zu:\n%s-- instead of:\n%s", talk->what, piece,
			    buffer_cstr(&run.out), talk->expected);
	assert_string_equal(buffer_cstr(&run.out), talk->expected);
	talk_end(&run);
	buffer_done(&run.out);
}

/* Every row, whole and in pieces of every small size: the messages are the same. */
static inline void talk_all(const struct talk *talks, size_t n)
{
	static const size_t pieces[] = {1 << 20, 1, 2, 3, 5, 8, 13, 100};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < (talks[i].whole ? 1 : ARRAY_SIZE(pieces)); k++)
			talk_run(&talks[i], pieces[k]);
}

#endif
