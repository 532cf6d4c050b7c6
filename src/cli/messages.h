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
	/* Packets: */
	const char *node_rules, *truth_header, *truth_file, *live, *live_filter;
	int64_t node_style, reply, duration_ns;
	bool live_owners;
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
		.name = "duplicates", .type = OPTION_DURATION, .fallback = "100ms", .min = 0,       \
		.max = 100000000000000000,                                                          \
		.doc = "the same message in two files at most this far apart is one; 0s: keep "     \
		       "all",                                                                       \
		.offset = offsetof(struct values, input.duplicates_ns)                              \
	}

extern const char *const node_style_names[], *const reply_names[];

/* Options of commands that also take packets. */
#define PACKET_OPTIONS(values)                                                                                                  \
	{.name = "node-rules",                                                                                                  \
	 .type = OPTION_STRING,                                                                                                 \
	 .value = "FILE",                                                                                                       \
	 .group = "Packets",                                                                                                    \
	 .doc = "lines of ADDRESS[/PREFIX][:PORT[-PORT]] NAME: what to call whoever has an address; "                           \
		"the first that fits counts",                                                                                   \
	 .offset = offsetof(struct values, input.node_rules)},                                                                  \
		{.name = "node-style",                                                                                          \
		 .type = OPTION_CHOICE,                                                                                         \
		 .choices = node_style_names,                                                                                   \
		 .fallback = "auto",                                                                                            \
		 .doc = "what a node without a rule is called; endpoint: servers are "                                          \
			"address:port; auto: only on loopback",                                                                 \
		 .offset = offsetof(struct values, input.node_style)},                                                          \
		{.name = "reply",                                                                                               \
		 .type = OPTION_CHOICE,                                                                                         \
		 .choices = reply_names,                                                                                        \
		 .fallback = "last",                                                                                            \
		 .doc = "which byte of an answer is its return; first: how long until something came, for answers that stream", \
		 .offset = offsetof(struct values, input.reply)},                                                               \
		{.name = "live",                                                                                                \
		 .type = OPTION_STRING,                                                                                         \
		 .value = "INTERFACE",                                                                                          \
		 .doc = "capture there until interrupted; any: everywhere",                                                     \
		 .offset = offsetof(struct values, input.live)},                                                                \
		{.name = "live-filter",                                                                                         \
		 .type = OPTION_STRING,                                                                                         \
		 .value = "EXPRESSION",                                                                                         \
		 .doc = "which packets to capture, as tcpdump has it",                                                          \
		 .offset = offsetof(struct values, input.live_filter)},                                                         \
		{.name = "live-owners",                                                                                         \
		 .type = OPTION_BOOL,                                                                                           \
		 .fallback = "on",                                                                                              \
		 .doc = "call programs of this host after their command and port; needs the right to look",                     \
		 .offset = offsetof(struct values, input.live_owners)},                                                         \
		{.name = "duration",                                                                                            \
		 .type = OPTION_DURATION,                                                                                       \
		 .fallback = "0s",                                                                                              \
		 .doc = "how long to capture; 0s: until interrupted",                                                           \
		 .offset = offsetof(struct values, input.duration_ns)},                                                         \
		{.name = "truth-header",                                                                                        \
		 .type = OPTION_STRING,                                                                                         \
		 .value = "NAME",                                                                                               \
		 .doc = "a header whose value names the request on every hop (X-Request-Id); it "                               \
			"is never used to infer",                                                                               \
		 .offset = offsetof(struct values, input.truth_header)},                                                        \
	{                                                                                                                       \
		.name = "truth-file", .type = OPTION_STRING, .value = "FILE",                                                   \
		.doc = "write what the header says there, as lines of id, parent, trace",                                       \
		.offset = offsetof(struct values, input.truth_file)                                                             \
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
	int packet_files;  /* how many of the files hold packets */
	const int *code;   /* set: the sink failed and has said why; this is the exit code */
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

/* Packets, of a file and of an interface; in messages_packets.c. */
bool packets_is(struct slice head, struct slice name);
int packets_file(struct messages_input *in, struct error *error);
int packets_live(struct messages_input *in, struct error *error);

/* Of several captures, says which host each was taken on, if that can be told. */
int packets_vantage(struct messages_input *in, struct message_list *list, int file_n);

#endif
