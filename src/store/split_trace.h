/* store/split_trace.h - which traces of a new segment have pieces in others.
 *
 * A search evaluates a trace inside its segment, unless the trace is split: then it gathers the
 * pieces.  So a split trace must be known.  Saying "split" of one that is not costs a little time;
 * not saying it of one that is gives a wrong answer.  What is certain and what is not:
 * docs/design/store.md. */
#ifndef CAUSET_STORE_SPLIT_TRACE_H
#define CAUSET_STORE_SPLIT_TRACE_H

#include "store/view.h"

struct split_trace {
	uint64_t hash; /* segment_id_hash() */
	struct trace_id id;
	int64_t start_ns; /* of the piece */
	/* It has the beginning, or whatever else it has was asked for when it came: pieces long
	 * before or after it are not looked for. */
	bool whole;
	/* The rest of it was found once, and is not among what is merged here: where it cannot be
	 * looked for any more, the trace stays split. */
	bool apart;
	bool split;
};

/* Marks those of traces[0 … n) that also are in a segment of the view, other than the ones in
 * `except`.  Sorts the traces by hash.  With the engine's `files` lock held, which guards the
 * hashes and filters of segments; `open` is the filter that takes hashes of more. */
int split_mark(struct view *v, struct split_trace *traces, size_t n, const uint64_t *except,
	       size_t except_n, struct id_filter **open);

/* The ids of those that are marked, for free(). */
int split_list(const struct split_trace *traces, size_t n, struct trace_id **ret_ids,
	       size_t *ret_n);

/* Keeps the hashes of a new segment's traces, sorted, for the next ones to be compared with.
 * Without memory less is kept, which is harmless. */
void split_keep(struct view_segment *s, const struct split_trace *traces, size_t n,
		struct id_filter **open);

/* Forgets hashes of the oldest segments, until all together have at most SPLIT_HASHES_MOST, and
 * which filters they are in, until these have at most SPLIT_FILTERED_MOST. */
#define SPLIT_HASHES_MOST   ((size_t)1 << 20)
#define SPLIT_FILTERED_MOST ((size_t)16 << 20)
void split_trim(struct view *v);

#endif
