/* cli/ask.h - a query, asked of a server or of a folder; both answer the same.
 *
 * Who asks gives a sink; rows come to it as they are found.  Progress is shown, Ctrl-C cancels (on
 * the server, too), what is wrong with a query is printed with its line and a caret. */
#ifndef CAUSET_CLI_ASK_H
#define CAUSET_CLI_ASK_H

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/query_text.h"
#include "exec/query.h"

/* What the commands that ask share on the command line. */
struct ask_values {
	const char *data;
	int64_t dialect;
	const char *start, *end;
	int64_t step_ns;
	const char *memory;
};

extern const char *const ask_dialects[]; /* enum lang_dialect */

#define ASK_OPTIONS(owner, field)                                                                  \
	{.name = "data",                                                                           \
	 .type = OPTION_STRING,                                                                    \
	 .value = "DIR",                                                                           \
	 .doc = "ask this folder instead of a server; one may be running on it",                   \
	 .offset = offsetof(owner, field.data)},                                                   \
		{.name = "start",                                                                  \
		 .type = OPTION_STRING,                                                            \
		 .value = "TIME",                                                                  \
		 .doc = "what began then or later: RFC 3339, a number since 1970, or -1h; what "   \
			"the query says itself (Over) counts first",                               \
		 .offset = offsetof(owner, field.start)},                                          \
		{.name = "end",                                                                    \
		 .type = OPTION_STRING,                                                            \
		 .value = "TIME",                                                                  \
		 .doc = "what began before then",                                                  \
		 .offset = offsetof(owner, field.end)},                                            \
		{.name = "step",                                                                   \
		 .type = OPTION_DURATION,                                                          \
		 .fallback = "0",                                                                  \
		 .doc = "of series where the query says none; 0 chooses one",                      \
		 .offset = offsetof(owner, field.step_ns)},                                        \
		{.name = "dialect",                                                                \
		 .type = OPTION_CHOICE,                                                            \
		 .fallback = "causetql",                                                           \
		 .choices = ask_dialects,                                                          \
		 .doc = "traceql: && and || bind equally, as in Tempo",                            \
		 .offset = offsetof(owner, field.dialect)},                                        \
	{                                                                                          \
		.name = "memory", .type = OPTION_STRING, .value = "SIZE",                          \
		.doc = "stop at so much; a server may allow less",                                 \
		.offset = offsetof(owner, field.memory)                                            \
	}

/* Where an answer goes.  Anything but 0 ends it and is the exit code. */
struct ask_sink {
	int (*begin)(void *context, struct slice name, const struct query_column *columns,
		     size_t n);
	int (*row)(void *context, const struct value *values, const double *plus_minus, size_t n);
	void *context;
};

struct ask {
	struct cli *cli;
	const struct ask_values *values;
	struct query_text text;
	struct plan_range range; /* read from the values */
	size_t memory_bytes;
	uint64_t limit; /* rows of each result; 0: all */
	int64_t now_ns;
	const struct ask_sink *sink;
	struct interrupt *interrupt;
	struct query_stats stats; /* of the answer */
	bool estimate;            /* some cell was one */
};

/* Reads what the command line says.  0, or EXIT_USAGE after a message. */
int ask_init(struct ask *ask, struct cli *cli, const struct ask_values *values);

/* Asks, and says what is to be known about the answer on standard error.  EXIT_OK, what the sink
 * returned, EXIT_FAILED, EXIT_TIMED_OUT, EXIT_INTERRUPTED. */
int ask_run(struct ask *ask);

/* How it would be run, as text. */
int ask_explain(struct ask *ask, bool live, struct buffer *out);

#endif
