/* cli/cmd_traces.c - `causet traces`: a list of traces, the newest or the slowest first. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/filter.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "core/clock.h"

struct traces_values {
	struct filter filter;
	int64_t order;
	int64_t limit;
	const char *cursor;
};

static const char *const orders[] = {"newest", "slowest", NULL};

static const struct option traces_options[] = {
	FILTER_OPTIONS,
	{.name = "order",
	 .type = OPTION_CHOICE,
	 .fallback = "newest",
	 .choices = orders,
	 .doc = "which come first",
	 .offset = offsetof(struct traces_values, order)},
	{.name = "limit",
	 .letter = 'n',
	 .type = OPTION_INT,
	 .fallback = "20",
	 .min = 1,
	 .max = 10000,
	 .doc = "at most this many",
	 .offset = offsetof(struct traces_values, limit)},
	{.name = "cursor",
	 .type = OPTION_STRING,
	 .value = "TEXT",
	 .doc = "go on where an earlier answer ended",
	 .offset = offsetof(struct traces_values, cursor)},
	{0},
};

struct listing {
	struct cli *cli;
	struct buffer out;
	struct table table;
	size_t count;
};

static void add_row(struct listing *l, struct slice item)
{
	struct arena *arena = &l->cli->arena;
	char text[QUANTITY_TEXT_BYTES];
	struct slice service = {0}, name = {0}, id = {0};
	uint64_t start = 0, duration = 0, number = 0;

	item_text(item, "traceId", arena, &id);
	item_text(item, "rootService", arena, &service);
	item_text(item, "rootName", arena, &name);
	item_u64(item, "startUnixNano", &start);
	item_u64(item, "durationNano", &duration);
	table_cell(&l->table, id);
	moment_format((int64_t)start, text);
	memcpy(text + 23, "Z", 2); /* milliseconds are enough for people */
	table_cell_text(&l->table, text);
	table_cell_text(&l->table, duration_format((int64_t)duration, text));
	item_u64(item, "spans", &number);
	table_cell_u64(&l->table, number);
	item_u64(item, "errors", &number);
	table_cell_u64(&l->table, number);
	table_cell(&l->table, service);
	table_cell(&l->table, name);
}

static int add_trace(void *context, struct slice item)
{
	struct listing *l = context;

	l->count++;
	if (l->cli->json) {
		buffer_slice(&l->out, item);
		buffer_byte(&l->out, '\n');
	} else {
		add_row(l, item);
	}
	return 0;
}

static int show(struct cli *cli, const struct http_answer *answer)
{
	static const struct table_column columns[] = {
		{"TRACE", false, false}, {"START", false, false}, {"DURATION", true, false},
		{"SPANS", true, false},  {"ERRORS", true, false}, {"SERVICE", false, true},
		{"NAME", false, true}};
	struct listing l = {.cli = cli,
			    .table = table_of(columns, ARRAY_SIZE(columns), &cli->arena)};
	struct slice body = buffer_get(&answer->body), next;
	int code;

	if (items_each(body, "traces", add_trace, &l) < 0) {
		code = cli_fail(cli, EXIT_FAILED, "%s does not answer as causet does", cli->server);
	} else if (l.count == 0) {
		cli_note(cli, "no such trace");
		code = EXIT_NOTHING;
	} else {
		if (!cli->json)
			table_write(&l.table, cli->terminal ? cli->columns : 0, &l.out);
		code = cli_print(cli, &l.out);
		if (!code && item_text(body, "next", &cli->arena, &next))
			cli_note(cli, "there are more: --cursor %.*s, or a larger --limit",
				 SLICE_ARG(next));
	}
	table_done(&l.table);
	buffer_done(&l.out);
	return code;
}

static int traces_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct traces_values *v = values;
	_cleanup_(buffer_done)
	struct buffer query = {0};
	struct http_answer answer;
	struct remote remote;
	char limit[24];
	int code;

	if (argc > 0)
		return cli_usage(cli, "takes no argument, found '%s'; causet trace shows one",
				 argv[0]);
	filter_query(&v->filter, &query);
	snprintf(limit, sizeof(limit), "%lld", (long long)v->limit);
	query_add(&query, "order", slice_cstr(orders[v->order]));
	query_add(&query, "limit", slice_cstr(limit));
	if (v->cursor)
		query_add(&query, "cursor", slice_cstr(v->cursor));
	code = remote_open(cli, &remote);
	if (code)
		return code;
	code = remote_get(&remote, cli->server, "/api/v1/traces", &query, NULL, NULL, &answer);
	remote_done(&remote);
	if (code)
		return code;
	code = show(cli, &answer);
	http_answer_done(&answer);
	return code;
}

const struct command command_traces = {
	.name = "traces",
	.summary = "list traces, newest first",
	.details =
		"All conditions must hold. Service, operation and tags must hold for one and the same span.",
	.examples = "causet traces --service checkout --min-duration 500ms\n"
		    "causet traces --errors --start -1h --json | jq -r .traceId\n"
		    "causet traces --tag http.response.status_code=500 --tag region=eu\n",
	.options = traces_options,
	.values_size = sizeof(struct traces_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = traces_run,
};
