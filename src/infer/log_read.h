/* infer/log_read.h - messages out of logs, by a pattern that says how a line is read.
 *
 *   %t   time: seconds since 1970, RFC 3339, or the common log format's 10/Oct/2026:13:55:36 +0200
 *   %s   sender        %r  receiver      %i  id        %n  operation
 *   %o   CALL, RET or MSG; without it, or with %d, a line is a call and its return
 *   %d   how long it took: seconds, or with a unit; the time is then that of the return
 *   %*   anything      %%  a percent sign
 *
 * Everything else stands for itself; a blank for one or more.  What a field holds ends where the
 * text behind it in the pattern is found.  Without %s the sender is `client`, without %r the
 * receiver is the name given, usually the file's.  Lines that do not match are counted.  One
 * thread. */
#ifndef CAUSET_INFER_LOG_READ_H
#define CAUSET_INFER_LOG_READ_H

#include "base/error.h"
#include "infer/message.h"
#include "infer/names.h"

#define LOG_MAX_PARTS 64

struct log_part {
	char field;        /* 't', 's', …; '*' */
	struct slice text; /* literal behind it, up to the next field */
};

struct log_reader {
	struct names *nodes, *operations;
	struct message_sink sink;
	uint16_t file;
	struct slice first; /* literal before the first field */
	struct log_part parts[LOG_MAX_PARTS];
	size_t part_n;
	struct slice receiver; /* when the line does not say */
	uint64_t lines, unmatched;
};

/* Reads the pattern, which must outlive the reader.  -EINVAL with a sentence. */
int log_reader_init(struct log_reader *r, struct slice pattern, struct error *error);

/* One line.  1 when it matched, 0 when not; -ENOMEM, or what the sink returned. */
int log_reader_line(struct log_reader *r, struct slice line);

#endif
