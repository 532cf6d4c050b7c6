/* infer/linking.h - inference on a stream of messages, in memory that does not grow with it.
 *
 * Calls are collected.  When there are enough of them (or enough time has passed) those that have
 * returned are linked with what has been learnt so far, and every path whose root has returned is
 * added to the patterns and forgotten; what is still open stays.  A trace with fewer calls than
 * max_calls is linked in one piece, so that nothing is lost by streaming it.
 *
 *   collected   ████████████████████░░░░░░░░    █ returned before the cut: linked
 *                                  cut          ░ still open, or later: stays
 *
 * A call open for longer than longest_ns is given up.  One thread. */
#ifndef CAUSET_INFER_LINKING_H
#define CAUSET_INFER_LINKING_H

#include "infer/infer.h"
#include "infer/pairing.h"
#include "infer/patterns.h"

#define LINKING_MAX_CALLS 4000000 /* a window when nobody says; some 250 MB */

/* What patterns may take for each call that a window may have: a sixth of what the calls take. */
#define LINKING_PATTERN_BYTES 8
#define LINKING_PATTERN_LEAST (8 << 20)

/* What has been decided for good, at the end of each window. */
struct linking_window {
	const struct calls *calls;
	const struct call_link *links; /* parents are numbers in `calls` */
	const bool *leaving;           /* by call: its path is complete, and gone after this */
	int64_t cut_ns;                /* INT64_MAX at the end */
	uint64_t number;               /* from 1 */
};

struct linking_options {
	const struct infer_mode *mode;
	struct infer_options infer;
	size_t max_calls;   /* 0: LINKING_MAX_CALLS */
	int64_t window_ns;  /* 0: only when there are max_calls */
	int64_t settle_ns;  /* how much later than its end a path is complete: clocks differ */
	int64_t longest_ns; /* 0: three times as long as the longest call that has returned */
	int (*window)(void *context, const struct linking_window *w); /* may be NULL */
	void *context;
};

struct linking_tally {
	struct pairing_tally pairing;
	uint64_t calls; /* in all */
	uint64_t windows;
	uint64_t given_up; /* open for too long */
	size_t most_calls; /* in memory at the same time */
};

struct linking;

/* Patterns of all paths go to `patterns`, which must outlive it, as must the names there. */
int linking_new(const struct linking_options *options, struct patterns *patterns,
		struct linking **ret_linking);
struct linking *linking_free(struct linking *s);

/* Where the messages go.  An error that has a sentence is told by linking_error(). */
struct message_sink linking_sink(struct linking *s);

/* The stream has ended: links what is left. */
int linking_finish(struct linking *s);

const char *linking_error(const struct linking *s);
struct linking_tally linking_tally(const struct linking *s);

#endif
