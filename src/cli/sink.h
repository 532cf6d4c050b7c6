/* cli/sink.h - where an export goes: a file, or standard output. */
#ifndef CAUSET_CLI_SINK_H
#define CAUSET_CLI_SINK_H

#include "cli/cli.h"
#include "wire/codecs.h"

/* Opened with the first byte, so that an export that fails leaves an older file alone. */
struct sink {
	const char *path; /* NULL: standard output */
	int fd;           /* negative: not yet */
	uint64_t bytes;
};

/* NULL and "-" are standard output. */
struct sink sink_of(const char *output);

/* All of it: 0, or a negative errno.  `context` is the sink. */
int sink_write(void *context, struct slice piece);

/* Rows that belong together (whole traces), as the format can hold them. */
int sink_rows(struct sink *sink, const struct codec *codec, const struct event_ref *refs, size_t n);

/* How it ends: says so when nothing was written (EXIT_NOTHING) or closing fails. */
int sink_close(struct cli *cli, struct sink *sink, int code);

/* The format that fits the output's name, else otlp-json. */
const struct codec *sink_format(const char *output);

#endif
