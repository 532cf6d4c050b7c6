/* cli/cmd_help.c - `causet help [COMMAND]`. */
#include "base/cleanup.h"
#include "cli/commands.h"

static int help_run(struct cli *cli, const void *values, int argc, char **argv)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	const struct command *c;

	if (argc > 1)
		return cli_usage(cli, "one command at a time");
	if (argc == 0) {
		help_overview(cli->columns, &out);
		return cli_print(cli, &out);
	}
	c = command_find(slice_cstr(argv[0]));
	if (!c)
		return cli_usage(cli, "there is no command '%s'", argv[0]);
	help_of(c, cli->columns, &out);
	return cli_print(cli, &out);
}

const struct command command_help = {
	.name = "help",
	.arguments = "[COMMAND]",
	.summary = "explain the program or a command",
	.run = help_run,
};
