/* cli/cmd_skew.c - `causet skew`: clocks that differ, put into a trace, found, and taken out. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "infer/abstract_read.h"
#include "infer/pairing.h"
#include "infer/skew.h"
#include "wire/json_writer.h"

#define FLUSH_BYTES ((size_t)256 << 10)
#define SKEW_MAX_NS 1000000000000000000LL /* thirty years */

struct skew_values {
	struct messages_options input;
	struct option_list add;
	const char *reference, *output;
	bool estimate;
};

static const struct option skew_options[] = {
	{.name = "add",
	 .type = OPTION_LIST,
	 .value = "NODE=DURATION",
	 .doc = "make this node's clock that much fast (negative: slow), and write the trace",
	 .offset = offsetof(struct skew_values, add)},
	{.name = "estimate",
	 .type = OPTION_BOOL,
	 .doc = "say how far clocks are apart, and write nothing",
	 .offset = offsetof(struct skew_values, estimate)},
	{.name = "reference",
	 .type = OPTION_STRING,
	 .value = "NODE",
	 .doc = "the node whose clock is right; else one of the two that talk most",
	 .offset = offsetof(struct skew_values, reference)},
	{.name = "output",
	 .letter = 'o',
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "write the trace here instead of to standard output",
	 .offset = offsetof(struct skew_values, output)},
	MESSAGES_OPTIONS(skew_values),
	{0},
};

struct skewer {
	struct cli *cli;
	const struct skew_values *v;
	struct names nodes, operations;
	struct message_list list;
	int64_t *offsets;
	struct skew_estimate *estimates;
};

static int offsets_read(struct skewer *s)
{
	for (size_t i = 0; i < s->v->add.n; i++) {
		struct slice rest = slice_cstr(s->v->add.items[i]), name = slice_cut(&rest, '=');
		uint32_t node = names_find(&s->nodes, name);
		int64_t ns;

		if (!rest.p || duration_parse(rest, &ns) < 0 || ns > SKEW_MAX_NS ||
		    ns < -SKEW_MAX_NS)
			return cli_usage(s->cli, "'%s' is not NODE=DURATION", s->v->add.items[i]);
		if (node == NAMES_NONE)
			return cli_fail(s->cli, EXIT_FAILED, "there is no node '%.*s'",
					SLICE_ARG(name));
		s->offsets[node] = ns;
	}
	return EXIT_OK;
}

static int offsets_estimate(struct skewer *s)
{
	uint32_t reference = NAMES_NONE;
	struct calls calls = {0};
	struct pairing *pairing;
	size_t known = 0;
	int r;

	if (s->v->reference) {
		reference = names_find(&s->nodes, slice_cstr(s->v->reference));
		if (reference == NAMES_NONE)
			return cli_fail(s->cli, EXIT_FAILED, "there is no node '%s'",
					s->v->reference);
	}
	r = pairing_new(&calls, &pairing);
	if (r == 0)
		r = pairing_put(pairing, s->list.at, s->list.n);
	if (r == 0)
		r = skew_estimate(&calls, s->nodes.n, reference, s->estimates);
	pairing_free(pairing);
	calls_done(&calls);
	if (r < 0)
		return cli_fail(s->cli, EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < s->nodes.n; i++) {
		s->offsets[i] = s->estimates[i].offset_ns;
		known += s->estimates[i].error_ns >= 0;
	}
	if (known == 0) {
		cli_note(s->cli,
			 "no call was seen at both ends: nothing can be said of the clocks");
		return EXIT_NOTHING;
	}
	return EXIT_OK;
}

static int offsets_show(struct skewer *s)
{
	static const struct table_column columns[] = {{"NODE", false, true},
						      {"OFFSET", true, false},
						      {"AT MOST WRONG", true, false},
						      {"AGAINST", false, true}};
	struct table t = table_of(columns, ARRAY_SIZE(columns), &s->cli->arena);
	struct json_writer w;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	char text[QUANTITY_TEXT_BYTES];

	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct skew_estimate *e = &s->estimates[i];

		if (s->cli->json) {
			w = json_write(&out);
			json_begin_object(&w);
			json_put_name(&w, "node");
			json_put_string(&w, names_get(&s->nodes, i));
			json_put_name(&w, "offset_ns");
			if (e->error_ns < 0)
				json_put_null(&w);
			else
				json_put_i64(&w, e->offset_ns);
			json_put_name(&w, "error_ns");
			json_put_i64(&w, e->error_ns);
			json_end_object(&w);
			buffer_byte(&out, '\n');
			continue;
		}
		table_cell(&t, names_get(&s->nodes, i));
		table_cell_text(&t,
				e->error_ns < 0 ? "unknown" : duration_format(e->offset_ns, text));
		table_cell_text(&t, e->error_ns < 0 ? "" : duration_format(e->error_ns, text));
		table_cell(&t, e->error_ns < 0 ? SLICE("") : names_get(&s->nodes, e->reference));
	}
	if (!s->cli->json)
		table_write(&t, s->cli->terminal ? s->cli->columns : 0, &out);
	table_done(&t);
	return cli_print(s->cli, &out);
}

