/* cli/cmd_version.c - `causet version`: what this program is and what it was built with. */
#include "base/cleanup.h"
#include "cli/commands.h"

static int version_run(struct cli *cli, const void *values, int argc, char **argv)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	if (argc > 0)
		return cli_usage(cli, "takes no argument, found '%s'", argv[0]);
	if (cli->json)
		buffer_printf(&out,
			      "{\"name\":\"causet\",\"version\":\"%s\",\"compiler\":\"%s\"}\n",
			      CAUSET_VERSION, __VERSION__);
	else
		buffer_printf(&out, "causet %s\n", CAUSET_VERSION);
	if (cli->verbose && !cli->json)
		buffer_printf(&out, "compiler %s\n", __VERSION__);
	return cli_print(cli, &out);
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.examples = "causet version --json\n",
	.flags = COMMAND_OUTPUT,
	.run = version_run,
};
