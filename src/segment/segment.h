/* segment/segment.h - immutable segments: rows in trace order, in columns.  Format:
 * docs/format/segment.md.
 *
 * A segment holds pieces of traces, ordered by their starts, cut into groups of rows; everything a
 * row repeats is in its shape (store/shape.h).  Groups are the unit of reading and depend on
 * nothing but the tables behind them, which are loaded when first asked for.
 *
 * What comes back is what went in, except: the time a batch was received (known for the segment as
 * a whole, segment_info; batches that come back have its received_min_ns), codes and indices, an
 * extra that says nothing, and the bytes of `unused` fields.  Rows of one trace
 * come back in the order they were added; rows whose owner or sender differ come in different
 * batches. */
#ifndef CAUSET_SEGMENT_SEGMENT_H
#define CAUSET_SEGMENT_SEGMENT_H

#include "base/error.h"
#include "model/event_set.h"

struct fs;
struct segment;
struct segment_writer;

#define SEGMENT_GROUP_ROWS 16384 /* at most so many rows in a group */

/* "seg-%016x.cst" */
#define SEGMENT_NAME_MAX 32
void segment_name(uint64_t number, char out[SEGMENT_NAME_MAX]);

struct segment_info {
	uint64_t number;
	uint32_t version;      /* of the format */
	uint64_t bytes;        /* of the file */
	uint64_t rows, blocks; /* rows of all types; SPAN and BEGIN rows */
	uint64_t errors;       /* rows with STATUS_ERROR */
	uint64_t pieces;       /* traces, or pieces of them: each trace id once */
	uint64_t split;        /* of them, listed as having pieces elsewhere */
	uint32_t groups, shapes, strings, resources, scopes;
	/* Starts of pieces, as summary.h computes them; only pieces with a time are counted, and
	 * both are 0 if there is none. */
	int64_t start_min_ns, start_max_ns;
	int64_t duration_max_ns;                  /* of a piece */
	int64_t received_min_ns, received_max_ns; /* of the batches the rows came in */
	uint64_t seq_first, seq_last;             /* as given to segment_writer_finish() */
};

/* --- writing: one thread --- */

struct segment_options {
	uint32_t group_rows; /* 0: SEGMENT_GROUP_ROWS */
	int level;           /* zstd's, 0: that of a new codec */
	uint32_t values; /* strings, shapes, …: at most so many of each; 0: 16 M, as readers do */
};

/* Begins a file under its final name plus ".tmp"; it gets its name, synced, at the end.  The
 * directory is the caller's to sync (the manifest does).  -ENOMEM, or what the file system says. */
int segment_writer_new(struct fs *fs, const char *dir, uint64_t number,
		       const struct segment_options *options, struct segment_writer **ret_writer);

/* Adds the rows of one trace, in arrival order, a span's points and links right behind it.  Pieces
 * come in the order of their starts (nothing breaks otherwise, but searches read more).  The same
 * trace may be continued by the next call: so a giant passes through in parts.  A trace that was
 * finished and comes again is -EINVAL at the end.  What another batch of the same call has said
 * before, word for word, is left out (model/event_unique.h).  References are taken to the batches
 * as long as they are needed.  After an error only abort is allowed. */
int segment_writer_add(struct segment_writer *w, const struct event_ref *refs, size_t n);

/* What is only known at the end. */
struct segment_seal {
	uint64_t seq_first, seq_last; /* of the batches in it */
	/* When rows come from other segments: what those said.  Both 0: as the batches say. */
	int64_t received_min_ns, received_max_ns;
	/* Traces of this segment that have, or may have, pieces in other segments: any order. */
	const struct trace_id *split;
	size_t split_n;
};

/* Writes what is left, syncs, renames.  Frees the writer, also on failure; then no file is left.
 * -E2BIG: more distinct strings, shapes or attributes of shapes than a segment may have (16 M
 * each): fewer rows must be put into one. */
int segment_writer_finish(struct segment_writer *w, const struct segment_seal *seal,
			  struct segment_info *ret_info);

