/* store/engine.h - the durable engine: a log, a head in memory, and immutable segments on disk.
 *
 *   append ─▶ log (store/wal.h) ─▶ head (store/head.h) ─flush─▶ segments (segment/segment.h)
 *                  acknowledged         at once queryable           └─▶ compaction, retention
 *
 * How the parts keep each other's promises: docs/design/store.md. */
#ifndef CAUSET_STORE_ENGINE_H
#define CAUSET_STORE_ENGINE_H

#include "base/error.h"
#include "base/fs.h"
#include "store/store.h"
#include "store/thin.h"
#include "store/wal.h"

struct engine_options {
	struct fs *fs;   /* NULL: fs_real() */
	const char *dir; /* made if missing; its parent must be there */

	enum wal_sync sync;
	int64_t sync_interval_ns;
	uint64_t wal_file_bytes; /* 0: WAL_FILE_BYTES */
	int64_t dedup_ns;        /* how long hashes of request bodies are remembered */

	size_t memory_bytes; /* of batches in heads; over it, appends get -ENOBUFS.  0: 1 GiB */
	size_t flush_bytes;  /* of a head that is flushed when the way in is calm; 0: 8 MiB */
	/* Of a head that is flushed when no other is, if it has so many rows, too; 0: 12 ×
	 * flush_bytes, but not more than flush_bytes_most; what compaction leaves alone. */
	size_t flush_bytes_soon, flush_rows_soon;
	size_t flush_bytes_most; /* of a head that is flushed in any case; 0: 32 × flush_bytes */
	size_t flush_strings;    /* distinct strings of its batches, together, with which a head is
				  * flushed    as well; 0: 4 Mi */
	uint32_t segment_values; /* strings, shapes, … that a merged segment may have; 0: 16 Mi */
	int64_t flush_interval_ns; /* a head that old is flushed however small; 0: 5 minutes */

	int64_t retention_age_ns; /* since a segment's last batch was received; 0: for ever */
	uint64_t retention_bytes; /* of segments; the oldest go first; 0: no limit */

	uint64_t compact_rate; /* bytes of input per second; 0: 32 MiB */

	/* No threads of its own: nothing is flushed, compacted or removed but by the calls below.
	 */
	bool manual;

	/* Reads what is there and changes nothing in the folder, on which a server may be running:
	 * everything that was acknowledged when opening began is there, and what comes later is
	 * not.  Appends get -EROFS.  Implies `manual`. */
	bool read_only;

	/* Told what was found wrong and what was done about it, one sentence each; also later, from
	 * background threads.  May be NULL. */
	void (*report)(void *context, const char *text);
	void *context;
};

/* Opens or makes a store and recovers what a crash has left.  The error says what to do. */
int engine_open(const struct engine_options *options, struct store **ret_store,
		struct error *error);

/* What stays of old traces from now on, on a store that engine_open() made: applied when segments
 * are compacted, which happens for this alone if need be.  Copied; NULL: everything stays.  Any
 * thread.  -EINVAL with the reason, -ENOMEM. */
int engine_set_thinning(struct store *s, const struct thin_rules *rules, struct error *error);

/* --- for tests, tools and benchmarks: on a store that engine_open() made --- */

/* Writes everything that is in memory to segments.  0, or the first failure. */
int engine_flush(struct store *s);

/* Merges until nothing is left that is worth merging.  With `all`, into as few segments as the
 * limits of one allow.  0, or the first failure. */
int engine_compact(struct store *s, bool all);

/* The same, one merge: 1, or 0 when nothing was left to do. */
int engine_compact_once(struct store *s, bool all);

/* Removes what retention no longer keeps.  How many segments, or a negative errno. */
int engine_retain(struct store *s);

/* Does all of this as an idle store would: nothing is left to do afterwards. */
int engine_settle(struct store *s);

/* Visits every trace once, as it is at this moment; memory does not depend on how many there are.
 * A trace comes whole unless it is very large; `more`: the next call goes on with it.  Rows are the
 * callback's while it runs. Anything but 0 from it ends the walk and is returned. */
int engine_each_trace(struct store *s,
		      int (*each)(void *context, struct trace_id id, const struct event_ref *refs,
				  size_t n, bool more),
		      void *context);

#endif