static int all_write(int fd, struct buffer *b)
{
	struct slice rest = buffer_get(b);

	if (b->failed)
		return -ENOMEM;
	while (rest.n > 0) {
		ssize_t n = write(fd, rest.p, rest.n);

		if (n < 0 && errno != EINTR)
			return -errno;
		rest = slice_from(rest, n > 0 ? (size_t)n : 0);
	}
	buffer_clear(b);
	return 0;
}

static int trace_write(struct skewer *s)
{
	_cleanup_(closep)
	int own = -1;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	int fd = STDOUT_FILENO, r = 0;

	if (s->v->output && strcmp(s->v->output, "-") != 0) {
		own = fd = open(s->v->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			return cli_fail(s->cli, EXIT_FAILED, "cannot write %s: %s", s->v->output,
					strerror(errno));
	}
	for (size_t i = 0; i < s->list.n && r == 0; i++) {
		abstract_write(&s->list.at[i], &s->nodes, &s->operations, &out);
		if (out.n >= FLUSH_BYTES || out.failed || i + 1 == s->list.n)
			r = all_write(fd, &out);
	}
	if (r < 0 && r != -EPIPE)
		return cli_fail(s->cli, EXIT_FAILED, "cannot write: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int skew_work(struct skewer *s, char **files, int file_n)
{
	struct messages_input input = {.cli = s->cli,
				       .options = &s->v->input,
				       .nodes = &s->nodes,
				       .operations = &s->operations};
	int code = messages_read(&input, message_list_sink(&s->list), files, file_n);

	if (code != EXIT_OK)
		return code;
	s->offsets = calloc(s->nodes.n + 1, sizeof(*s->offsets));
	s->estimates = calloc(s->nodes.n + 1, sizeof(*s->estimates));
	if (!s->offsets || !s->estimates || message_list_sort(&s->list) < 0)
		return cli_fail(s->cli, EXIT_FAILED, "out of memory");
	code = s->v->add.n ? offsets_read(s) : offsets_estimate(s);
	if (code != EXIT_OK)
		return code;
	if (s->v->estimate)
		return offsets_show(s);
	if (skew_apply(&s->list, s->offsets, s->nodes.n, s->v->add.n ? 1 : -1) < 0)
		return cli_fail(s->cli, EXIT_FAILED, "out of memory");
	return trace_write(s);
}

static int skew_run(struct cli *cli, const void *values, int argc, char **argv)
{
	struct skewer s = {.cli = cli, .v = values};
	int code;

	if (argc == 0)
		return cli_usage(cli, "needs a file of messages; - is standard input");
	if (s.v->estimate && s.v->add.n)
		return cli_usage(cli, "either --add or --estimate");
	names_init(&s.nodes);
	names_init(&s.operations);
	code = skew_work(&s, argv, argc);
	message_list_done(&s.list);
	names_done(&s.nodes);
	names_done(&s.operations);
	free(s.offsets);
	free(s.estimates);
	return code;
}

const struct command command_skew = {
	.name = "skew",
	.arguments = "FILE…",
	.summary = "take the differences of clocks out of a trace of messages, or put some in",
	.details =
		"Where calls were seen at both ends the clocks of two nodes can be compared: the quickest message "
		"in one direction against the quickest in the other. Without --add or --estimate the trace is "
		"written with the differences taken out.",
	.examples =
		"causet skew trace.msgs --estimate\n"
		"causet skew trace.msgs -o aligned.msgs\n"
		"causet skew trace.msgs --add WS2=30ms | causet infer - --skew-window 30ms --smooth 3\n",
	.options = skew_options,
	.values_size = sizeof(struct skew_values),
	.flags = COMMAND_OUTPUT,
	.run = skew_run,
};
