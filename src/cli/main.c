/* cli/main.c - the program `causet`: finds the subcommand, reads its options, runs it. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "server/config.h"

#define COLUMNS_MIN     40
#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX     400

/* One row per subcommand, in the order --help shows them. */
const struct command *const commands[] = {
	/* clang-format off */
	&command_serve,
	&command_import,
	&command_export,
	&command_query,
	&command_explain,
	&command_check,
	&command_tracepoints,
	&command_alerts,
	&command_services,
	&command_traces,
	&command_trace,
	&command_mcp,
	&command_lint,
	&command_fmt,
	&command_infer,
	&command_make_trace,
	&command_skew,
	&command_token,
	&command_redact,
	&command_keep,
	&command_thin,
	&command_store,
	&command_completion,
	&command_version,
	&command_help,
	NULL,
	/* clang-format on */
};

const struct command *command_find(struct slice name)
{
	for (size_t i = 0; commands[i]; i++)
		if (slice_eq(name, slice_cstr(commands[i]->name)))
			return commands[i];
	return NULL;
}

/* The width to fold to: the terminal's, else COLUMNS, else 80. */
static size_t columns_of(int fd)
{
	const char *told = getenv("COLUMNS");
	struct winsize w;
	size_t columns = COLUMNS_DEFAULT;
	uint64_t number;

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
		columns = w.ws_col;
	else if (told && slice_parse_u64(slice_cstr(told), &number) == 0)
		columns = (size_t)number;
	columns = MAX(columns, (size_t)COLUMNS_MIN);
	return MIN(columns, (size_t)COLUMNS_MAX);
}

static void output_settle(struct cli *cli)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	cli->terminal = isatty(STDOUT_FILENO);
	cli->columns = columns_of(STDOUT_FILENO);
	cli->colour = cli->terminal && !cli->no_color && !(no_color && *no_color) &&
		      !(term && strcmp(term, "dumb") == 0);
}

/* --help and the hidden --help-man win over whatever else stands on the line. */
static bool wants(int argc, char **argv, const char *option, const char *letter)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], option) == 0 || (letter && strcmp(argv[i], letter) == 0))
			return true;
	return false;
}

struct shared_sets {
	struct option_set output, connect, data, serve;
	struct option_set *used[4]; /* the command's own first */
	size_t used_n;
};

/* The settings that a file and the environment may hold for any command but serve, which reads its
 * own. */
static int shared_complete(struct cli *cli, struct shared_sets *s, struct error *error)
{
	struct option_set *from_file[2] = {&s->connect, &s->data};
	const struct option_set *others[1] = {&s->serve};
	int r;

	r = option_parse_environment(&s->connect, CONFIG_ENVIRONMENT_PREFIX, cli->environment,
				     error);
	if (r == 0)
		r = option_parse_environment(&s->data, CONFIG_ENVIRONMENT_PREFIX, cli->environment,
					     error);
	if (r == 0)
		r = config_read_file(from_file, 2, others, 1,
				     config_find_file(cli->environment, &cli->arena), error);
	if (r == 0 && !cli->data) {
		cli->data = config_data_default(cli->environment, &cli->arena);
		if (!cli->data)
			r = error_set(error, -ENOMEM, "out of memory");
	}
	return r;
}

static int sets_init(struct cli *cli, void *values, struct shared_sets *s)
{
	const struct command *c = cli->command;
	struct config *unused = arena_zalloc(&cli->arena, 1, sizeof(*unused));

	if (!unused || option_set_init(&cli->set, c->options, values, &cli->arena) ||
	    option_set_init(&s->output, output_options, cli, &cli->arena) ||
	    option_set_init(&s->connect, connect_options, cli, &cli->arena) ||
	    option_set_init(&s->data, data_options, cli, &cli->arena) ||
	    option_set_init(&s->serve, config_options, unused, &cli->arena))
		return -ENOMEM;
	s->used[s->used_n++] = &cli->set;
	if (c->flags & COMMAND_OUTPUT)
		s->used[s->used_n++] = &s->output;
	if (c->flags & COMMAND_CONNECT)
		s->used[s->used_n++] = &s->connect;
	if (c->flags & COMMAND_DATA)
		s->used[s->used_n++] = &s->data;
	return 0;
}

static int command_run(struct cli *cli, int argc, char **argv)
{
	const struct command *c = cli->command;
	_cleanup_(buffer_done)
	struct buffer help = {0};
	struct shared_sets sets = {0};
	struct error error = {0};
	void *values;
	int r;

	if (wants(argc, argv, "--help", "-h")) {
		help_of(c, columns_of(STDOUT_FILENO), &help);
		return cli_print(cli, &help);
	}
	if (wants(argc, argv, "--help-man", NULL)) {
		help_of_man(c, &help);
		return cli_print(cli, &help);
	}
	values = arena_zalloc(&cli->arena, 1, c->values_size ? c->values_size : 1);
	if (!values || sets_init(cli, values, &sets) < 0)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	argc = option_parse_arguments(sets.used, sets.used_n, argc, argv, &error);
	if (argc < 0)
		return cli_usage(cli, "%s", error.text);
	if (c->flags & (COMMAND_CONNECT | COMMAND_DATA)) {
		r = shared_complete(cli, &sets, &error);
		if (r < 0)
			return cli_fail(cli, EXIT_USAGE, "%s", error.text);
	}
	output_settle(cli);
	return c->run(cli, values, argc, argv);
}

static int unknown_command(const struct cli *cli, const char *name)
{
	struct suggestion s = suggestion_for(slice_cstr(name));

	for (size_t i = 0; commands[i]; i++)
		suggestion_offer(&s, commands[i]->name);
	if (s.best)
		return cli_usage(cli, "there is no command '%s'; did you mean %s?", name, s.best);
	return cli_usage(cli, "there is no command '%s'", name);
}

static int cli_main(struct cli *cli, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (strcmp(name, "--version") == 0)
		name = "version";
	if (argc < 2 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		_cleanup_(buffer_done)
		struct buffer help = {0};

		help_overview(columns_of(STDOUT_FILENO), &help);
		return cli_print(cli, &help) ? EXIT_FAILED : argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	cli->command = command_find(slice_cstr(name));
	if (!cli->command)
		return unknown_command(cli, name);
	return command_run(cli, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	struct cli cli = {.environment = environ};
	int code;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(2), not the end */
	setlocale(LC_CTYPE,
		  "C.UTF-8"); /* what we write is UTF-8, whatever is set; wcwidth() wants to know */
	code = cli_main(&cli, argc, argv);
	arena_done(&cli.arena);
	return code;
}
