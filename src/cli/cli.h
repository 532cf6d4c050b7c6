/* cli/cli.h - what a subcommand is, and what all of them share.
 *
 * A subcommand lives in cmd_<name>.c and is one `const struct command command_<name>`; main.c lists
 * them.  Its options are a table (base/option.h), from which --help, the man page and completion
 * come.  run() gets the parsed values and what was no option:
 *
 *   struct token_values { const char *roles; };
 *   static const struct option token_options[] = {
 *           {.name = "roles", .type = OPTION_STRING, .value = "LIST", .doc = "…",
 *            .offset = offsetof(struct token_values, roles)},
 *           {0},
 *   };
 *   static int token_run(struct cli *cli, const void *values, int argc, char **argv) { … }
 *   const struct command command_token = {
 *           .name = "token", .arguments = "add OWNER | list | revoke OWNER", .summary = "…",
 *           .options = token_options, .values_size = sizeof(struct token_values),
 *           .flags = COMMAND_OUTPUT | COMMAND_DATA, .run = token_run,
 *   };
 *
 * Results go to standard output (people's text, or JSON lines with --json), everything else to
 * standard error.  One thread. */
#ifndef CAUSET_CLI_CLI_H
#define CAUSET_CLI_CLI_H

#include <stdio.h>

#include "base/arena.h"
#include "base/option.h"

/* How a command ends. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOTHING = 3, /* nothing was found */
	EXIT_PARTIAL = 4, /* some of it worked */
	EXIT_TIMED_OUT = 124,
};

/* Which shared options a command takes. */
enum command_flags {
	COMMAND_OUTPUT = 1 << 0,  /* --json -q -v --no-color */
	COMMAND_CONNECT = 1 << 1, /* --server --token … */
	COMMAND_DATA = 1 << 2,    /* --data: works on a server's folder */
};

struct cli {
	struct arena arena; /* until the program ends */
	char *const *environment;
	const struct command *command;
	struct option_set set; /* the command's own options, with their origins */

	/* COMMAND_OUTPUT */
	bool json, quiet, verbose, no_color;
	bool colour;    /* may standard output be coloured? */
	bool terminal;  /* is standard output a terminal? */
	size_t columns; /* its width; 80 when unknown */

	/* COMMAND_CONNECT */
	const char *server, *otlp, *zipkin, *token, *token_file, *ca, *cert, *key;
	int64_t timeout_ns; /* 0: none */

	/* COMMAND_DATA; never NULL then */
	const char *data;
};

struct command {
	const char *name;
	const char *arguments; /* behind the options in the usage line: "FILE…"; NULL: none */
	const char *summary;   /* one line, lower case, no full stop */
	const char *details;   /* a paragraph or more, separated by "\n\n"; or NULL */
	const char *examples;  /* whole lines, each with its "\n"; or NULL */
	const struct option *options; /* ends with an empty row; or NULL */
	size_t values_size;           /* of the struct the options fill; 0: none */
	unsigned flags;               /* enum command_flags */
	/* First words that make sense, for completion; NULL-terminated; or NULL. */
	const char *const *words;
	/* `argv` holds the argc arguments that are no options.  Returns an exit code. */
	int (*run)(struct cli *cli, const void *values, int argc, char **argv);
};

/* Every subcommand, NULL-terminated; in main.c. */
extern const struct command *const commands[];

/* The shared tables, for help and completion. */
extern const struct option output_options[], connect_options[], data_options[];

const struct command *command_find(struct slice name);

/* Prints "causet NAME: …" to standard error and returns `code`. */
int cli_fail(const struct cli *cli, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a command line that makes no sense, with a pointer to --help; EXIT_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something worth knowing, on standard error, unless --quiet. */
void cli_note(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes all of it to standard output and empties the buffer: 0, or EXIT_FAILED with a message (a
 * closed pipe is silent). */
int cli_print(const struct cli *cli, struct buffer *out);

/* The text of --help, of one command and of the program. */
void help_of(const struct command *c, size_t columns, struct buffer *out);
void help_overview(size_t columns, struct buffer *out);

/* The same as man(7) source, for the pages of docs/man. */
void help_of_man(const struct command *c, struct buffer *out);

#endif
