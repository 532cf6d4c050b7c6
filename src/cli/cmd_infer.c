/* cli/cmd_infer.c - `causet infer`: causal paths from messages alone. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/inferred.h"
#include "cli/messages.h"
#include "infer/abstract_read.h"
#include "infer/convolution_stream.h"

struct infer_values {
	struct messages_options input;
	int64_t mode, format, sort, top, skew_ns, bin_base_ns, quantum_ns, max_lag_ns, least;
	int64_t window_ns, max_calls, after_reply_ns;
	const char *smooth, *root, *score;
	struct option_list compare;
	bool calls, derived, messages, alike;
};

#define CONVOLUTION_MODE "convolution"
#define DURATION_MAX     100000000000000000 /* three years */
#define MAPPED_BYTES     (1 << 20)
#define SMOOTH_MAX       100
#define SETTLE_NS        1000000000 /* clocks rarely differ by more: a path is then complete */

static const char *const mode_names[] = {"best", "nesting", CONVOLUTION_MODE, NULL};
static const char *const format_names[] = {"table", "json", "dot", "svg", "otlp", NULL};
enum { FORMAT_TABLE, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG, FORMAT_TRACES };
static const char *const sort_names[] = {"latency", "count", NULL};

static const struct option infer_options[] = {
	{.name = "mode",
	 .letter = 'm',
	 .type = OPTION_CHOICE,
	 .choices = mode_names,
	 .fallback = "best",
	 .doc = "how to infer; best and nesting need calls and returns, convolution only messages",
	 .offset = offsetof(struct infer_values, mode)},
	{.name = "format",
	 .letter = 'f',
	 .type = OPTION_CHOICE,
	 .choices = format_names,
	 .fallback = "table",
	 .doc = "how to show it; otlp is for causet import",
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
	{.name = "alike",
	 .type = OPTION_BOOL,
	 .doc = "add up patterns that differ only in which of several like nodes did the work, as behind "
		"a load balancer",
	 .offset = offsetof(struct infer_values, alike)},
	{.name = "calls",
	 .type = OPTION_BOOL,
	 .doc = "json: every call with its parent and the confidence, too",
	 .offset = offsetof(struct infer_values, calls)},
	{.name = "compare",
	 .type = OPTION_LIST,
	 .whole = true,
	 .value = "FILE",
	 .doc = "say what has changed since the run in this file; may be given several times for a "
		"run in several files",
	 .offset = offsetof(struct infer_values, compare)},
	{.name = "score",
	 .type = OPTION_STRING,
	 .value = "TRUTH",
	 .doc = "say how right it is, by a file of \"id parent path\" a line; with --json the last line "
		"is one object",
	 .offset = offsetof(struct infer_values, score)},
	{.name = "window",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = DURATION_MAX,
	 .fallback = "0s",
	 .group = "Streams",
	 .doc = "show the patterns of every such stretch of time as it ends, and all of them at the end; "
		"0s: only at the end",
	 .offset = offsetof(struct infer_values, window_ns)},
	{.name = "max-calls",
	 .type = OPTION_INT,
	 .fallback = "4000000",
	 .min = 1000,
	 .max = 1000000000,
	 .doc = "calls kept in memory; a longer trace is linked in pieces, each with what was learnt "
		"before",
	 .offset = offsetof(struct infer_values, max_calls)},
	{.name = "skew-window",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = DURATION_MAX,
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
	{.name = "after-reply",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = DURATION_MAX,
	 .fallback = "0s",
	 .doc = "nesting: a node may make calls for this long after it has replied, as a cache that "
		"writes back does",
	 .offset = offsetof(struct infer_values, after_reply_ns)},
	{.name = "bin-base",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = DURATION_MAX,
	 .fallback = "0s",
	 .doc = "nesting: where the 340 bins of delays begin, 1ms as published; 0s: as the data asks "
		"for",
	 .offset = offsetof(struct infer_values, bin_base_ns)},
	{.name = "quantum",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = DURATION_MAX,
	 .fallback = "0s",
	 .doc = "convolution: the unit of time; 0s: as the data asks for",
	 .offset = offsetof(struct infer_values, quantum_ns)},
	{.name = "max-lag",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = DURATION_MAX,
	 .fallback = "0s",
	 .doc = "convolution: the longest delay looked for; 0s: 500 quanta or more",
	 .offset = offsetof(struct infer_values, max_lag_ns)},
	{.name = "least",
	 .type = OPTION_INT,
	 .fallback = "0",
	 .min = 0,
	 .max = INT64_MAX,
	 .doc = "convolution: paths of fewer messages are noise; 0: 10, or 0.5% of the root's",
	 .offset = offsetof(struct infer_values, least)},
	{.name = "root",
	 .type = OPTION_STRING,
	 .value = "NODE",
	 .doc = "convolution: where paths begin; else at nodes that nobody calls",
	 .offset = offsetof(struct infer_values, root)},
	{.name = "derived",
	 .type = OPTION_BOOL,
	 .doc = "convolution: show short cuts that longer paths explain, too",
	 .offset = offsetof(struct infer_values, derived)},
	{.name = "messages",
	 .type = OPTION_BOOL,
	 .group = "Reading",
	 .doc = "infer nothing: write the messages that were read, one a line",
	 .offset = offsetof(struct infer_values, messages)},
	MESSAGES_OPTIONS(infer_values),
	PACKET_OPTIONS(infer_values),
	{0},
};

static bool show_json(const struct cli *cli, const struct infer_values *v)
{
	return cli->json || v->format == FORMAT_JSON;
}

static void inferred_init(struct inferred *in, struct cli *cli, const struct infer_values *v)
{
	*in = (struct inferred){.cli = cli,
				.top = (size_t)v->top,
				.mode = mode_names[v->mode],
				.order = v->sort == 0 ? PATTERNS_BY_LATENCY : PATTERNS_BY_COUNT};
	names_init(&in->nodes);
	names_init(&in->operations);
	patterns_init(&in->patterns, &in->nodes);
}

static void inferred_done(struct inferred *in)
{
	patterns_done(&in->patterns);
	names_done(&in->nodes);
	names_done(&in->operations);
	convolution_done(&in->convolution);
	free(in->rank);
}

static struct messages_input input_of(struct inferred *in, const struct infer_values *v)
{
	return (struct messages_input){.cli = in->cli,
				       .options = &v->input,
				       .nodes = &in->nodes,
				       .operations = &in->operations};
}

/* What happens at the end of each window. */
struct windows {
	struct inferred *in;
	const struct infer_values *v;
	int code;
};

/* Says which window follows. */
static void window_head(const struct windows *ws, uint64_t number, int64_t until_ns,
			struct buffer *out)
{
	char from[QUANTITY_TEXT_BYTES];

	if (show_json(ws->in->cli, ws->v))
		buffer_printf(out, "{\"window\":%llu,\"until_ns\":%lld}\n",
			      (unsigned long long)number, (long long)until_ns);
	else if (until_ns == INT64_MAX)
		buffer_printf(out, "\nwindow %llu, the last\n", (unsigned long long)number);
	else
		buffer_printf(out, "\nwindow %llu, until %s\n", (unsigned long long)number,
			      moment_format(until_ns, from));
}

/* The patterns of one window alone: what is frequent for a while only. */
static int window_show(struct windows *ws, const struct linking_window *w)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct inferred in = *ws->in;
	int r;

	patterns_init(&in.patterns, &ws->in->nodes);
	in.rank = NULL;
	r = patterns_add(&in.patterns, w->calls, w->links, w->cut_ns, NULL);
	if (r == 0 && !(in.rank = patterns_rank(&in.patterns, in.order)))
		r = -ENOMEM;
	if (r == 0 && in.patterns.n > 0) {
		window_head(ws, w->number, w->cut_ns, &out);
		(show_json(in.cli, ws->v) ? inferred_json : inferred_table)(&in, &out);
	}
	if (r == 0)
		ws->code = cli_print(in.cli, &out);
	free(in.rank);
	patterns_done(&in.patterns);
	return r < 0 ? r : ws->code == EXIT_OK ? 0 : -ECANCELED;
}

static int calls_score(struct windows *ws, const struct linking_window *w)
{
	if (w->number > 1 || w->cut_ns != INT64_MAX) {
		ws->code = cli_fail(ws->in->cli, EXIT_FAILED,
				    "a score needs the whole trace in one window");
		return -ECANCELED;
	}
	ws->code = inferred_score(ws->in, w, ws->v->score);
	return ws->code == EXIT_OK ? 0 : -ECANCELED;
}

static int window_end(void *context, const struct linking_window *w)
{
	struct windows *ws = context;
	struct pool_found pools[POOLS_MAX];
	_cleanup_(buffer_done)
	struct buffer out = {0};
	int found;

	if (ws->v->score)
		return calls_score(ws, w);
	found = pools_find(w->calls, w->links, pools);
	if (found < 0)
		return found;
	if (found > 0) {
		memcpy(ws->in->pools, pools, (size_t)found * sizeof(*pools));
		ws->in->pool_n = found;
	}
	if (ws->v->compare.n)
		return 0;
	if (ws->v->format == FORMAT_TRACES && !ws->in->cli->json) {
		ws->code = inferred_otlp(ws->in, w);
		return ws->code == EXIT_OK ? 0 : -ECANCELED;
	}
	if (ws->v->calls) {
		inferred_calls(ws->in, w, &out);
		ws->code = out.failed ? EXIT_FAILED : cli_print(ws->in->cli, &out);
		if (ws->code != EXIT_OK)
			return -ECANCELED;
	}
	return ws->v->window_ns > 0 ? window_show(ws, w) : 0;
}

/* Patterns of like nodes take the place of the others. */
static int alike_merge(struct inferred *in)
{
	struct patterns merged;
	struct names names;
	int r = patterns_alike(&in->patterns, &merged, &names);

	if (r < 0)
		return r;
	patterns_done(&in->patterns);
	in->pool_n = 0; /* its nodes have other numbers now */
	names_done(&in->nodes);
	in->nodes = names;
	in->patterns = merged;
	in->patterns.nodes = &in->nodes;
	return 0;
}

/* Reads all files and links their calls, window by window. */
static int calls_link(struct inferred *in, const struct infer_values *v, char *const *files,
		      int file_n, bool quiet)
{
	struct windows ws = {.in = in, .v = v};
	struct linking_options options = {
		.mode = infer_mode_find(slice_cstr(in->mode)),
		.infer = INFER_OPTIONS_DEFAULT,
		.max_calls = (size_t)v->max_calls,
		.window_ns = v->window_ns,
		.settle_ns = v->skew_ns + SETTLE_NS,
		.window = quiet ? NULL : window_end,
		.context = &ws,
	};
	struct messages_input input = input_of(in, v);
	struct linking *linking;
	double smooth;
	char *end;
	int code, r;

	smooth = strtod(v->smooth, &end);
	if (*end || end == v->smooth || !(smooth >= 0 && smooth <= SMOOTH_MAX))
		return cli_usage(in->cli, "--smooth is a number of bins from 0 to %d, found '%s'",
				 SMOOTH_MAX, v->smooth);
	options.infer.skew_ns = v->skew_ns;
	options.infer.after_reply_ns = v->after_reply_ns;
	options.settle_ns += 2 * v->after_reply_ns;
	options.infer.bin_base_ns = v->bin_base_ns;
	options.infer.smooth = smooth;
	if (linking_new(&options, &in->patterns, &linking) < 0)
		return cli_fail(in->cli, EXIT_FAILED, "out of memory");
	input.code = &ws.code;
	code = messages_read(&input, linking_sink(linking), files, file_n);
	if (code == EXIT_OK) {
		r = linking_finish(linking);
		if (r == 0 && v->alike)
			r = alike_merge(in);
		if (r == 0 && !(in->rank = patterns_rank(&in->patterns, in->order)))
			r = -ENOMEM;
		if (r < 0)
			code = ws.code ? ws.code
				       : cli_fail(in->cli, EXIT_FAILED, "%s",
						  linking_error(linking)[0] ? linking_error(linking)
									    : strerror(-r));
	}
	in->tally = linking_tally(linking);
	linking_free(linking);
	return code;
}

/* What convolution found in one window alone. */
static int paths_show(void *context, const struct convolution_window *w)
{
	struct windows *ws = context;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct inferred in = *ws->in;

	in.convolution = *w->found;
	if (w->found->n > 0)
		window_head(ws, w->number, w->until_ns, &out);
	if (w->found->n > 0)
		(show_json(in.cli, ws->v) ? convolution_json : convolution_table)(&in, &out);
	ws->code = out.failed ? EXIT_FAILED : cli_print(in.cli, &out);
	return ws->code == EXIT_OK ? 0 : -ECANCELED;
}

static int convolve(struct inferred *in, const struct infer_values *v, char *const *files,
		    int file_n, bool quiet)
{
	struct windows ws = {.in = in, .v = v};
	struct convolution_stream_options options = {
		.infer = CONVOLUTION_OPTIONS_DEFAULT,
		.nodes = &in->nodes,
		.root = v->root ? slice_cstr(v->root) : SLICE(""),
		.max_messages = 2 * (size_t)v->max_calls,
		.window_ns = v->window_ns,
		.window = quiet || v->window_ns == 0 ? NULL : paths_show,
		.context = &ws,
	};
	struct messages_input input = input_of(in, v);
	struct convolution_stream *stream;
	struct error error = {0};
	int code;

	options.infer.quantum_ns = v->quantum_ns;
	options.infer.max_lag_ns = v->max_lag_ns;
	options.infer.least = (uint64_t)v->least;
	options.infer.keep_derived = v->derived;
	if (convolution_stream_new(&options, &stream) < 0)
		return cli_fail(in->cli, EXIT_FAILED, "out of memory");
	input.code = &ws.code;
	code = messages_read(&input, convolution_stream_sink(stream), files, file_n);
	if (code == EXIT_OK && convolution_stream_finish(stream, &in->convolution, &error) < 0)
		code = ws.code ? ws.code : cli_fail(in->cli, EXIT_FAILED, "%s", error.text);
	convolution_stream_free(stream);
	return code;
}

static int files_infer(struct inferred *in, const struct infer_values *v, char *const *files,
		       int file_n, bool quiet)
{
	if (strcmp(in->mode, CONVOLUTION_MODE) == 0)
		return convolve(in, v, files, file_n, quiet);
	return calls_link(in, v, files, file_n, quiet);
}

static void tally_note(const struct inferred *in)
{
	const struct pairing_tally *t = &in->tally.pairing;

	if (in->convolution.messages) {
		cli_note(in->cli, "%llu messages between %zu nodes, %zu vertices",
			 (unsigned long long)in->convolution.messages, in->nodes.n,
			 in->convolution.n);
		return;
	}
	cli_note(in->cli, "%llu messages, %llu calls between %zu nodes, %llu paths, %zu patterns",
		 (unsigned long long)t->messages, (unsigned long long)in->tally.calls, in->nodes.n,
		 (unsigned long long)in->patterns.paths, in->patterns.n);
	if (in->patterns.rare_paths)
		cli_note(
			in->cli,
			"%llu paths were in rare patterns that there was no room for, at most %llu in "
			"one of them",
			(unsigned long long)in->patterns.rare_paths,
			(unsigned long long)in->patterns.rare_most);
	if (t->lonely_returns || t->unfinished)
		cli_note(in->cli,
			 "%llu returns had no call and %llu calls no return: they are left out",
			 (unsigned long long)t->lonely_returns, (unsigned long long)t->unfinished);
	if (t->unordered)
		cli_note(in->cli, "%llu messages were older than one before them",
			 (unsigned long long)t->unordered);
}

static int show(const struct inferred *in, int64_t format)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	bool paths = in->convolution.n > 0;

	if (in->cli->json)
		format = FORMAT_JSON;
	if (paths && format == FORMAT_TRACES)
		return cli_usage(in->cli,
				 "convolution finds no calls; use table, json, dot or svg");
	switch (format) {
	case FORMAT_JSON:
		(paths ? convolution_json : inferred_json)(in, &out);
		break;
	case FORMAT_DOT:
		(paths ? convolution_dot : inferred_dot)(in, &out);
		break;
	case FORMAT_SVG:
		(paths ? convolution_svg : inferred_svg)(in, &out);
		break;
	case FORMAT_TRACES:
		return EXIT_OK; /* printed window by window */
	default:
		(paths ? convolution_table : inferred_table)(in, &out);
	}
	return cli_print(in->cli, &out);
}

