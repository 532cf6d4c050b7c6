/* cli/cmd_explain.c - `causet explain`: how a query would be run. */
#include "base/cleanup.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "wire/json_writer.h"

struct explain_values {
	struct ask_values ask;
	bool live;
};

static const struct option explain_options[] = {
	{.name = "live",
	 .type = OPTION_BOOL,
	 .doc = "the advice for each tracepoint, and what cannot run live with the cheapest rewrite",
	 .offset = offsetof(struct explain_values, live)},
	ASK_OPTIONS(struct explain_values, ask),
	{0},
};

static int explain_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct explain_values *v = values;
	_cleanup_(buffer_done)
	struct buffer plan = {0}, out = {0};
	struct ask ask;
	int code;

	if (argc != 1)
		return cli_usage(cli, argc == 0 ? "say what to explain: a text, a file, or - for "
						  "standard input"
						: "takes one query; put it in quotes");
	code = ask_init(&ask, cli, &v->ask);
	if (code == 0)
		code = query_text_read(cli, argv[0], false, &ask.text);
	if (code == 0)
		code = ask_explain(&ask, v->live, &plan);
	if (code)
		return code;
	if (!cli->json)
		return cli_print(cli, &plan);
	struct json_writer w = json_write(&out);

	json_begin_object(&w);
	json_put_name(&w, "explain");
	json_put_string(&w, buffer_get(&plan));
	json_end_object(&w);
	buffer_byte(&out, '\n');
	return cli_print(cli, &out);
}

const struct command command_explain = {
	.name = "explain",
	.arguments = "TEXT|FILE|-",
	.summary = "say how a query would be run",
	.details =
		"Prints the plan, from the result at the top to the sources at the bottom, after all rewrites.",
	.examples = "causet explain '{ name = \"GET /cart\" } >> { status = error }'\n"
		    "causet explain --live Q2.cq\n",
	.options = explain_options,
	.values_size = sizeof(struct explain_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = explain_run,
};
