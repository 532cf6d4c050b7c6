/* cli/cmd_fmt.c - `causet fmt`: one way to write queries. */

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/dialect.h"
#include "cli/query_text.h"
#include "lang/format.h"

struct fmt_values {
	int64_t dialect;
	bool check;
};

static const struct option fmt_options[] = {
	{.name = "check",
	 .type = OPTION_BOOL,
	 .doc = "print the names of files that are written differently, and nothing else; then exit 1",
	 .offset = offsetof(struct fmt_values, check)},
	{.name = "dialect",
	 .type = OPTION_CHOICE,
	 .choices = dialect_names,
	 .value = "DIALECT",
	 .doc = "causetql; or traceql, where && and || bind equally, as in Tempo",
	 .offset = offsetof(struct fmt_values, dialect)},
	{0},
};

/* One file: its text in one form, or its name if it has another. */
static int fmt_file(struct cli *cli, const struct fmt_values *v, const char *path, bool *differs)
{
	_cleanup_(arena_done)
	struct arena arena = {0};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	_cleanup_(buffer_done)
	struct buffer why = {0};
	struct query_text text;
	struct diags diags;
	int code = query_text_read(cli, path, true, &text);

	if (code)
		return code;
	diags_init(&diags, &arena);
	if (lang_format(text.text, (enum lang_dialect)v->dialect, &arena, &diags, &out) < 0)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (diags.errors) {
		diags_sort(&diags);
		diags_first_error(&diags, text.text, &why);
		return cli_fail(cli, EXIT_FAILED, "%s:%s (causet lint shows them all)", text.name,
				buffer_cstr(&why));
	}
	if (!v->check)
		return cli_print(cli, &out);
	if (slice_eq(buffer_get(&out), text.text))
		return EXIT_OK;
	*differs = true;
	buffer_clear(&out);
	buffer_printf(&out, "%s\n", text.name);
	return cli_print(cli, &out);
}

static int fmt_run(struct cli *cli, const void *values, int argc, char **argv)
{
	bool differs = false;

	if (argc == 0)
		return cli_usage(cli, "needs a file of queries; - is standard input");
	for (int i = 0; i < argc; i++) {
		int code = fmt_file(cli, values, argv[i], &differs);

		if (code)
			return code;
	}
	return differs ? EXIT_FAILED : EXIT_OK;
}

const struct command command_fmt = {
	.name = "fmt",
	.arguments = "FILE…",
	.summary = "write queries in one form, to standard output",
	.details =
		"Only blanks, line breaks and the case of keywords change, so the result means the same, and "
		"formatting it again changes nothing. Comments stay where they are. A file with mistakes is "
		"not written.",
	.examples = "causet fmt slow.cq\n"
		    "causet fmt --check queries/*.cq\n",
	.options = fmt_options,
	.values_size = sizeof(struct fmt_values),
	.flags = COMMAND_OUTPUT,
	.run = fmt_run,
};
