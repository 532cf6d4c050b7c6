/* cli/cmd_import.c - `causet import`: files of traces to a server. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/formats.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/upload.h"

struct import_values {
	const char *format;
};

static const struct option import_options[] = {
	{.name = "format",
	 .letter = 'f',
	 .type = OPTION_STRING,
	 .value = "NAME",
	 .doc = FORMATS_DOC "; recognised by themselves when not given",
	 .offset = offsetof(struct import_values, format)},
	{0},
};

static int import_file(struct upload *u, const char *path, const struct codec *codec)
{
	struct cli *cli = u->remote->cli;
	struct progress progress = progress_start(cli, path);
	struct error error = {0};
	struct reader reader;
	int code = EXIT_OK, r;

	r = reader_open(&reader, path, codec, &error);
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	while (code == EXIT_OK) {
		char where[200];
		struct slice request;

		r = reader_next(&reader, &request, &error);
		if (r <= 0)
			break;
		snprintf(where, sizeof(where), "%s, request %llu", source_name(reader.source),
			 (unsigned long long)reader.requests);
		u->where = where;
		code = upload_request(u, reader.codec, request);
		progress_update(&progress, source_position(reader.source),
				source_size(reader.source));
	}
	progress_end(&progress);
	reader_done(&reader);
	return r < 0 ? cli_fail(cli, EXIT_FAILED, "%s", error.text) : code;
}

static int report(struct cli *cli, const struct upload *u, int files, int failed)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	char size[QUANTITY_TEXT_BYTES];

	if (cli->json)
		buffer_printf(
			&out,
			"{\"files\":%d,\"failed\":%d,\"requests\":%llu,\"bytes\":%llu,\"rejected\":%llu}\n",
			files, failed, (unsigned long long)u->requests,
			(unsigned long long)u->bytes, (unsigned long long)u->rejected);
	else if (!cli->quiet)
		buffer_printf(&out, "sent %llu request%s, %s\n", (unsigned long long)u->requests,
			      u->requests == 1 ? "" : "s", size_format(u->bytes, size));
	if (u->rejected)
		cli_fail(cli, EXIT_PARTIAL, "%llu %s not accepted: %s",
			 (unsigned long long)u->rejected, u->rejected == 1 ? "was" : "were",
			 u->reason);
	return cli_print(cli, &out);
}

static int import_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct import_values *v = values;
	const struct codec *codec = NULL;
	struct upload upload = {0};
	struct remote remote;
	int code, failed = 0;

	if (argc == 0)
		return cli_usage(cli, "which file? '-' is standard input");
	code = format_find(cli, v->format, &codec);
	if (code)
		return code;
	code = remote_open(cli, &remote);
	if (code)
		return code;
	upload.remote = &remote;
	for (int i = 0; i < argc; i++) {
		int one = import_file(&upload, argv[i], codec);

		failed += one != EXIT_OK;
		if (one)
			code = one;
		if (upload.unreachable)
			break;
	}
	remote_done(&remote);
	if (report(cli, &upload, argc, failed))
		return EXIT_FAILED;
	if (failed > 0)
		return upload.requests > 0 && code == EXIT_FAILED ? EXIT_PARTIAL : code;
	return upload.rejected > 0 ? EXIT_PARTIAL : EXIT_OK;
}

const struct command command_import = {
	.name = "import",
	.arguments = "FILE…",
	.summary = "send files of traces to a server",
	.details =
		"Reads files of any size piece by piece; gzip and zstd are unpacked on the way; '-' is standard "
		"input. A server that is busy is asked again as it wishes. What the server does not accept is "
		"counted and told, and the exit code is then 4.",
	.examples = "causet import spans.jsonl.gz trace.json\n"
		    "curl -s https://example.org/trace.json | causet import -\n",
	.options = import_options,
	.values_size = sizeof(struct import_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = import_run,
};
