/* cli/cmd_make_trace.c - `causet make-trace`: a trace of messages from a description of the system.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/source.h"
#include "infer/abstract_read.h"
#include "infer/generate.h"

#define FLUSH_BYTES ((size_t)256 << 10)

struct make_trace_values {
	const char *output, *truth;
	int64_t duration_ns, seed, instances;
};

static const struct option make_trace_options[] = {
	{.name = "output",
	 .letter = 'o',
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "write the trace here instead of to standard output",
	 .offset = offsetof(struct make_trace_values, output)},
	{.name = "truth",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "write what caused what here: \"id parent path\" a line, parent 0 for a root",
	 .offset = offsetof(struct make_trace_values, truth)},
	{.name = "duration",
	 .type = OPTION_DURATION,
	 .doc = "as long as this instead of what the spec says",
	 .offset = offsetof(struct make_trace_values, duration_ns)},
	{.name = "seed",
	 .type = OPTION_INT,
	 .fallback = "-1",
	 .min = -1,
	 .max = INT64_MAX,
	 .doc = "another seed than the spec's; the same seed makes the same trace",
	 .offset = offsetof(struct make_trace_values, seed)},
	{.name = "instances",
	 .type = OPTION_INT,
	 .fallback = "0",
	 .min = 0,
	 .max = SPEC_MAX_INSTANCES,
	 .doc = "this many of every tracelet at the same time instead of what the spec says",
	 .offset = offsetof(struct make_trace_values, instances)},
	{0},
};

struct outputs {
	const struct spec *spec;
	struct buffer messages, truth;
	int messages_fd, truth_fd; /* negative: not wanted */
};

