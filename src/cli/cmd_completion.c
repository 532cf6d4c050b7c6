/* cli/cmd_completion.c - `causet completion SHELL`: completion scripts from the tables of commands
 * and options.  A value called SERVICE is completed by asking the server. */
#include "base/cleanup.h"
#include "cli/commands.h"

#define ASK_SERVICES "causet services --names --timeout 2s 2>/dev/null"

/* Calls each() for every option of a command, shared ones too. */
static void each_option(const struct command *c,
			void (*each)(const struct command *c, const struct option *o,
				     struct buffer *out),
			struct buffer *out)
{
	const struct option *tables[] = {
		c->options,
		c->flags & COMMAND_OUTPUT ? output_options : NULL,
		c->flags & COMMAND_CONNECT ? connect_options : NULL,
		c->flags & COMMAND_DATA ? data_options : NULL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *o = tables[i]; o && o->name; o++)
			each(c, o, out);
}

static bool value_is(const struct option *o, const char *word)
{
	return o->value && strcmp(o->value, word) == 0;
}

static void choices_put(const struct option *o, struct buffer *out)
{
	for (int i = 0; o->choices[i]; i++)
		buffer_printf(out, "%s%s", i ? " " : "", o->choices[i]);
}

/* What stands inside '…' in all three shells. */
static void quoted(const char *text, const char *escape_too, struct buffer *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			buffer_text(out, "'\\''");
		else if (strchr(escape_too, *text))
			buffer_printf(out, "\\%c", *text);
		else
			buffer_byte(out, *text);
	}
}

static void bash_word(const struct command *c, const struct option *o, struct buffer *out)
{
	buffer_printf(out, " --%s", o->name);
}

static void bash_value(const struct command *c, const struct option *o, struct buffer *out)
{
	if (o->type == OPTION_BOOL)
		return;
	buffer_printf(out, "\t%s:--%s) ", c->name, o->name);
	if (o->type == OPTION_CHOICE) {
		buffer_text(out, "COMPREPLY=($(compgen -W '");
		choices_put(o, out);
		buffer_text(out, "' -- \"$cur\"))");
	} else if (value_is(o, "SERVICE")) {
		buffer_text(out, "mapfile -t COMPREPLY < <(compgen -W \"$(" ASK_SERVICES
				 ")\" -- \"$cur\")");
	} else if (value_is(o, "FILE") || value_is(o, "DIR")) {
		buffer_text(out, "compopt -o default");
	} else {
		buffer_text(out, ":");
	}
	buffer_text(out, "; return ;;\n");
}

static void bash_script(struct buffer *out)
{
	buffer_text(out, "# bash completion of causet, made by `causet completion bash`\n"
			 "_causet() {\n"
			 "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
			 "command=${COMP_WORDS[1]} options= words=\n"
			 "\tCOMPREPLY=()\n"
			 "\tcase $command:$prev in\n");
	for (size_t i = 0; commands[i]; i++)
		each_option(commands[i], bash_value, out);
	buffer_text(out, "\tesac\n\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		buffer_printf(out, "\t%s) options='--help", c->name);
		each_option(c, bash_word, out);
		buffer_text(out, "' words='");
		for (size_t k = 0; c->words && c->words[k]; k++)
			buffer_printf(out, "%s%s", k ? " " : "", c->words[k]);
		buffer_text(out, "' ;;\n");
	}
	buffer_text(out, "\tesac\n"
			 "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='");
	for (size_t i = 0; commands[i]; i++)
		buffer_printf(out, "%s ", commands[i]->name);
	buffer_text(out, "--help --version'\n"
			 "\telif [[ $cur == -* ]]; then\n"
			 "\t\twords=$options\n"
			 "\telif [ \"$COMP_CWORD\" != 2 ] || [ -z \"$words\" ]; then\n"
			 "\t\tcompopt -o default\n"
			 "\t\treturn\n"
			 "\tfi\n"
			 "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
			 "}\n"
			 "complete -F _causet causet\n");
}

static void zsh_option(const struct command *c, const struct option *o, struct buffer *out)
{
	buffer_printf(out, " \\\n\t\t\t'%s--%s%s[", o->type == OPTION_LIST ? "*" : "", o->name,
		      o->type == OPTION_BOOL ? "" : "=");
	quoted(o->doc, "[]:\\", out);
	buffer_byte(out, ']');
	if (o->type == OPTION_CHOICE) {
		buffer_printf(out, ":%s:(", o->name);
		choices_put(o, out);
		buffer_byte(out, ')');
	} else if (value_is(o, "SERVICE")) {
		buffer_text(out, ":service:_causet_services");
	} else if (value_is(o, "FILE")) {
		buffer_text(out, ":file:_files");
	} else if (value_is(o, "DIR")) {
		buffer_text(out, ":folder:_files -/");
	} else if (o->type != OPTION_BOOL) {
		buffer_printf(out, ":%s: ", o->name);
	}
	buffer_byte(out, '\'');
}

