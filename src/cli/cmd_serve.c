/* cli/cmd_serve.c - `causet serve`. */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "server/config.h"

static int serve_run(struct cli *cli, const void *values, int argc, char **argv)
{
	struct option_set connect, data;
	const struct option_set *others[2] = {&connect, &data};
	struct cli unused = {0};
	const struct config *config = values;
	struct error error = {0};

	if (argc > 0)
		return cli_usage(cli, "takes no argument, found '%s'", argv[0]);
	if (option_set_init(&connect, connect_options, &unused, &cli->arena) ||
	    option_set_init(&data, data_options, &unused, &cli->arena))
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (config_complete(&cli->set, others, ARRAY_SIZE(others), cli->environment, &error) < 0)
		return cli_fail(cli, EXIT_USAGE, "%s", error.text);
	if (config->print_config) {
		_cleanup_(buffer_done)
		struct buffer out = {0};

		option_print(&cli->set, &out);
		return cli_print(cli, &out);
	}
	if (config->check_config)
		return EXIT_OK;
	return cli_fail(cli, EXIT_FAILED, "not built in");
}

const struct command command_serve = {
	.name = "serve",
	.summary = "run the server",
	.details =
		"Takes in OTLP (gRPC and HTTP), Zipkin and native events, keeps them, and answers the other "
		"commands. Listens on loopback unless told otherwise. SIGTERM and SIGINT let requests in "
		"flight finish; SIGHUP reads certificates, tokens, redaction rules and the log level again.\n\n"
		"A setting comes from its option, else from the environment (CAUSET_MAX_BODY for --max-body), "
		"else from the settings file, else it is the default. Switches take =on and =off.",
	.examples = "causet serve --data /srv/causet\n"
		    "causet serve --listen 0.0.0.0 --auth --tls-cert host.pem --tls-key host.key\n"
		    "causet serve --print-config >causet.conf\n",
	.values_size = sizeof(struct config),
	.options = config_options,
	.run = serve_run,
};