static int flush(int fd, struct buffer *b)
{
	struct slice rest = buffer_get(b);

	if (b->failed)
		return -ENOMEM;
	while (rest.n > 0) {
		ssize_t n = write(fd, rest.p, rest.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		rest = slice_from(rest, (size_t)n);
	}
	buffer_clear(b);
	return 0;
}

static int messages_put(void *context, const struct message *messages, size_t n)
{
	struct outputs *o = context;

	for (size_t i = 0; i < n; i++)
		abstract_write(&messages[i], &o->spec->names, NULL, &o->messages);
	return o->messages.n >= FLUSH_BYTES || o->messages.failed
		       ? flush(o->messages_fd, &o->messages)
		       : 0;
}

static int truth_put(void *context, const struct truth *t)
{
	char id[MESSAGE_ID_BYTES], parent[MESSAGE_ID_BYTES];
	struct outputs *o = context;

	buffer_printf(&o->truth, "%s %s %llx\n", message_id_format(t->id, id),
		      t->parent == MESSAGE_NO_ID ? "0" : message_id_format(t->parent, parent),
		      (unsigned long long)t->path);
	return o->truth.n >= FLUSH_BYTES || o->truth.failed ? flush(o->truth_fd, &o->truth) : 0;
}

static int spec_read(struct cli *cli, const char *path, struct buffer *text)
{
	_cleanup_(source_closep)
	struct source *source = NULL;
	struct error error = {0};
	ssize_t n = 1;

	/* A name without a slash or an ending is one of those that came with the program. */
	if (!strchr(path, '/') && !strchr(path, '.') && strcmp(path, "-") != 0 &&
	    access(path, R_OK) < 0) {
		path = arena_printf(&cli->arena, "%s/%s.spec", CAUSET_SPECS, path);
		if (!path)
			return cli_fail(cli, EXIT_FAILED, "out of memory");
	}
	if (source_open(path, &source, &error) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	while (n > 0 && text->n <= SPEC_MAX_BYTES) {
		char *room = buffer_reserve(text, 65536);

		if (!room)
			return cli_fail(cli, EXIT_FAILED, "out of memory");
		n = source_read(source, room, 65536, &error);
		if (n < 0)
			return cli_fail(cli, EXIT_FAILED, "%s", error.text);
		text->n += (size_t)n;
	}
	return EXIT_OK;
}

static int output_open(struct cli *cli, const char *path, int *ret_fd)
{
	if (!path || strcmp(path, "-") == 0) {
		*ret_fd = STDOUT_FILENO;
		return EXIT_OK;
	}
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return *ret_fd < 0
		       ? cli_fail(cli, EXIT_FAILED, "cannot write %s: %s", path, strerror(errno))
		       : EXIT_OK;
}

static int make(struct cli *cli, const struct make_trace_values *v, struct spec *spec,
		struct outputs *o)
{
	struct generate_sink sink = {.messages = {messages_put, o}, .context = o};
	struct generate_tally tally;
	int code = output_open(cli, v->output, &o->messages_fd), r;

	if (code == EXIT_OK && v->truth) {
		sink.truth = truth_put;
		code = output_open(cli, v->truth, &o->truth_fd);
	}
	if (code != EXIT_OK)
		return code;
	r = generate(spec, &sink, &tally);
	if (r == 0)
		r = flush(o->messages_fd, &o->messages);
	if (r == 0 && v->truth)
		r = flush(o->truth_fd, &o->truth);
	if (r == -EPIPE)
		return EXIT_FAILED;
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "cannot write: %s", strerror(-r));
	cli_note(cli, "%llu messages of %llu calls on %llu paths; %llu more were lost on the way",
		 (unsigned long long)tally.messages, (unsigned long long)tally.calls,
		 (unsigned long long)tally.paths, (unsigned long long)tally.lost);
	return EXIT_OK;
}

static int make_trace_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct make_trace_values *v = values;
	struct outputs o = {.messages_fd = -1, .truth_fd = -1};
	_cleanup_(buffer_done)
	struct buffer text = {0};
	struct error error = {0};
	struct spec spec;
	int code;

	if (argc != 1)
		return cli_usage(cli, "needs one spec: a file, or the name of one that came along");
	code = spec_read(cli, argv[0], &text);
	if (code != EXIT_OK)
		return code;
	if (spec_parse(&spec, buffer_get(&text), &error) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s: %s", argv[0], error.text);
	o.spec = &spec;
	if (v->duration_ns > 0)
		spec.duration_ns = v->duration_ns;
	if (v->seed >= 0)
		spec.seed = (uint64_t)v->seed;
	for (struct spec_tracelet *t = spec.tracelets; t && v->instances > 0; t = t->next)
		t->instances = v->instances;
	code = make(cli, v, &spec, &o);
	if (o.messages_fd > STDOUT_FILENO)
		close(o.messages_fd);
	if (o.truth_fd > STDOUT_FILENO)
		close(o.truth_fd);
	buffer_done(&o.messages);
	buffer_done(&o.truth);
	spec_done(&spec);
	return code;
}

const struct command command_make_trace = {
	.name = "make-trace",
	.arguments = "SPEC",
	.summary = "make up a trace of messages, and the truth about it",
	.details =
		"A spec says which calls a request makes (a tracelet), how long each step takes, how many "
		"requests run at the same time, which messages a sniffer loses and whose clock is wrong. The "
		"trace is text, \"seconds OP sender receiver id\" a line, as causet infer reads it.\n\n"
		"Specs of the configurations in \"Performance Debugging for Distributed Systems of Black "
		"Boxes\" (SOSP 2003) are installed: multi-tier, added-delay, parallelism-low, -medium and "
		"-high, children-parallel, children-0-2, children-d-cc, penalty-breaker, petstore, "
		"petstore-const-delay, mail.",
	.examples = "causet make-trace multi-tier -o normal.msgs --truth normal.truth\n"
		    "causet make-trace shop.spec --duration 10s | causet infer -\n",
	.options = make_trace_options,
	.values_size = sizeof(struct make_trace_values),
	.flags = COMMAND_OUTPUT,
	.run = make_trace_run,
};