static int compare(const struct inferred *in, const struct infer_values *v)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct inferred before;
	int code;

	inferred_init(&before, in->cli, v);
	code = files_infer(&before, v, (char *const *)v->compare.items, (int)v->compare.n, true);
	if (code == EXIT_OK) {
		inferred_compare(&before, in, &out);
		code = cli_print(in->cli, &out);
	}
	inferred_done(&before);
	return code;
}

/* Messages as lines on standard output, as they come. */
static int message_line(void *context, const struct message *m, size_t n)
{
	struct inferred *in = context;
	_cleanup_(buffer_done)
	struct buffer out = {0};

	for (size_t i = 0; i < n; i++)
		abstract_write(&m[i], &in->nodes, &in->operations, &out);
	return out.failed ? -ENOMEM : cli_print(in->cli, &out) == EXIT_OK ? 0 : -EPIPE;
}

static int messages_print(struct inferred *in, const struct infer_values *v, char **files,
			  int file_n)
{
	struct messages_input input = input_of(in, v);

	return messages_read(&input, (struct message_sink){message_line, in}, files, file_n);
}

static int infer_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct infer_values *v = values;
	struct inferred in;
	int code;

	if (argc == 0 && !v->input.live)
		return cli_usage(cli, "needs a file of messages; - is standard input");
	if (argc > 0 && v->input.live)
		return cli_usage(cli, "reads files or captures with --live, not both at once");
	/* What a window needs for a while goes back to the system at once. */
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	inferred_init(&in, cli, v);
	if (v->messages) {
		code = messages_print(&in, v, argv, argc);
		inferred_done(&in);
		return code;
	}
	code = files_infer(&in, v, argv, argc, false);
	if (code == EXIT_OK)
		tally_note(&in);
	if (code == EXIT_OK && in.patterns.n == 0 && in.convolution.n == 0) {
		cli_note(cli,
			 in.tally.pairing.free_form > 0
				 ? "no path was found: these are messages without answers, "
				   "which --mode convolution is for"
				 : "no path was found: there is no call with its return in it");
		code = EXIT_NOTHING;
	}
	if (code == EXIT_OK)
		code = v->score ? EXIT_OK : v->compare.n ? compare(&in, v) : show(&in, v->format);
	inferred_done(&in);
	return code;
}

const struct command command_infer = {
	.name = "infer",
	.arguments = "FILE… | --live INTERFACE",
	.summary = "find causal paths in messages that were seen, without any instrumentation",
	.details =
		"Reads messages (who sent to whom, when), or finds them in packets (pcap, pcapng, live); gzip and "
		"zstd are unpacked. Then finds which call caused "
		"which: the patterns of paths, how often each is taken, and where its time goes. Several files are "
		"merged; a message that two of them hold counts once.\n\n"
		"A table names for each pattern how often it was taken, its share of all latency, and the node that "
		"costs most; the first patterns follow as trees beside their timelines, where a thick line is the "
		"node's own time and a thin one is waiting.",
	.examples = "causet infer trace.msgs.gz\n"
		    "causet make-trace multi-tier | causet infer - --sort count\n"
		    "causet infer after.msgs --compare before.msgs\n"
		    "causet infer trace.msgs --format otlp | causet import -\n"
		    "causet infer bridge.pcap.gz --map 10.9.0.5=auth\n"
		    "causet infer --live eth0 --duration 1m --live-filter 'tcp port 80'\n",
	.options = infer_options,
	.values_size = sizeof(struct infer_values),
	.flags = COMMAND_OUTPUT,
	.run = infer_run,
};
