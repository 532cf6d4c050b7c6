/* cli/messages.h - messages out of files of any kind.
 *
 * One file goes straight to the sink, in bounded memory.  Several, and kinds that do not come in
 * order of time, are collected, put in order, and freed of messages that two of them saw. */
#ifndef CAUSET_CLI_MESSAGES_H
#define CAUSET_CLI_MESSAGES_H

#include "cli/cli.h"
#include "cli/source.h"
#include "infer/message_list.h"
#include "infer/names.h"

/* Options shared by the commands that read messages; the struct must be called `input`. */
struct messages_options {
	struct option_list maps;
	const char *log_pattern;
	bool tolerant;
	int64_t duplicates_ns;
};

#define MESSAGES_OPTIONS(values)                                                                    \
	{.name = "map",                                                                             \
	 .type = OPTION_LIST,                                                                       \
	 .whole = true,                                                                             \
	 .value = "PATTERN=NAME",                                                                   \
	 .group = "Reading",                                                                        \
	 .doc = "call the nodes that match the pattern so; may be given several times, the first "  \
		"that matches counts",                                                              \
	 .offset = offsetof(struct values, input.maps)},                                            \
		{.name = "log-pattern",                                                             \
		 .type = OPTION_STRING,                                                             \
		 .value = "PATTERN",                                                                \
		 .doc = "the files are logs; how a line is read: %t time, %s sender, %r receiver, " \
			"%o CALL, RET or MSG, %d duration, %i id, %n operation, %* anything",       \
		 .offset = offsetof(struct values, input.log_pattern)},                             \
		{.name = "tolerant",                                                                \
		 .type = OPTION_BOOL,                                                               \
		 .doc = "count lines that cannot be read instead of stopping at the first",         \
		 .offset = offsetof(struct values, input.tolerant)},                                \
	{                                                                                           \
		.name = "duplicates", .type = OPTION_DURATION, .fallback = "100ms",                 \
		.doc = "the same message in two files at most this far apart is one; 0s: keep "     \
		       "all",                                                                       \
		.offset = offsetof(struct values, input.duplicates_ns)                              \
	}

struct messages_input {
	struct cli *cli;
	const struct messages_options *options;
	struct names *nodes, *operations;
	struct message_sink sink; /* where a reader of one kind puts them */
	uint16_t file;            /* number of the file at hand */
	struct source *source;
	struct slice head; /* what has been read of it to recognise it */
	bool collects;     /* order is restored later */
	uint64_t bad;      /* lines tolerated */
	uint64_t duplicates;
};

/* Reads all files ("-": standard input) into the sink.  EXIT_OK, or another exit code after having
 * said why. */
int messages_read(struct messages_input *in, struct message_sink sink, char *const *files,
		  int file_n);

/* The next bytes of the file at hand: first its head, then the rest.  How many, 0 at the end, or a
 * negative errno.  *ret_piece is good until the next call. */
ssize_t messages_more(struct messages_input *in, char *room, size_t n, struct slice *ret_piece,
		      struct error *error);

/* One row per kind of file.  Readers of a kind live in a file of their own. */
struct messages_kind {
	const char *name;
	bool (*sniff)(struct slice head, struct slice name);
	bool ordered; /* comes in order of time */
	int (*read)(struct messages_input *in, struct error *error);
};

#endif
