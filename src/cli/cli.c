/* cli/cli.c - options, messages and output that all subcommands share. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"

#define AT(field) .offset = offsetof(struct cli, field)

const struct option output_options[] = {
	{.name = "json",
	 .type = OPTION_BOOL,
	 .group = "Output",
	 .doc = "print JSON, one object a line",
	 AT(json)},
	{.name = "quiet", .letter = 'q', .type = OPTION_BOOL, .doc = "only errors", AT(quiet)},
	{.name = "verbose", .letter = 'v', .type = OPTION_BOOL, .doc = "say more", AT(verbose)},
	{.name = "no-color",
	 .type = OPTION_BOOL,
	 .doc = "no colours; also when NO_COLOR is set or the output is no terminal",
	 AT(no_color)},
	{0},
};

const struct option connect_options[] = {
	{.name = "server",
	 .type = OPTION_STRING,
	 .fallback = "http://127.0.0.1:16686",
	 .value = "URL",
	 .group = "Connection",
	 .doc = "the server's API (CAUSET_SERVER)",
	 AT(server)},
	{.name = "otlp",
	 .type = OPTION_STRING,
	 .fallback = "http://127.0.0.1:4318",
	 .value = "URL",
	 .doc = "where OTLP and native events are sent (CAUSET_OTLP)",
	 AT(otlp)},
	{.name = "zipkin",
	 .type = OPTION_STRING,
	 .fallback = "http://127.0.0.1:9411",
	 .value = "URL",
	 .doc = "where Zipkin spans are sent (CAUSET_ZIPKIN)",
	 AT(zipkin)},
	{.name = "token",
	 .type = OPTION_STRING,
	 .value = "TOKEN",
	 .doc = "bearer token; CAUSET_TOKEN or --token-file keep it out of the process list",
	 AT(token)},
	{.name = "token-file",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "file with the bearer token",
	 AT(token_file)},
	{.name = "ca",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "trust these authorities (PEM) instead of the system's",
	 AT(ca)},
	{.name = "cert",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "client certificate (PEM) for mutual TLS",
	 AT(cert)},
	{.name = "key",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "key of the client certificate (PEM)",
	 AT(key)},
	{.name = "timeout",
	 .type = OPTION_DURATION,
	 .fallback = "0",
	 .doc = "give up after this long (exit code 124); 0 is never",
	 AT(timeout_ns)},
	{0},
};

const struct option data_options[] = {
	{.name = "data",
	 .type = OPTION_STRING,
	 .value = "DIR",
	 .group = "State",
	 .doc = "the server's folder [as causet serve's]",
	 AT(data)},
	{0},
};

#undef AT

static void say(const struct cli *cli, const char *format, va_list args)
{
	fprintf(stderr, "causet%s%s: ", cli->command ? " " : "",
		cli->command ? cli->command->name : "");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int cli_fail(const struct cli *cli, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(cli, format, args);
	va_end(args);
	return code;
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(cli, format, args);
	va_end(args);
	fprintf(stderr, "Try: causet %s%s--help\n", cli->command ? cli->command->name : "",
		cli->command ? " " : "");
	return EXIT_USAGE;
}

void cli_note(const struct cli *cli, const char *format, ...)
{
	va_list args;

	if (cli->quiet)
		return;
	va_start(args, format);
	say(cli, format, args);
	va_end(args);
}

int cli_print(const struct cli *cli, struct buffer *out)
{
	size_t n = out->n;
	int r = 0;

	if (out->failed)
		r = cli_fail(cli, EXIT_FAILED, "out of memory");
	else if ((n > 0 && fwrite(out->p, 1, n, stdout) != n) || fflush(stdout) != 0)
		r = errno == EPIPE
			    ? EXIT_FAILED
			    : cli_fail(cli, EXIT_FAILED, "cannot write: %s", strerror(errno));
	buffer_clear(out);
	return r;
}
