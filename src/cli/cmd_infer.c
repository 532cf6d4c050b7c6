/* cli/cmd_infer.c - `causet infer`: causal paths from messages alone. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/inferred.h"
#include "cli/messages.h"

struct infer_values {
	struct messages_options input;
	int64_t mode, format, sort, top, skew_ns, bin_base_ns;
	const char *smooth;
	bool calls;
};

static const char *const mode_names[] = {"best", "nesting", NULL};
static const char *const format_names[] = {"table", NULL};
static const char *const sort_names[] = {"latency", "count", NULL};

static const struct option infer_options[] = {
	{.name = "mode",
	 .letter = 'm',
	 .type = OPTION_CHOICE,
	 .choices = mode_names,
	 .fallback = "best",
	 .doc = "how to infer",
	 .offset = offsetof(struct infer_values, mode)},
	{.name = "format",
	 .letter = 'f',
	 .type = OPTION_CHOICE,
	 .choices = format_names,
	 .fallback = "table",
	 .doc = "how to show it",
	 .offset = offsetof(struct infer_values, format)},
	{.name = "sort",
	 .type = OPTION_CHOICE,
	 .choices = sort_names,
	 .fallback = "latency",
	 .doc = "patterns with the most latency in sum first, or the most frequent ones",
	 .offset = offsetof(struct infer_values, sort)},
	{.name = "top",
	 .letter = 'n',
	 .type = OPTION_INT,
	 .fallback = "20",
	 .min = 0,
	 .max = 1000000000,
	 .doc = "at most this many patterns; 0 is all",
	 .offset = offsetof(struct infer_values, top)},
	{.name = "skew-window",
	 .type = OPTION_DURATION,
	 .fallback = "0s",
	 .group = "Inferring",
	 .doc = "clocks may differ by this much",
	 .offset = offsetof(struct infer_values, skew_ns)},
	{.name = "smooth",
	 .type = OPTION_STRING,
	 .fallback = "0",
	 .value = "BINS",
	 .doc = "nesting: smooth the delays by this many bins; helps where clocks differ",
	 .offset = offsetof(struct infer_values, smooth)},
	{.name = "bin-base",
	 .type = OPTION_DURATION,
	 .fallback = "0s",
	 .doc = "nesting: where the 340 bins of delays begin, 1ms as published; 0s: as the data asks "
		"for",
	 .offset = offsetof(struct infer_values, bin_base_ns)},
	MESSAGES_OPTIONS(infer_values),
	{0},
};

static void inferred_done(struct inferred *in)
{
	names_done(&in->nodes);
	names_done(&in->operations);
	calls_done(&in->calls);
	patterns_done(&in->patterns);
	free(in->links);
	free(in->pattern_of);
	free(in->rank);
}

static int calls_read(struct inferred *in, const struct infer_values *v, char **files, int file_n)
{
	struct messages_input input = {.cli = in->cli,
				       .options = &v->input,
				       .nodes = &in->nodes,
				       .operations = &in->operations};
	struct pairing *pairing;
	int code;

	if (pairing_new(&in->calls, &pairing) < 0)
		return cli_fail(in->cli, EXIT_FAILED, "out of memory");
	code = messages_read(&input, pairing_sink(pairing), files, file_n);
	if (code == EXIT_OK && pairing_finish(pairing) < 0)
		code = cli_fail(in->cli, EXIT_FAILED, "out of memory");
	in->tally = *pairing_tally(pairing);
	pairing_free(pairing);
	return code;
}

static int calls_link(struct inferred *in, const struct infer_values *v)
{
	const struct infer_mode *mode = infer_mode_find(slice_cstr(mode_names[v->mode]));
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct error error = {0};
	size_t n = in->calls.n ? in->calls.n : 1;
	void *state = NULL;
	int r;

	options.skew_ns = v->skew_ns;
	options.bin_base_ns = v->bin_base_ns;
	options.smooth = strtod(v->smooth, NULL);
	in->mode = mode->name;
	in->links = calloc(n, sizeof(*in->links));
	in->pattern_of = malloc(n * sizeof(*in->pattern_of));
	r = in->links && in->pattern_of ? mode->open(&options, &state) : -ENOMEM;
	if (r == 0)
		r = mode->link(state, &in->calls, INT64_MAX, in->links, &error);
	mode->close(state);
	if (r == 0)
		r = patterns_add(&in->patterns, &in->calls, in->links, INT64_MAX, in->pattern_of);
	if (r == 0 && !(in->rank = patterns_rank(&in->patterns, in->order)))
		r = -ENOMEM;
	return r < 0 ? cli_fail(in->cli, EXIT_FAILED, "%s",
				error.text[0] ? error.text : strerror(-r))
		     : EXIT_OK;
}

static void tally_note(const struct inferred *in)
{
	const struct pairing_tally *t = &in->tally;

	cli_note(in->cli, "%llu messages, %zu calls between %zu nodes, %llu paths, %zu patterns",
		 (unsigned long long)t->messages, in->calls.n, in->nodes.n,
		 (unsigned long long)in->patterns.paths, in->patterns.n);
	if (t->lonely_returns || t->unfinished)
		cli_note(in->cli,
			 "%llu returns had no call and %llu calls no return: they are left out",
			 (unsigned long long)t->lonely_returns, (unsigned long long)t->unfinished);
	if (t->unordered)
		cli_note(in->cli, "%llu messages were older than one before them",
			 (unsigned long long)t->unordered);
}

static int infer_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct infer_values *v = values;
	struct inferred in = {.cli = cli,
			      .top = (size_t)v->top,
			      .order = v->sort == 0 ? PATTERNS_BY_LATENCY : PATTERNS_BY_COUNT};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	int code;

	if (argc == 0)
		return cli_usage(cli, "needs a file of messages; - is standard input");
	names_init(&in.nodes);
	names_init(&in.operations);
	patterns_init(&in.patterns, &in.nodes);
	code = calls_read(&in, v, argv, argc);
	if (code == EXIT_OK)
		code = calls_link(&in, v);
	if (code == EXIT_OK)
		tally_note(&in);
	if (code == EXIT_OK && in.patterns.n == 0) {
		cli_note(cli, "there is no call with its return in it");
		code = EXIT_NOTHING;
	}
	if (code == EXIT_OK) {
		inferred_table(&in, &out);
		code = cli_print(cli, &out);
	}
	inferred_done(&in);
	return code;
}

const struct command command_infer = {
	.name = "infer",
	.arguments = "FILE…",
	.summary = "find causal paths in messages that were seen, without any instrumentation",
	.details =
		"Reads messages (who sent to whom, when; gzip and zstd are unpacked) and finds which call caused "
		"which: the patterns of paths, how often each is taken, and where its time goes.",
	.examples = "causet infer trace.msgs.gz\n"
		    "causet make-trace multi-tier | causet infer - --sort count\n",
	.options = infer_options,
	.values_size = sizeof(struct infer_values),
	.flags = COMMAND_OUTPUT,
	.run = infer_run,
};
