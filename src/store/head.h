/* store/head.h - the newest batches, in memory: what the log has and no segment yet.
 *
 * A head takes batches from one thread until it is frozen; then it is written to a segment and let
 * go.  Readers hold a reference and a mark (store/runs.h), so what they see does not change under
 * them. */
#ifndef CAUSET_STORE_HEAD_H
#define CAUSET_STORE_HEAD_H

#include <pthread.h>

#include "store/id_set.h"
#include "store/manifest.h"
#include "store/runs.h"

struct head {
	_Atomic uint32_t refs;
	pthread_rwlock_t lock; /* runs_add() against runs_find() */
	struct runs runs;
	/* Of the batches in it; the adding thread's, and everybody's once it is frozen. */
	uint64_t seq_first, seq_last;
	int64_t received_min_ns, received_max_ns;
	int64_t born_ns; /* monotonic: when the first came */
	size_t bytes;    /* of its batches, as batch_bytes() says */
	size_t rows;
	size_t strings; /* of each batch, together: at least as many as its segment will have */
	/* How far the feed's cursors were when it was frozen: what the log said up to seq_last. */
	struct manifest_cursor *cursors;
	size_t cursor_n;

	/* store/joint.h: those of its first traces that lie elsewhere, too. */
	pthread_mutex_t joint_lock;
	struct id_set joint;
	uint32_t joint_looked; /* traces that have been looked up */

	/* Services of its first batches, counted as they are asked for (store/overview.c). */
	pthread_mutex_t services_lock;
	struct service_tally *services;
	uint32_t services_batches;
};

/* Empty, with one reference.  NULL when out of memory. */
struct head *head_new(void);
struct head *head_ref(struct head *h);
/* Frees with the last reference.  Accepts NULL, returns NULL. */
struct head *head_unref(struct head *h);

static inline bool head_is_empty(const struct head *h)
{
	return h->runs.batch_n == 0;
}

/* Adds a batch whose number is above those before; takes the reference on success.  `list` as for
 * runs_add().  -ENOMEM. */
int head_add(struct head *h, struct batch *batch, const struct run_list *list, uint64_t seq,
	     int64_t received_ns);

/* Appends the rows of a trace that the mark shows.  -ENOENT, -ENOMEM.  Any thread. */
int head_trace(struct head *h, struct runs_mark mark, struct trace_id id, struct event_set *set);

/* When the trace starts, as far as all of the head's rows say, whatever a mark shows of them;
 * INT64_MAX: there is none.  Any thread. */
int64_t head_start_ns(struct head *h, struct trace_id id);

/* Is there a row of it?  Any thread. */
bool head_has(struct head *h, struct runs_mark mark, struct trace_id id);

#endif
