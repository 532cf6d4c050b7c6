/* cli/cmd_export.c - `causet export`: traces out of a server, or from one format to another. */
#include <stdlib.h>

#include "api/params.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/filter.h"
#include "cli/formats.h"
#include "cli/gather.h"
#include "cli/progress.h"
#include "cli/remote.h"
#include "cli/sink.h"

struct export_values {
	struct filter filter;
	const char *format, *output;
	struct option_list files;
	int64_t limit;
};

static const struct option export_options[] = {
	FILTER_OPTIONS,
	{.name = "limit",
	 .letter = 'n',
	 .type = OPTION_INT,
	 .fallback = "0",
	 .min = 0,
	 .max = PARAMS_MAX_EXPORT,
	 .doc = "at most this many traces; 0 is all",
	 .offset = offsetof(struct export_values, limit)},
	{.name = "file",
	 .type = OPTION_LIST,
	 .whole = true,
	 .value = "FILE",
	 .group = "From and to",
	 .doc = "read this file instead of asking a server; may be given several times",
	 .offset = offsetof(struct export_values, files)},
	{.name = "format",
	 .letter = 'f',
	 .type = OPTION_STRING,
	 .value = "NAME",
	 .doc = FORMATS_DOC " [by the output's name, else otlp-json]",
	 .offset = offsetof(struct export_values, format)},
	{.name = "output",
	 .letter = 'o',
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "write here instead of to standard output",
	 .offset = offsetof(struct export_values, output)},
	{0},
};

/* Pieces already written stay; the message says so through the exit code. */
static int from_files(struct cli *cli, const struct export_values *v, const struct codec *codec,
		      struct sink *sink)
{
	struct gathered all = {0};
	int code = gather_files(cli, v->files.items, NULL, &all), r = 0;

	if (code == EXIT_OK)
		r = sink_rows(sink, codec, all.refs, all.n);
	if (code == EXIT_OK && r < 0)
		code = cli_fail(cli, EXIT_FAILED, "cannot write: %s", strerror(-r));
	if (code == EXIT_OK && all.rejected) {
		code = EXIT_PARTIAL;
		cli_fail(cli, code, "%llu rows were not accepted: %s",
			 (unsigned long long)all.rejected, all.reason);
	}
	gathered_done(&all);
	return code;
}

/* What comes from a server, told on the way. */
struct receiving {
	struct sink *sink;
	struct progress progress;
};

static int receive(void *context, struct slice piece)
{
	struct receiving *x = context;
	int r = sink_write(x->sink, piece);

	progress_update(&x->progress, x->sink->bytes, 0);
	return r;
}

static int from_server(struct cli *cli, const struct export_values *v, const struct codec *codec,
		       char *const *ids, int id_n, struct sink *sink)
{
	_cleanup_(buffer_done)
	struct buffer query = {0};
	struct receiving x = {sink, progress_start(cli, "export")};
	struct http_answer answer;
	struct remote remote;
	int code = remote_open(cli, &remote);

	if (code)
		return code;
	/* Not into what is exported. */
	x.progress.shown &= sink->path || !cli->terminal;
	if (id_n == 0) {
		filter_query(&v->filter, &query);
		if (v->limit) {
			char limit[24];

			snprintf(limit, sizeof(limit), "%lld", (long long)v->limit);
			query_add(&query, "limit", slice_cstr(limit));
		}
	}
	query_add(&query, "format", slice_cstr(codec->name));
	for (int i = 0; code == EXIT_OK && i < (id_n ? id_n : 1); i++) {
		const char *path = id_n ? arena_printf(&cli->arena, "/api/v1/traces/%s", ids[i])
					: "/api/v1/export";

		code = path ? remote_get(&remote, cli->server, path, &query, receive, &x, &answer)
			    : cli_fail(cli, EXIT_FAILED, "out of memory");
		if (code == EXIT_OK)
			http_answer_done(&answer);
	}
	progress_end(&x.progress);
	remote_done(&remote);
	return code;
}

static bool is_filtered(const struct export_values *v)
{
	const struct filter *f = &v->filter;

	return f->service || f->operation || f->start || f->end || f->min_duration ||
	       f->max_duration || f->tags.n || f->errors || v->limit;
}

static int export_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct export_values *v = values;
	struct sink sink = sink_of(v->output);
	const struct codec *codec;
	int code = format_find(cli, v->format, &codec);

	if (code)
		return code;
	if ((v->files.n || argc > 0) && is_filtered(v))
		return cli_usage(cli,
				 "conditions choose traces of a server; they do not go with %s",
				 v->files.n ? "--file" : "trace ids");
	if (v->files.n && argc > 0)
		return cli_usage(cli, "'%s': either --file or trace ids", argv[0]);
	if (!codec)
		codec = sink_format(v->output);
	if (argc > 1 && !codec->appends)
		return cli_usage(cli, "%s holds one export a file; give one trace id", codec->name);
	code = v->files.n ? from_files(cli, v, codec, &sink)
			  : from_server(cli, v, codec, argv, argc, &sink);
	return sink_close(cli, &sink, code);
}

const struct command command_export = {
	.name = "export",
	.arguments = "[TRACE…]",
	.summary = "write traces in a format that other tools read",
	.details =
		"Without trace ids everything that the conditions let through, streamed. What came in one format "
		"leaves in another with all that format can hold; events and otlp-json lose nothing of spans.",
	.examples = "causet export --service checkout --start -1h -o checkout.jsonl\n"
		    "causet export --format jaeger 5b8efff798038103d269b633813fc60c >trace.json\n"
		    "causet export --file spans.jsonl --format zipkin\n",
	.options = export_options,
	.values_size = sizeof(struct export_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = export_run,
};
