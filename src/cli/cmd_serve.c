/* cli/cmd_serve.c - `causet serve`. */
#include <errno.h>
#include <stdlib.h>

#include "api/routes.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"
#include "server/config.h"
#include "server/listeners.h"
#include "server/serve.h"
#include "wire/json_writer.h"

/* Reads file and environment beneath what the command line said. */
static int settings_complete(struct cli *cli, struct option_set *set, struct error *error)
{
	struct cli unused = {0};
	struct option_set connect, data;
	const struct option_set *others[2] = {&connect, &data};

	if (option_set_init(&connect, connect_options, &unused, &cli->arena) ||
	    option_set_init(&data, data_options, &unused, &cli->arena))
		return error_set(error, -ENOMEM, "out of memory");
	return config_complete(set, others, ARRAY_SIZE(others), cli->environment, error);
}

/* SIGHUP: the same command line over what file and environment say now. */
static int settings_again(void *context, struct config *fresh, struct error *error)
{
	struct cli *cli = context;
	struct arena arena = {0};
	struct option_set set;
	int r = option_set_init(&set, config_options, fresh, &arena);

	for (size_t i = 0; r == 0 && i < cli->set.n; i++) {
		const struct option_origin *origin = &cli->set.origins[i];

		if (origin->rank == OPTION_ARGUMENT)
			r = option_put(&set, &set.table[i], slice_cstr(origin->text),
				       OPTION_ARGUMENT, origin->source, error);
	}
	if (r == 0)
		r = settings_complete(cli, &set, error);
	/* Only numbers are taken from it, so the texts may go. */
	arena_done(&arena);
	return r;
}

/* What a person who starts the server wants to know first; a service's log has one line of it. */
static void tell_ready(void *context, const int ports[], const char *host)
{
	struct cli *cli = context;
	const struct config *c = cli->set.values;
	const char *scheme = c->tls_cert ? "https" : "http";
	const char *shown = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || !*host
				    ? "127.0.0.1"
				    : host;
	_cleanup_(buffer_done)
	struct buffer line = {0};

	for (unsigned bit = 0; bit < SERVICE_COUNT; bit++)
		if (ports[bit])
			buffer_printf(&line, " %s %d", listener_name(bit), ports[bit]);
	log_info("causet %s listens on %s:%s; state in %s", CAUSET_VERSION,
		 *host ? host : "every interface", buffer_cstr(&line), c->data);
	if (getenv("NOTIFY_SOCKET") || getenv("JOURNAL_STREAM"))
		return; /* under a service manager nobody sits there */
	if (ports[0])
		fprintf(stderr, "  OTLP/gRPC  %s://%s:%d\n", scheme, shown, ports[0]);
	if (ports[1])
		fprintf(stderr, "  OTLP/HTTP  %s://%s:%d/v1/traces\n", scheme, shown, ports[1]);
	if (ports[2])
		fprintf(stderr, "  Zipkin     %s://%s:%d/api/v2/spans\n", scheme, shown, ports[2]);
	if (ports[3])
		fprintf(stderr, "  API        %s://%s:%d/api/v1/traces\n", scheme, shown, ports[3]);
	if (ports[4])
		fprintf(stderr, "  Jaeger     %s://%s:%d (gRPC)\n", scheme, shown, ports[4]);
	if (ports[5])
		fprintf(stderr, "  Tempo      %s://%s:%d\n", scheme, shown, ports[5]);
	if (ports[1])
		fprintf(stderr,
			"Try, in another terminal:\n"
			"  curl -s %s://%s:%d/v1/traces -H 'Content-Type: application/json' -d '{\"resourceSpans\":"
			"[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}}]},"
			"\"scopeSpans\":[{\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\","
			"\"name\":\"GET /cart\",\"kind\":2,\"startTimeUnixNano\":\"1700000000000000000\","
			"\"endTimeUnixNano\":\"1700000000120000000\"}]}]}]}'\n"
			"  %s traces\n"
			"  %s trace 5b8efff798038103d269b633813fc60c\n",
			scheme, shown, ports[1], program_invocation_name, program_invocation_name);
	fputs("Ctrl-C stops the server.\n", stderr);
}

static void route_write(const struct route *route, struct json_writer *w)
{
	char role[ROLES_TEXT_BYTES];

	json_begin_object(w);
	json_put_name(w, "method");
	json_put_cstr(w, route->method);
	json_put_name(w, "path");
	json_put_cstr(w, route->path);
	json_put_name(w, "ports");
	json_begin_array(w);
	for (unsigned bit = 0; bit < SERVICE_COUNT; bit++)
		if (route->services & 1U << bit)
			json_put_cstr(w, listener_name(bit));
	json_end_array(w);
	json_put_name(w, "role");
	if (route->role == ROUTE_OPEN) {
		json_put_null(w);
	} else {
		roles_format(route->role, role);
		json_put_cstr(w, role);
	}
	json_end_object(w);
}

/* One line of JSON per route: who may call what, for whoever sets up a proxy or audits us. */
static int print_routes(struct cli *cli)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	for (const struct route *route = routes; route->path; route++) {
		struct json_writer w = json_write(&out);

		route_write(route, &w);
		buffer_byte(&out, '\n');
	}
	return cli_print(cli, &out);
}

static int serve_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct config *config = values;
	const struct serve_hooks hooks = {settings_again, tell_ready, cli};
	struct error error = {0};

	if (argc > 0)
		return cli_usage(cli, "takes no argument, found '%s'", argv[0]);
	if (settings_complete(cli, &cli->set, &error) < 0)
		return cli_fail(cli, EXIT_USAGE, "%s", error.text);
	if (config->print_config) {
		_cleanup_(buffer_done)
		struct buffer out = {0};

		option_print(&cli->set, &out);
		return cli_print(cli, &out);
	}
	if (config->print_routes)
		return print_routes(cli);
	if (config->check_config)
		return EXIT_OK;
	if (serve(config, &hooks, &error) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	return EXIT_OK;
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
