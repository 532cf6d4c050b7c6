/* store/engine_int.h - the inside of the durable engine.
 *
 * Locks, in the order in which they may be taken:
 *   merges  one compaction, or one round of retention, at a time.  Held across I/O
 *   files   one change of the manifest at a time.  Held across I/O, by background work only
 *   lock    the current view and the counters below it.  Never held across I/O */
#ifndef CAUSET_STORE_ENGINE_INT_H
#define CAUSET_STORE_ENGINE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/engine.h"
#include "store/store_int.h"
#include "store/thinning.h"
#include "store/view.h"

/* Only ever added to.  Any thread. */
struct engine_counters {
	_Atomic uint64_t flushes, flush_failures, flushed_rows, flushed_bytes;
	_Atomic uint64_t compactions, compaction_failures, compacted_rows, compacted_bytes;
	_Atomic uint64_t removed_segments, removed_rows, removed_bytes;
	_Atomic uint64_t damaged;
	_Atomic uint64_t thinned[THIN_FATES];
	_Atomic uint64_t refused[STORE_REFUSALS];
};

struct background;

struct engine {
	struct store store;
	struct engine_options options; /* with defaults filled in */
	struct fs *fs;
	char *dir;
	struct wal *wal; /* NULL until recovery is over, and where nothing may be changed */
	struct engine_counters counters;
	_Atomic size_t memory;  /* bytes of batches in heads and on their way there */
	_Atomic size_t strings; /* of the active head; those on their way are in none yet */
	/* ns a byte of a head that becomes a segment, lately; 0: not known (store/pace.h). */
	_Atomic double flush_pace;
	struct background *background;
	struct group_cache *groups; /* of all segments */

	pthread_mutex_t merges;
	pthread_mutex_t files;
	struct manifest manifest; /* as on disk; its cursors are those of the last flush */
	uint64_t *orphans;        /* numbers of segments to remove after the next good save */
	size_t orphan_n, orphan_capacity;
	struct id_filter *filter; /* that takes the next segment's traces, or NULL */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* a head was frozen, or flushed, or we are stopping */
	struct view *view;
	struct manifest cursors;   /* only its cursors: as of now */
	uint64_t last_seq;         /* settled */
	int64_t last_append_ns;    /* monotonic */
	struct thinning *thinning; /* or NULL: nothing is thinned */
};

static inline struct engine *engine_of(struct store *s)
{
	return (struct engine *)(void *)s;
}

/* A snapshot for a reader; snapshot_done(). */
void engine_snapshot(struct engine *e, struct snapshot *ret_snapshot);

/* The view of now; view_unref().  Its segments stay the store's while `files` is held. */
struct view *engine_view(struct engine *e);

/* segment_open() of a segment of this store. */
int engine_open_segment(struct engine *e, uint64_t number, struct segment **ret_segment,
			struct error *error);

/* The rules of now; thinning_unref(). */
struct thinning *engine_thinning(struct engine *e);

/* Tells the owner what was found. */
void engine_report(struct engine *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Freezes the active head if it has anything in it and there is room for another.  With the lock
 * held.  The old view is given back to be let go outside of the lock; NULL when nothing was done.
 */
struct view *engine_rotate(struct engine *e);

/* Takes a request, or refuses it (engine_append.c). */
void engine_append(struct store *s, struct store_append *append);

/* Opens the log, and puts into heads what it holds. */
int engine_open_log(struct engine *e, struct error *error);

/* What a change does to the store.  All of it or nothing. */
struct engine_change {
	struct view_segment *add; /* or NULL; a reference is taken on success */
	const uint64_t *remove;   /* numbers of segments */
	size_t remove_n;
	struct head *flushed; /* all of it is in `add`: it leaves the view.  Or NULL */
	/* Without a head: everything up to this number is in the segments, and these are the
	 * cursors then.  0: as before. */
	uint64_t flushed_seq;
	const struct manifest_cursor *cursors;
	size_t cursor_n;
};

/* Makes a change durable and visible: the manifest first, then the view, then files that nobody
 * names are removed.  With `files` held.  After a failure everything is as before; a file that was
 * to be added is removed later, as the manifest on disk may be the new one. */
int engine_change(struct engine *e, const struct engine_change *change);

/* Removes the files of a segment that no manifest was ever to name. */
void engine_discard(struct engine *e, uint64_t number);

/* After a change of which nobody knows whether it came to be: makes the manifest certain again and
 * removes what it does not name.  With `files` held. */
int engine_tidy(struct engine *e);

/* A number for a new segment.  With `files` held. */
uint64_t engine_number(struct engine *e);

/* Reads the manifest, opens segments, removes leftovers, replays the log: engine_open()'s work. */
int engine_recover(struct engine *e, struct error *error);

/* The same for a folder that must not be changed, log and all. */
int engine_read(struct engine *e, struct error *error);

#endif