/* Gives up: no file is left.  Accepts NULL, returns NULL. */
struct segment_writer *segment_writer_abort(struct segment_writer *w);

/* --- reading: any thread --- */

/* Reads the footer; tables are read when first needed and stay (segment_bytes()) until
 * segment_trim().  -ENOENT, -EBADMSG (the error names file and block), -EPROTONOSUPPORT for a
 * version from the future, -ENOMEM, or what reading said. */
int segment_open(struct fs *fs, const char *dir, uint64_t number, struct segment **ret_segment,
		 struct error *error);
struct segment *segment_ref(struct segment *s);
/* Closes with the last reference.  Accepts NULL, returns NULL. */
struct segment *segment_unref(struct segment *s);

static inline void segment_unrefp(struct segment **s)
{
	segment_unref(*s);
}

/* Groups that are kept go here.  Before anybody else sees the segment; takes a reference. */
struct group_cache;
void segment_set_cache(struct segment *s, struct group_cache *cache);

const struct segment_info *segment_info(const struct segment *s);

/* Bytes of memory its tables hold now. */
size_t segment_bytes(const struct segment *s);

/* When its tables or index were last asked for (core/clock.h, monotonic); 0: never. */
int64_t segment_used_ns(const struct segment *s);

/* Forgets tables that no reader is using at the moment; they are read again when needed. */
void segment_trim(struct segment *s);

/* The order of the trace index: ids sorted by it are looked up in passing. */
uint64_t segment_id_hash(struct trace_id id);

/* 0: not in here.  1: probably (wrong for one in some 250 ids that are not).  Only the index is
 * looked at.  Negative errno. */
int segment_may_have(struct segment *s, struct trace_id id);

/* The same for many ids: loads the index if need be and keeps it until segment_unpin(); then asks
 * by segment_id_hash(). */
int segment_pin_index(struct segment *s);
bool segment_index_has(const struct segment *s, uint64_t hash);

/* Groups in which the trace may begin, as far as the index says: how many, or a negative errno.
 * *at is 0 at first and moved on; as many as SEGMENT_CANDIDATES: there may be more.  One id in
 * 10^12 has, unless somebody chooses ids to that end. */
#define SEGMENT_CANDIDATES 8
int segment_candidates(struct segment *s, struct trace_id id, uint32_t *at,
		       uint32_t ret_groups[SEGMENT_CANDIDATES]);

/* 0 or 1, for certain: reads the group.  Negative errno. */
int segment_has(struct segment *s, struct trace_id id);

/* Is the trace on the segment's list of split ones?  0, 1, negative errno. */
int segment_is_split(struct segment *s, struct trace_id id);

/* The list of split traces, sorted by bytes; lives as long as the segment. */
int segment_split(struct segment *s, const struct trace_id **ret_ids, size_t *ret_n);

/* Appends the trace's rows.  -ENOENT when it is not here; the set is then unchanged. */
int segment_trace(struct segment *s, struct trace_id id, struct event_set *set);

/* For giants: at most `limit` rows from row `from` of the trace's piece on.  *ret_rows is how many
 * rows the piece has in all.  Nothing is appended when `from` is behind the last.  Memory does not
 * depend on the size of the trace. */
int segment_trace_page(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
		       struct event_set *set, uint64_t *ret_rows);

/* The same where it is in doubt whether the trace is here: the rest of a group is read when its ids
 * say so. */
int segment_trace_page_perhaps(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
			       struct event_set *set, uint64_t *ret_rows);

/* The same with rows as group_rows_bare() gives them. */
int segment_trace_page_bare(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
			    struct event_set *set, uint64_t *ret_rows);

/* --- checking --- */

/* Reads the whole file: every checksum, every column decoded, every invariant.  Each finding is
 * told to `report` (one sentence naming the block).  Returns 0 when sound, -EBADMSG after findings,
 * or another negative errno when it could not be read. */
int segment_check(struct fs *fs, const char *dir, uint64_t number,
		  void (*report)(void *context, const char *finding), void *context);

#endif
