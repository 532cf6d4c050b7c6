/* cli/cmd_check.c - `causet check`: queries that must return nothing. */
#include <errno.h>

#include "api/query_json.h"
#include "base/cleanup.h"
#include "cli/ask_int.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "cli/rules.h"
#include "cli/text.h"
#include "wire/json_writer.h"

#define SHOWN_DEFAULT "10"

struct check_values {
	struct ask_values ask;
	int64_t limit;
};

static const struct option check_command_options[] = {
	{.name = "limit",
	 .letter = 'n',
	 .type = OPTION_INT,
	 .fallback = SHOWN_DEFAULT,
	 .min = 1,
	 .max = 1000000,
	 .doc = "list at most so many traces of a rule; all are counted",
	 .offset = offsetof(struct check_values, limit)},
	ASK_OPTIONS(struct check_values, ask),
	{0},
};

/* What one rule finds. */
struct breaking {
	struct cli *cli;
	struct slice rule;
	uint64_t limit, n;
	struct query_column *columns;
	size_t column_n, id; /* the column with the trace; column_n: there is none */
	struct arena arena;
	struct buffer out;
};

static int on_begin(void *context, struct slice name, const struct query_column *columns, size_t n)
{
	struct breaking *b = context;

	b->columns = arena_zalloc(&b->arena, n + 1, sizeof(*columns));
	if (!b->columns)
		return cli_fail(b->cli, EXIT_FAILED, "out of memory");
	b->column_n = b->id = n;
	for (size_t i = 0; i < n; i++) {
		b->columns[i] = columns[i];
		b->columns[i].name = arena_dup(&b->arena, columns[i].name);
		if (!b->columns[i].name.p)
			return cli_fail(b->cli, EXIT_FAILED, "out of memory");
		if (b->id == n && (slice_eq(columns[i].name, SLICE("trace_id")) ||
				   slice_ends(columns[i].name, SLICE(".trace_id"))))
			b->id = i;
	}
	return 0;
}

static void put_json(struct breaking *b, const struct value *values)
{
	struct json_writer w = json_write(&b->out);

	json_begin_object(&w);
	json_put_name(&w, "rule");
	json_put_string(&w, b->rule);
	if (b->id < b->column_n) {
		json_put_name(&w, "traceId");
		query_json_value(&w, PLAN_ANY, values[b->id]);
	}
	json_put_name(&w, "row");
	json_begin_object(&w);
	for (size_t i = 0; i < b->column_n; i++) {
		json_put_key(&w, b->columns[i].name);
		query_json_value(&w, b->columns[i].type, values[i]);
	}
	json_end_object(&w);
	json_end_object(&w);
	buffer_byte(&b->out, '\n');
}

/* "  5b8e…60c  service=shop name=GET /cart" */
static void put_line(struct breaking *b, const struct value *values)
{
	_cleanup_(buffer_done)
	struct buffer line = {0};

	if (b->id < b->column_n)
		cell_format(values[b->id], 0, &line);
	for (size_t i = 0; i < b->column_n; i++) {
		if (i == b->id || value_is_nil(values[i]))
			continue;
		buffer_text(&line, line.n ? "  " : "");
		buffer_slice(&line, b->columns[i].name);
		buffer_byte(&line, '=');
		cell_format(values[i], 0, &line);
	}
	buffer_text(&b->out, "  ");
	text_put(&b->out, buffer_get(&line), b->cli->terminal ? b->cli->columns - 2 : SIZE_MAX);
	buffer_byte(&b->out, '\n');
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct breaking *b = context;

	if (b->n++ >= b->limit)
		return 0;
	if (b->cli->json)
		put_json(b, values);
	else
		put_line(b, values);
	return 0;
}

static void put_verdict(struct breaking *b)
{
	if (b->cli->json)
		return;
	if (b->n == 0) {
		if (!b->cli->quiet)
			buffer_printf(&b->out, "ok      %.*s\n", SLICE_ARG(b->rule));
		return;
	}
	if (b->n > b->limit)
		buffer_printf(&b->out, "  … and %llu more\n",
			      (unsigned long long)(b->n - b->limit));
}

/* 0 kept, 1 broken, or an exit code above. */
static int check_rule(struct ask *ask, const struct rule *rule, uint64_t limit)
{
	struct breaking b = {.cli = ask->cli, .rule = rule->name, .limit = limit};
	const struct ask_sink sink = {on_begin, on_row, &b};
	_cleanup_(buffer_done)
	struct buffer head = {0};
	int code;

	ask->sink = &sink;
	ask->text.text = rule->text;
	code = ask_run(ask);
	if (code == EXIT_OK) {
		put_verdict(&b);
		if (b.n > 0 && !ask->cli->json)
			buffer_printf(&head, "BROKEN  %.*s: %llu\n", SLICE_ARG(rule->name),
				      (unsigned long long)b.n);
		buffer_slice(&head, buffer_get(&b.out));
		code = cli_print(ask->cli, &head);
		code = code ? EXIT_USAGE : b.n > 0;
	} else {
		code = MAX(code, EXIT_USAGE); /* not to be taken for a broken rule */
	}
	arena_done(&b.arena);
	buffer_done(&b.out);
	return code;
}

static int check_command_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct check_values *v = values;
	struct rule *rules = NULL;
	struct diags diags;
	struct ask ask;
	size_t n = 0, broken = 0;
	int code;

	if (argc != 1)
		return cli_usage(cli, "takes one file of rules, or - for standard input");
	code = ask_init(&ask, cli, &v->ask);
	if (code == 0)
		code = query_text_read(cli, argv[0], true, &ask.text);
	if (code)
		return EXIT_USAGE;
	diags_init(&diags, &cli->arena);
	if (rules_read(ask.text.text, &cli->arena, &diags, &rules, &n) < 0)
		return cli_fail(cli, EXIT_USAGE, "out of memory");
	ask_show_diags(&ask, &diags);
	if (diags.errors)
		return EXIT_USAGE;
	if (n == 0)
		return cli_fail(cli, EXIT_USAGE, "%s has no rules", ask.text.name);
	for (size_t i = 0; i < n; i++) {
		code = check_rule(&ask, &rules[i], (uint64_t)v->limit);
		if (code > EXIT_FAILED)
			return code;
		broken += code == EXIT_FAILED;
	}
	cli_note(cli, "%zu of %zu rules hold", n - broken, n);
	return broken ? EXIT_FAILED : EXIT_OK;
}

const struct command command_check = {
	.name = "check",
	.arguments = "RULES",
	.summary = "check that queries return nothing",
	.details =
		"RULES is a file of queries, each of which finds what must not be: a service that calls another it should not, a "
		"payload in plain text, a root without an owner. Each query is a rule, and its name (NAME: query) the rule's; a "
		"query whose name another one mentions is there to be used and is no rule.\n\n"
		"Rows that a rule finds are listed with their traces, and the exit code is 1 if there are any; 2 if the rules "
		"could not be checked.",
	.examples = "causet check rules.cq --start -1h\n"
		    "causet check --json rules.cq | jq -r .traceId | sort -u\n",
	.options = check_command_options,
	.values_size = sizeof(struct check_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.run = check_command_run,
};
