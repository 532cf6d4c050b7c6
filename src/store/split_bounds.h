/* store/split_bounds.h - how early and how late traces in several segments can be.
 *
 * Each piece says when it starts and how long it takes, so bounds of the whole are had without
 * putting it together: a search by duration, time or failure puts together only what may fit. */
#ifndef CAUSET_STORE_SPLIT_BOUNDS_H
#define CAUSET_STORE_SPLIT_BOUNDS_H

#include "store/view.h"

struct split_bound {
	/* The trace does not start before `low_ns` and does not end behind `high_ns`, as far as it
	 * lies in segments. */
	int64_t low_ns, high_ns;
	bool errors; /* a piece may have failed rows */
	bool open;   /* nothing is known */
};

/* The bounds of the view's split traces, in the order of view_split(); made when first asked for,
 * and live as long as the view.  Any thread.  Negative errno. */
int view_split_bounds(struct view *v, const struct split_bound **ret_bounds);

/* Of one trace.  NULL: it is not split, or its bounds were not made. */
const struct split_bound *view_split_bound(const struct view *v, struct trace_id id);

/* How long, at the most, split traces with a piece in a group can take; -1: there is none in it.
 * After view_split_bounds(). */
int64_t view_split_longest(const struct view *v, size_t segment, uint32_t group);

#endif
