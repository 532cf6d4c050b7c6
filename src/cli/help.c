/* cli/help.c - --help of the program and of each command, from their tables. */
#include "base/cleanup.h"
#include "cli/cli.h"

static void paragraphs(const char *text, size_t columns, struct buffer *out)
{
	while (text) {
		const char *end = strstr(text, "\n\n");
		size_t n = end ? (size_t)(end - text) : strlen(text);
		struct buffer one = {0};

		buffer_append(&one, text, n);
		option_fold(buffer_cstr(&one), 0, 0, columns, out);
		buffer_text(out, "\n\n");
		buffer_done(&one);
		text = end ? end + 2 : NULL;
	}
}

static void lines_indented(const char *text, const char *indent, struct buffer *out)
{
	struct slice rest = slice_cstr(text);

	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');

		buffer_printf(out, "%s%.*s\n", indent, SLICE_ARG(line));
	}
}

static const struct {
	unsigned flag;
	const struct option *table;
} shared[] = {
	{COMMAND_DATA, data_options},
	{COMMAND_OUTPUT, output_options},
	{COMMAND_CONNECT, connect_options},
};

void help_of(const struct command *c, size_t columns, struct buffer *out)
{
	struct buffer options = {0};

	buffer_printf(out, "Usage: causet %s [OPTION]…%s%s\n\n", c->name, c->arguments ? " " : "",
		      c->arguments ? c->arguments : "");
	buffer_printf(out, "%c%s.\n\n", c->summary[0] & ~0x20, c->summary + 1);
	if (c->details)
		paragraphs(c->details, columns, out);
	if (c->options && !c->options[0].group)
		buffer_text(out, "Options:\n");
	option_help(c->options, columns, &options);
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (c->flags & shared[i].flag)
			option_help(shared[i].table, columns, &options);
	buffer_slice(out, buffer_get(&options));
	out->failed |= options.failed;
	buffer_done(&options);
	buffer_text(out, "  -h, --help                print this\n");
	if (c->examples) {
		buffer_text(out, "\nExamples:\n");
		lines_indented(c->examples, "  ", out);
	}
}

void help_overview(size_t columns, struct buffer *out)
{
	buffer_text(out, "Usage: causet COMMAND [OPTION]… [ARGUMENT]…\n\n");
	option_fold(
		"causet takes in the traces of distributed programs and shows why a request was "
		"slow, wrong or expensive.",
		0, 0, columns, out);
	buffer_text(out, "\n\nCommands:\n");
	for (size_t i = 0; commands[i]; i++) {
		buffer_printf(out, "  %-12s", commands[i]->name);
		option_fold(commands[i]->summary, 14, 14, columns, out);
		buffer_byte(out, '\n');
	}
	buffer_text(out,
		    "\ncauset COMMAND --help explains a command.  Start with:\n"
		    "  causet serve            the server, on loopback\n"
		    "  causet import FILE      send it traces from a file\n"
		    "  causet traces           what is there\n"
		    "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found, 4 only in "
		    "part, 124 timed out.\n");
}

static void man_line(const char *text, size_t n, struct buffer *out)
{
	if (n > 0 && (text[0] == '.' || text[0] == '\''))
		buffer_text(out, "\\&");
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\\')
			buffer_text(out, "\\e");
		else if (text[i] == '-')
			buffer_text(out, "\\-");
		else
			buffer_byte(out, text[i]);
	}
	buffer_byte(out, '\n');
}

void help_of_man(const struct command *c, struct buffer *out)
{
	buffer_text(out, ".SH SYNOPSIS\n");
	buffer_printf(out, ".B causet %s\n[\\fIOPTION\\fR]…", c->name);
	if (c->arguments) {
		buffer_byte(out, ' ');
		man_line(c->arguments, strlen(c->arguments), out);
	} else {
		buffer_byte(out, '\n');
	}
	buffer_text(out, ".SH DESCRIPTION\n");
	buffer_printf(out, "%c%s.\n", c->summary[0] & ~0x20, c->summary + 1);
	for (const char *text = c->details; text;) {
		const char *end = strstr(text, "\n\n");

		buffer_text(out, ".PP\n");
		man_line(text, end ? (size_t)(end - text) : strlen(text), out);
		text = end ? end + 2 : NULL;
	}
	buffer_text(out, ".SH OPTIONS\n");
	option_help_man(c->options, out);
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (c->flags & shared[i].flag)
			option_help_man(shared[i].table, out);
	if (c->examples) {
		struct slice rest = slice_cstr(c->examples);

		buffer_text(out, ".SH EXAMPLES\n.EX\n");
		while (rest.n > 0) {
			struct slice line = slice_cut(&rest, '\n');

			man_line(line.p, line.n, out);
		}
		buffer_text(out, ".EE\n");
	}
}
