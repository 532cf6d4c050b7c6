/* cli/cmd_services.c - `causet services`: which services have sent spans. */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "cli/table.h"

struct services_values {
	bool names, operations;
};

static const struct option services_options[] = {
	{.name = "names",
	 .type = OPTION_BOOL,
	 .doc = "only the names, one a line",
	 .offset = offsetof(struct services_values, names)},
	{.name = "operations",
	 .type = OPTION_BOOL,
	 .doc = "list the operations of each service, too",
	 .offset = offsetof(struct services_values, operations)},
	{0},
};

struct listing {
	struct cli *cli;
	const struct services_values *values;
	struct buffer out;
	struct table table;
	size_t count, operations;
	struct slice name;
};

static int count_operation(void *context, struct slice item)
{
	struct listing *l = context;
	struct slice text = item;

	l->operations++;
	if (l->values->operations && item.n >= 2) {
		_cleanup_(buffer_done)
		struct buffer wrapped = {0};

		buffer_text(&wrapped, "{\"o\":");
		buffer_slice(&wrapped, item);
		buffer_byte(&wrapped, '}');
		item_text(buffer_get(&wrapped), "o", &l->cli->arena, &text);
		table_cell_text(&l->table, "");
		table_cell_text(&l->table, "");
		table_cell_text(&l->table, "");
		table_cell(&l->table, text);
	}
	return 0;
}

static int add_service(void *context, struct slice item)
{
	struct listing *l = context;
	uint64_t spans = 0, errors = 0;
	char operations[24];

	l->count++;
	if (l->cli->json && !l->values->names) {
		buffer_slice(&l->out, item);
		buffer_byte(&l->out, '\n');
		return 0;
	}
	item_text(item, "name", &l->cli->arena, &l->name);
	if (l->values->names) {
		buffer_printf(&l->out, "%.*s\n", SLICE_ARG(l->name));
		return 0;
	}
	item_u64(item, "spans", &spans);
	item_u64(item, "errors", &errors);
	l->operations = 0;
	if (!l->values->operations)
		items_each(item, "operations", count_operation, l);
	table_cell(&l->table, l->name);
	table_cell_u64(&l->table, spans);
	table_cell_u64(&l->table, errors);
	snprintf(operations, sizeof(operations), "%zu", l->operations);
	table_cell_text(&l->table, l->values->operations ? "" : operations);
	if (l->values->operations)
		items_each(item, "operations", count_operation, l);
	return 0;
}

static int services_run(struct cli *cli, const void *values, int argc, char **argv)
{
	static const struct table_column columns[] = {{"SERVICE", false, true},
						      {"SPANS", true, false},
						      {"ERRORS", true, false},
						      {"OPERATIONS", false, true}};
	struct listing l = {.cli = cli, .values = values};
	struct http_answer answer;
	struct remote remote;
	int code;

	if (argc > 0)
		return cli_usage(cli, "takes no argument, found '%s'", argv[0]);
	code = remote_open(cli, &remote);
	if (code)
		return code;
	code = remote_get(&remote, cli->server, "/api/v1/services", NULL, NULL, NULL, &answer);
	remote_done(&remote);
	if (code)
		return code;
	l.table = table_of(columns, ARRAY_SIZE(columns), &cli->arena);
	if (items_each(buffer_get(&answer.body), "services", add_service, &l) < 0) {
		code = cli_fail(cli, EXIT_FAILED, "%s does not answer as causet does", cli->server);
	} else if (l.count == 0) {
		cli_note(cli, "no service has sent anything yet");
		code = EXIT_NOTHING;
	} else {
		if (!cli->json && !l.values->names)
			table_write(&l.table, cli->terminal ? cli->columns : 0, &l.out);
		code = cli_print(cli, &l.out);
	}
	table_done(&l.table);
	buffer_done(&l.out);
	http_answer_done(&answer);
	return code;
}

const struct command command_services = {
	.name = "services",
	.summary = "list the services that have sent spans",
	.examples = "causet services\n"
		    "causet services --json | jq .name\n",
	.options = services_options,
	.values_size = sizeof(struct services_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = services_run,
};
