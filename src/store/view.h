/* store/view.h - what the store consists of at one moment: segments and heads.
 *
 * A view never changes; flushing, compaction and retention make a new one.  Everything is in order
 * of arrival: segments oldest first, then heads, of which the last still takes batches.  A reader
 * holds a snapshot: a view, and marks that say how far to look into its heads. */
#ifndef CAUSET_STORE_VIEW_H
#define CAUSET_STORE_VIEW_H

#include <pthread.h>

#include "segment/segment.h"
#include "store/head.h"
#include "store/id_filter.h"
#include "store/manifest.h"

#define VIEW_HEADS 4 /* the active one and those on their way to disk */

struct service_tally;

/* A segment as views share it. */
struct view_segment {
	_Atomic uint32_t refs;
	struct manifest_segment row;
	struct segment *segment;
	/* segment_id_hash() of its traces, sorted: kept for young segments, so that the next one
	 * can be compared with them without reading.  NULL: not kept.  They and the filter change
	 * with the engine's `files` and their own lock held; either is enough to look. */
	pthread_mutex_t hashes_lock;
	uint64_t *hashes;
	size_t hash_n;
	struct id_filter *filter; /* has all of them, and those of others; NULL: none has */
	bool unfiltered;          /* its ids cannot be read, so no filter will have them */
	_Atomic uint8_t plain;    /* view_segment_is_plain() has found: 1 no, 2 yes */
	_Atomic bool damaged; /* something in it could not be read: compaction leaves it alone */
	_Atomic bool apart;   /* with what came before it, it was more than a segment may have */
	/* Its services, counted when first asked for (store/overview.c). */
	pthread_mutex_t services_lock;
	struct service_tally *services;
};

struct view {
	_Atomic uint32_t refs;
	struct view_segment **segments;
	size_t segment_n;
	struct head *heads[VIEW_HEADS];
	size_t head_n; /* at least 1 */

	/* Traces with pieces in more than one segment, or perhaps so; made when first asked for. */
	pthread_mutex_t split_lock;
	bool split_made;
	struct trace_id *split; /* sorted by bytes, each once */
	size_t split_n;
	struct trace_id *split_placed; /* the same by place; NULL until it is asked for */
	/* Bits by the hash of their ids: most ids are known not to be split by one look. */
	uint64_t *split_filter;
	uint64_t split_mask; /* bits of the filter - 1 */
	/* store/split_bounds.h; NULL until they are asked for */
	struct split_bound *split_bounds;
	int64_t **split_longest; /* [segment][group] */
};

/* Takes over the reference to the segment, also on failure.  NULL: out of memory. */
struct view_segment *view_segment_new(const struct manifest_segment *row, struct segment *segment);
struct view_segment *view_segment_ref(struct view_segment *s);

/* Has it a trace with this hash?  0, 1; -ENODATA: what is kept in memory does not say. */
int view_segment_knows(struct view_segment *s, uint64_t hash);
struct view_segment *view_segment_unref(struct view_segment *s);

/* Did every span in it come in one piece, with no begins and ends (EVENT_END)?  1, 0, or a negative
 * errno.  Any thread. */
int view_segment_is_plain(struct view_segment *s);

/* An empty view with room for so many segments, so that filling it cannot fail.  NULL: out of
 * memory. */
struct view *view_new(size_t segments);
/* Before anybody else sees it; both take references of their own. */
void view_add_segment(struct view *v, struct view_segment *s);
void view_add_head(struct view *v, struct head *h);

struct view *view_ref(struct view *v);
struct view *view_unref(struct view *v);

static inline struct head *view_active(const struct view *v)
{
	return v->heads[v->head_n - 1];
}

/* The traces that have, or may have, pieces in more than one segment: sorted by bytes, each once;
 * they live as long as the view.  Any thread. */
int view_split(struct view *v, const struct trace_id **ret_ids, size_t *ret_n);

/* The same in the order of the groups that they begin in, as far as indices tell: who reads them
 * one after the other finds the groups of the one before still open.  Any thread. */
int view_split_placed(struct view *v, const struct trace_id **ret_ids, size_t *ret_n);

/* Is the trace one of them?  0, 1, negative errno.  Any thread. */
int view_is_split(struct view *v, struct trace_id id);

/* The same once view_split() has been called, without a lock: for loops over many traces. */
bool view_split_has(const struct view *v, struct trace_id id);

/* --- reading --- */

struct snapshot {
	struct view *view; /* holds a reference */
	struct runs_mark marks[VIEW_HEADS];
};

/* Takes the reference over. */
void snapshot_init(struct snapshot *s, struct view *view);
void snapshot_done(struct snapshot *s);

/* The store as it is now; snapshot_done().  -EOPNOTSUPP from an engine that keeps no views. */
int store_snapshot(struct store *store, struct snapshot *ret_snapshot);

/* Appends all rows of a trace, from segments and heads, in order of arrival.  -ENOENT when there is
 * none; -E2BIG when there are more than STORE_TRACE_ROWS; -EBADMSG and others when a piece cannot
 * be read. */
int snapshot_trace(const struct snapshot *s, struct trace_id id, struct event_set *set);
/* The same with another limit. */
int snapshot_trace_most(const struct snapshot *s, struct trace_id id, size_t most,
			struct event_set *set);

/* The same, but rows from segments may come without attributes, extras, units and sequence numbers:
 * what a summary needs is there. */
int snapshot_trace_bare(const struct snapshot *s, struct trace_id id, size_t most,
			struct event_set *set);

/* The whole trace in pages of at most SNAPSHOT_PAGE_ROWS rows of a segment (and of all rows a head
 * has), so that memory does not depend on the size of the trace.  Rows are good during the call;
 * anything but 0 from it ends the walk and is returned. */
#define SNAPSHOT_PAGE_ROWS 65536
typedef int snapshot_page_fn(void *context, const struct event_ref *refs, size_t n);
int snapshot_trace_pages(const struct snapshot *s, struct trace_id id, snapshot_page_fn *page,
			 void *context);

int snapshot_trace_pages_bare(const struct snapshot *s, struct trace_id id, snapshot_page_fn *page,
			      void *context);

/* Is nothing there that came as a begin and an end?  1, 0, or a negative errno. */
int snapshot_is_plain(const struct snapshot *s);

/* Has a head rows of it? */
bool snapshot_in_heads(const struct snapshot *s, struct trace_id id);

#endif
