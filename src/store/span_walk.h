/* store/span_walk.h - every span of the traces in a window, and who called it.
 *
 * For numbers about many traces: what is shown of a span comes from a few columns, nothing is
 * materialised where a trace lies in one group. */
#ifndef CAUSET_STORE_SPAN_WALK_H
#define CAUSET_STORE_SPAN_WALK_H

#include "store/view.h"

/* The spans of one trace, gathered by whoever has its rows or columns.  One thread. */
struct span_gather {
	struct span_seen *rows;
	size_t n, capacity;
	struct slice *texts; /* the keys' of each row, in the order of gathering */
	size_t text_n, text_capacity;
};

/* -ENOMEM. */
int span_gather_rows(struct span_gather *g, const struct store_walk *walk,
		     const struct event_ref *refs, size_t n);

/* Shows what was gathered, each span once, and forgets it.  What the callback returned. */
int span_gather_show(struct span_gather *g, struct trace_id id, const struct store_walk *walk);

void span_gather_done(struct span_gather *g);

/* As store_spans(). */
int snapshot_spans(const struct snapshot *s, const struct store_walk *walk);

#endif
