/* cli/cmd_trace.c - `causet trace`: one trace, as a tree. */
#include <errno.h>
#include <unistd.h>

#include "api/trace_get.h"
#include "api/trace_json.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/trace_view.h"
#include "core/ids.h"

#define TERMINAL_LIMIT "1000"
#define LISTED_MAX     20

struct trace_values {
	struct option_list files;
	const char *limit;
	int64_t depth;
	bool points, attributes, raw_clocks;
};

static const struct option trace_options[] = {
	{.name = "file",
	 .type = OPTION_LIST,
	 .whole = true,
	 .value = "FILE",
	 .doc = "read this file instead of asking a server; may be given several times",
	 .offset = offsetof(struct trace_values, files)},
	{.name = "limit",
	 .letter = 'n',
	 .type = OPTION_STRING,
	 .value = "N",
	 .doc = "show at most this many spans; 0 is all [" TERMINAL_LIMIT
		" on a terminal, else all]",
	 .offset = offsetof(struct trace_values, limit)},
	{.name = "depth",
	 .letter = 'd',
	 .type = OPTION_INT,
	 .fallback = "0",
	 .min = 0,
	 .max = 1000000,
	 .doc = "show at most this many levels below the roots; 0 is all",
	 .offset = offsetof(struct trace_values, depth)},
	{.name = "points",
	 .letter = 'p',
	 .type = OPTION_BOOL,
	 .doc = "show span events, logs and other points, too",
	 .offset = offsetof(struct trace_values, points)},
	{.name = "attributes",
	 .letter = 'a',
	 .type = OPTION_BOOL,
	 .doc = "show attributes, too",
	 .offset = offsetof(struct trace_values, attributes)},
	{.name = "raw-clocks",
	 .type = OPTION_BOOL,
	 .doc = "show times as they came, without moving clocks",
	 .offset = offsetof(struct trace_values, raw_clocks)},
	{0},
};

/* Keeps only the rows of one trace. */
static void keep(struct gathered *g, struct trace_id id)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		if (trace_id_eq(event_get(g->refs[i])->trace_id, id))
			g->refs[n++] = g->refs[i];
	g->n = n;
}

/* Which traces are in the files: the one there is, or a list to choose from. */
static int choose(struct cli *cli, struct gathered *g)
{
	struct trace_id seen[LISTED_MAX];
	size_t n = 0;
	bool more = false;
	char hex[TRACE_ID_HEX + 1];

	for (size_t i = 0; i < g->n; i++) {
		struct trace_id id = event_get(g->refs[i])->trace_id;
		size_t k = n;

		while (k > 0 && !trace_id_eq(seen[k - 1], id))
			k--;
		if (k > 0)
			continue;
		if (n == LISTED_MAX) {
			more = true;
			break;
		}
		seen[n++] = id;
	}
	if (n == 1 && !more)
		return EXIT_OK;
	cli_fail(cli, EXIT_USAGE, "there is more than one trace; say which:");
	for (size_t i = 0; i < n; i++) {
		trace_id_format(seen[i], hex);
		fprintf(stderr, "  %s\n", hex);
	}
	if (more)
		fputs("  and more\n", stderr);
	return EXIT_USAGE;
}

static int from_files(struct cli *cli, const char *const *paths, const char *wanted,
		      struct gathered *g)
{
	int code = gather_files(cli, paths, NULL, g);
	struct trace_id id;

	if (code)
		return code;
	if (g->rejected)
		cli_note(cli, "%llu rows were not accepted: %s", (unsigned long long)g->rejected,
			 g->reason);
	if (wanted) {
		if (trace_id_read(slice_cstr(wanted), &id) < 0)
			return cli_usage(cli, "'%s' is not a trace id", wanted);
		keep(g, id);
	}
	if (g->n == 0)
		return cli_fail(cli, EXIT_NOTHING,
				wanted ? "there is no trace %s in the file%s"
				       : "there is no trace%s in the file%s",
				wanted ? wanted : "", paths[1] ? "s" : "");
	return wanted ? EXIT_OK : choose(cli, g);
}

static int as_json(struct cli *cli, const struct trace *t, const struct critical_path *path)
{
	_cleanup_(buffer_done)
	struct buffer piece = {0};
	struct trace_json json = trace_json_of(t, path);
	int code = EXIT_OK;

	while (code == EXIT_OK && trace_json_next(&json, &piece))
		code = cli_print(cli, &piece);
	return code;
}

static int show(struct cli *cli, const struct trace_values *v, const struct gathered *g)
{
	_cleanup_(trace_freep)
	struct trace *t = NULL;
	struct view_options options = {.depth = (size_t)v->depth,
				       .points = v->points,
				       .attributes = v->attributes,
				       .columns = cli->columns,
				       .colour = cli->colour};
	const char *limit = v->limit ? v->limit : cli->terminal ? TERMINAL_LIMIT : "0";
	struct critical_path path = {0};
	uint64_t number;
	int r, code;

	if (slice_parse_u64(slice_cstr(limit), &number) < 0)
		return cli_usage(cli, "--limit: '%s' is not a number", limit);
	options.limit = (size_t)number;
	r = trace_build(g->refs, g->n, v->raw_clocks ? TRACE_RAW_CLOCKS : 0, &t);
	if (r == 0 && t->block_n > 0) {
		r = critical_path_whole(t, &path);
		r = r == -ENOMEM ? r : 0;
	}
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "cannot build the trace: %s", strerror(-r));
	code = cli->json ? as_json(cli, t, &path)
			 : trace_view(cli, t, path.n ? &path : NULL, &options);
	critical_path_done(&path);
	return code;
}

static int trace_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct trace_values *v = values;
	const char *one[2] = {argc > 0 ? argv[0] : NULL, NULL};
	struct gathered g = {0};
	struct trace_id id;
	int code;

	if (argc > 1)
		return cli_usage(cli, "one trace at a time, found '%s'", argv[1]);
	if (argc == 0 && v->files.n == 0)
		return cli_usage(cli, "which trace? an id, a traceparent, or a file");
	if (v->files.n)
		code = from_files(cli, v->files.items, one[0], &g);
	else if (trace_id_read(slice_cstr(one[0]), &id) == 0)
		code = gather_trace(cli, one[0], &g);
	else if (strcmp(one[0], "-") == 0 || access(one[0], F_OK) == 0)
		code = from_files(cli, one, NULL, &g);
	else
		code = cli_usage(cli, "'%s' is neither a trace id, nor a traceparent, nor a file",
				 one[0]);
	if (code == EXIT_OK)
		code = show(cli, v, &g);
	gathered_done(&g);
	return code;
}

const struct command command_trace = {
	.name = "trace",
	.arguments = "ID|TRACEPARENT|FILE",
	.summary = "show one trace as a tree",
	.details =
		"A line for each span: service, name, when it started, how long it took, and where that lies in "
		"the whole. * stands on the critical path, ! on failures, letters in brackets on what was "
		"repaired; the end of the output says what they mean. Causes besides the parent stand below a "
		"span. What is not shown is counted.\n\n"
		"With --json the modelled trace is printed, as /api/v1/traces/ID gives it.",
	.examples =
		"causet trace 5b8efff798038103d269b633813fc60c\n"
		"causet trace 00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01\n"
		"causet trace spans.json\n"
		"causet trace --file all.jsonl.gz 5b8efff798038103d269b633813fc60c --attributes\n",
	.options = trace_options,
	.values_size = sizeof(struct trace_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = trace_run,
};