static void zsh_script(struct buffer *out)
{
	buffer_text(out, "#compdef causet\n# made by `causet completion zsh`\n"
			 "_causet_services() {\n"
			 "\tlocal -a names\n"
			 "\tnames=(${(f)\"$(" ASK_SERVICES ")\"})\n"
			 "\tcompadd -a names\n"
			 "}\n"
			 "_causet() {\n"
			 "\tlocal -a commands\n"
			 "\tcommands=(\n");
	for (size_t i = 0; commands[i]; i++) {
		buffer_printf(out, "\t\t'%s:", commands[i]->name);
		quoted(commands[i]->summary, ":\\", out);
		buffer_text(out, "'\n");
	}
	buffer_text(out, "\t)\n"
			 "\tif (( CURRENT == 2 )); then\n"
			 "\t\t_describe command commands\n"
			 "\t\treturn\n"
			 "\tfi\n"
			 "\tlocal command=$words[2]\n"
			 "\tshift words\n"
			 "\t(( CURRENT-- ))\n"
			 "\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		buffer_printf(out, "\t%s)\n\t\t_arguments '--help[print help]'", c->name);
		each_option(c, zsh_option, out);
		if (c->words) {
			buffer_text(out, " \\\n\t\t\t'1:what:(");
			for (size_t k = 0; c->words[k]; k++)
				buffer_printf(out, "%s%s", k ? " " : "", c->words[k]);
			buffer_text(out, ")'");
		}
		buffer_text(out, " \\\n\t\t\t'*:file:_files'\n\t\t;;\n");
	}
	buffer_text(out, "\tesac\n}\n_causet \"$@\"\n");
}

static void fish_option(const struct command *c, const struct option *o, struct buffer *out)
{
	buffer_printf(out, "complete -c causet -n '__fish_seen_subcommand_from %s' -l %s", c->name,
		      o->name);
	if (o->letter)
		buffer_printf(out, " -s %c", o->letter);
	if (o->type == OPTION_CHOICE) {
		buffer_text(out, " -x -a '");
		choices_put(o, out);
		buffer_byte(out, '\'');
	} else if (value_is(o, "SERVICE")) {
		buffer_text(out, " -x -a '(" ASK_SERVICES ")'");
	} else if (o->type != OPTION_BOOL) {
		buffer_text(out, value_is(o, "FILE") || value_is(o, "DIR") ? " -r" : " -x");
	}
	buffer_text(out, " -d '");
	for (const char *p = o->doc; *p; p++)
		buffer_printf(out, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
	buffer_text(out, "'\n");
}

static void fish_script(struct buffer *out)
{
	buffer_text(out, "# fish completion of causet, made by `causet completion fish`\n");
	for (size_t i = 0; commands[i]; i++)
		buffer_printf(out,
			      "complete -c causet -f -n __fish_use_subcommand -a %s -d \"%s\"\n",
			      commands[i]->name, commands[i]->summary);
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		each_option(c, fish_option, out);
		for (size_t k = 0; c->words && c->words[k]; k++)
			buffer_printf(
				out,
				"complete -c causet -f -n '__fish_seen_subcommand_from %s' -a %s\n",
				c->name, c->words[k]);
	}
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int completion_run(struct cli *cli, const void *values, int argc, char **argv)
{
	static void (*const scripts[])(struct buffer * out) = {bash_script, zsh_script,
							       fish_script};
	_cleanup_(buffer_done)
	struct buffer out = {0};

	if (argc != 1)
		return cli_usage(cli, "which shell? bash, zsh or fish");
	for (size_t i = 0; shells[i]; i++) {
		if (strcmp(argv[0], shells[i]) != 0)
			continue;
		scripts[i](&out);
		return cli_print(cli, &out);
	}
	return cli_usage(cli, "no completion for '%s'; there is bash, zsh and fish", argv[0]);
}

const struct command command_completion = {
	.name = "completion",
	.arguments = "bash|zsh|fish",
	.summary = "print a completion script for a shell",
	.details =
		"The script completes commands, options and their words, and asks the server for the names of services.",
	.examples = "source <(causet completion bash)\n"
		    "causet completion fish >~/.config/fish/completions/causet.fish\n",
	.words = shells,
	.run = completion_run,
};
