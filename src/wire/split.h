/* wire/split.h - cutting a file into requests, so that a file bigger than memory can be read.
 *
 * The caller holds a window of the file that begins where a request begins, and asks how far that
 * request reaches:
 *
 *	struct split s = {.frame = codec->frame};
 *	n = split_next(&s, window, at_end, &error);
 *	  > 0   the first n bytes are one request: decode them, move the window behind them
 *	  0     at the end: nothing is left.  Else: give the same window with more bytes in it
 *	  < 0   this cannot be cut
 *
 * JSON is cut behind each value, so one request a line, several lines for one, and a single
 *document are all the same.  A single document has to be in memory whole: SPLIT_VALUE_MAX. Protobuf
 *is cut between fields, at about SPLIT_FIELDS_AIM; one field (one resource's events) has the same
 *limit. */
#ifndef CAUSET_WIRE_SPLIT_H
#define CAUSET_WIRE_SPLIT_H

#include <sys/types.h>

#include "base/error.h"
#include "wire/codecs.h"

#define SPLIT_VALUE_MAX  ((size_t)1 << 30) /* bytes of one JSON value or protobuf field */
#define SPLIT_FIELDS_AIM ((size_t)4 << 20) /* bytes of protobuf that make a request */

struct split {
	enum codec_frame frame;
	/* How far the window has been looked at; private. */
	size_t scanned;
	size_t depth;
	bool in_string, escaped, begun;
};

ssize_t split_next(struct split *s, struct slice window, bool at_end, struct error *error);

#endif
