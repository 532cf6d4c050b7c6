/* model/critical_path.h - what the time between two instants was spent on.
 *
 * Walks backwards from the end: at every moment to the cause that arrived last.  The result is a
 * chain of segments in time order, each beginning where the one before ended; their durations sum
 * up to the whole. */
#ifndef CAUSET_MODEL_CRITICAL_PATH_H
#define CAUSET_MODEL_CRITICAL_PATH_H

#include "model/trace.h"

enum segment_kind {
	SEGMENT_SELF,  /* the block's own work */
	SEGMENT_EDGE,  /* on the way: network, fork, link; `edge` says which, if there is one */
	SEGMENT_QUEUE, /* waiting in a queue or for a lock */
	SEGMENT_IDLE,  /* nobody says what was waited for */
	SEGMENT_KINDS
};

const char *segment_kind_name(enum segment_kind kind);

struct path_segment {
	int64_t from_ns, to_ns; /* from < to; adjusted times */
	uint32_t block;         /* that worked, or that waited */
	uint32_t edge;          /* into edges, or TRACE_NONE */
	enum segment_kind kind;
};

struct critical_path {
	struct path_segment *segments; /* oldest first; malloc'd; none when it took no time */
	size_t n;
	struct trace_pos from, to;
	int64_t total_ns; /* sum of the durations = to - from */
};

/* From the root's begin to the last end that the root caused; running blocks up to what is known of
 * them.  An empty trace has an empty path.  -ENOMEM. */
int critical_path_whole(struct trace *t, struct critical_path *ret_path);

/* Between two positions.  -ENOENT when `from` did not happen before `to`; -EINVAL when the clocks
 * say so (adjusted times), whatever the causes; -ENOMEM. */
int critical_path_between(struct trace *t, struct trace_pos from, struct trace_pos to,
			  struct critical_path *ret_path);

/* Frees; usable again. */
void critical_path_done(struct critical_path *path);

#endif
