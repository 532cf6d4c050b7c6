/* cli/cmd_query.c - `causet query`: a question in the query language. */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/rows.h"

struct query_values {
	struct ask_values ask;
	bool csv;
	int64_t limit;
};

static const struct option query_options[] = {
	{.name = "csv",
	 .type = OPTION_BOOL,
	 .doc = "print CSV: times in RFC 3339, durations in nanoseconds",
	 .offset = offsetof(struct query_values, csv)},
	{.name = "limit",
	 .letter = 'n',
	 .type = OPTION_INT,
	 .fallback = "0",
	 .min = 0,
	 .max = INT64_MAX / 2,
	 .doc = "at most so many rows of each result; 0 is all",
	 .offset = offsetof(struct query_values, limit)},
	ASK_OPTIONS(struct query_values, ask),
	{0},
};

static int on_begin(void *context, struct slice name, const struct query_column *columns, size_t n)
{
	return rows_begin(context, name, columns, n);
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	return rows_add(context, values, plus_minus);
}

static int query_command_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct query_values *v = values;
	struct rows rows;
	const struct ask_sink sink = {on_begin, on_row, &rows};
	struct ask ask;
	int code, end;

	if (argc != 1)
		return cli_usage(cli, argc == 0 ? "say what to ask: a text, a file, or - for "
						  "standard input"
						: "takes one query; put it in quotes");
	if (v->csv && cli->json)
		return cli_usage(cli, "either --json or --csv");
	code = ask_init(&ask, cli, &v->ask);
	if (code == 0)
		code = query_text_read(cli, argv[0], false, &ask.text);
	if (code)
		return code;
	ask.sink = &sink;
	ask.limit = (uint64_t)v->limit;
	rows_init(&rows, cli, v->csv ? ROWS_CSV : cli->json ? ROWS_JSON : ROWS_TABLE);
	code = ask_run(&ask);
	end = rows_end(&rows); /* also what came before something went wrong */
	if (code == EXIT_OK)
		code = end;
	if (code == EXIT_OK && rows.n == 0) {
		cli_note(cli, "no rows");
		code = EXIT_NOTHING;
	}
	rows_done(&rows);
	return code;
}

const struct command command_query = {
	.name = "query",
	.arguments = "TEXT|FILE|-",
	.summary = "ask a question about stored traces in CausetQL",
	.details =
		"The language: docs/language.md. A text may hold several queries; each without a name gives a result, "
		"and if all have names the last one does.\n\n"
		"Results are tables that fit the terminal, series are sparklines; --json prints an object a row, --csv a "
		"table for programs. Progress is shown on a terminal. Ctrl-C cancels, on the server, too.\n\n"
		"With --data a folder is asked, which is only read: a server may be running on it. csv(\"FILE\") names a file "
		"of yours in either case: it is sent along with the query.",
	.examples =
		"causet query '{ status = error } | rate() by(resource.service.name)'\n"
		"causet query 'From s In spans GroupBy s.service Select s.service, COUNT, p99(s.duration)' --start -1h\n"
		"causet query --json slow.cq | jq .trace_id\n"
		"causet query --data /var/lib/causet '{ duration > 1s }'\n",
	.options = query_options,
	.values_size = sizeof(struct query_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = query_command_run,
};
