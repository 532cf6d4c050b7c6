/* cli/cmd_lint.c - `causet lint`: what is wrong with a file of queries, without running any. */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/dialect.h"
#include "cli/query_text.h"
#include "core/clock.h"
#include "lang/check.h"
#include "wire/json_writer.h"

struct lint_values {
	int64_t dialect;
};

static const struct option lint_options[] = {
	{.name = "dialect",
	 .type = OPTION_CHOICE,
	 .choices = dialect_names,
	 .value = "DIALECT",
	 .doc = "causetql; or traceql, where && and || bind equally, as in Tempo",
	 .offset = offsetof(struct lint_values, dialect)},
	{0},
};

static void put_json(const struct diag *d, const char *name, struct slice text, struct buffer *out)
{
	struct diag_place place = diag_place(text, d->begin);
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	json_put_name(&w, "file");
	json_put_cstr(&w, name);
	json_put_name(&w, "line");
	json_put_u64(&w, place.line);
	json_put_name(&w, "column");
	json_put_u64(&w, place.column);
	json_put_name(&w, "begin");
	json_put_u64(&w, d->begin);
	json_put_name(&w, "end");
	json_put_u64(&w, d->end);
	json_put_name(&w, "code");
	json_put_cstr(&w, diag_code_text(d->code));
	json_put_name(&w, "severity");
	json_put_cstr(&w, diag_severity(d->code) == DIAG_ERROR ? "error" : "warning");
	json_put_name(&w, "message");
	json_put_cstr(&w, d->message);
	if (d->fix.text) {
		json_put_name(&w, "fix");
		json_begin_object(&w);
		json_put_name(&w, "begin");
		json_put_u64(&w, d->fix.begin);
		json_put_name(&w, "end");
		json_put_u64(&w, d->fix.end);
		json_put_name(&w, "text");
		json_put_cstr(&w, d->fix.text);
		json_end_object(&w);
	}
	json_end_object(&w);
	buffer_byte(out, '\n');
}

/* --quiet: only errors. */
static void drop_warnings(struct diags *diags)
{
	size_t n = 0;

	for (size_t i = 0; i < diags->n; i++)
		if (diag_severity(diags->items[i].code) == DIAG_ERROR)
			diags->items[n++] = diags->items[i];
	diags->n = n;
}

/* One file; its errors are added to *errors. */
static int lint_file(struct cli *cli, const struct lint_values *v, const char *path, bool several,
		     size_t *errors)
{
	_cleanup_(arena_done)
	struct arena arena = {0};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	const struct check_options options = {.now_ns = clock_wall_ns()};
	struct query_text text;
	struct ast_program *program;
	struct diags diags;
	int code = query_text_read(cli, path, true, &text);

	if (code)
		return code;
	diags_init(&diags, &arena);
	if (lang_compile(text.text, (enum lang_dialect)v->dialect, &options, &arena, &diags,
			 &program) < 0)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	*errors += diags.errors;
	if (cli->quiet)
		drop_warnings(&diags);
	if (cli->json)
		for (size_t i = 0; i < diags.n; i++)
			put_json(&diags.items[i], text.name, text.text, &out);
	else if (cli->terminal)
		diags_show(&diags, text.text, several ? text.name : "", &out);
	else
		diags_format_file(&diags, text.text, several ? text.name : "", &out);
	return cli_print(cli, &out);
}

static int lint_run(struct cli *cli, const void *values, int argc, char **argv)
{
	size_t errors = 0;

	if (argc == 0)
		return cli_usage(cli, "needs a file of queries; - is standard input");
	for (int i = 0; i < argc; i++) {
		int code = lint_file(cli, values, argv[i], argc > 1, &errors);

		if (code)
			return code;
	}
	return errors ? EXIT_FAILED : EXIT_OK;
}

const struct command command_lint = {
	.name = "lint",
	.arguments = "FILE…",
	.summary = "say what is wrong with files of queries, without running them",
	.details =
		"Each finding is a line: line:column: code: message. Errors have codes that begin with E, "
		"warnings with W; codes never change their meaning. Where there is an obvious way out, it is "
		"named behind \"fix:\". On a terminal the place is shown below the message. Names of "
		"tracepoints are taken as they are: only a server knows which there are.",
	.examples = "causet lint slow.cq\n"
		    "echo '{ duration > 500 }' | causet lint -\n"
		    "causet lint --dialect traceql dashboard.txt\n",
	.options = lint_options,
	.values_size = sizeof(struct lint_values),
	.flags = COMMAND_OUTPUT,
	.run = lint_run,
};
