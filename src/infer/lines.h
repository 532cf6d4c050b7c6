/* infer/lines.h - text that comes in pieces, given on line by line.
 *
 * Whole lines are given where they lie; only a line cut by the end of a piece is copied.  A line
 * longer than LINES_MAX_BYTES is given cut, and says so.  One thread. */
#ifndef CAUSET_INFER_LINES_H
#define CAUSET_INFER_LINES_H

#include "base/buffer.h"

#define LINES_MAX_BYTES 65536

typedef int lines_take(void *context, struct slice line, bool cut);

struct lines {
	lines_take *take; /* without the newline; a negative errno ends the reading */
	void *context;
	uint64_t n; /* lines given so far */
	struct buffer carry;
};

void lines_done(struct lines *l);

/* -ENOMEM, or what `take` returned. */
int lines_feed(struct lines *l, struct slice text);

/* The text has ended: a last line may lack its newline. */
int lines_finish(struct lines *l);

#endif
