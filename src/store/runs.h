/* store/runs.h - which rows of which batches belong to a trace: the index of batches in memory.
 *
 * A run is a stretch of neighbouring rows of one batch that belong to one trace; the runs of a
 * trace form a chain in order of arrival:
 *
 *   traces[t] ──first──▶ runs[a] ──next──▶ runs[b] ──next──▶ none
 *                        batch 3, rows 0-9  batch 7, rows 40-41
 *
 * So the way in costs one look-up per trace of a batch, not per span, and no allocation; the runs
 * that one batch brings stand side by side (store/run_list.h).  One thread adds.  Other threads may
 * walk what a mark shows them without any lock, because nothing moves and nothing behind the mark
 * is looked at; only runs_find() must not run at the same time as runs_add(). */
#ifndef CAUSET_STORE_RUNS_H
#define CAUSET_STORE_RUNS_H

#include "base/map.h"
#include "store/run_list.h"
#include "store/store.h"

#define RUNS_CHUNKS 22 /* of 1024, 2048, 4096 … entries: 2^32 in all */

struct run {
	uint32_t batch, first, count;
	_Atomic uint32_t next; /* the trace's next run, or RUNS_NONE */
};

struct runs {
	void *batches[RUNS_CHUNKS], *traces[RUNS_CHUNKS], *runs[RUNS_CHUNKS];
	_Atomic uint32_t batch_n, trace_n, run_n;
	struct map by_id; /* trace id → trace */
	size_t bytes;     /* of the batches and of what finds them */
	uint64_t event_n, span_n;
	_Atomic int64_t start_min_ns; /* no trace starts before */
};

/* What there was at one moment.  A trace that a mark shows may have no run within it. */
struct runs_mark {
	uint32_t batches, traces, runs;
};

void runs_init(struct runs *r);
/* Lets go of the batches. */
void runs_done(struct runs *r);

/* Adds a sealed batch under its number; the reference is taken over on success.  `list` is what
 * run_list_new() said of it, or NULL: it is asked now.  -ENOMEM: nothing has changed. */
int runs_add(struct runs *r, struct batch *batch, const struct run_list *list, uint64_t seq);

/* How many bytes runs_add() would add to `bytes`. */
size_t runs_cost(const struct batch *batch);

struct runs_mark runs_mark(const struct runs *r);

/* The trace with this id, or RUNS_NONE. */
uint32_t runs_find(const struct runs *r, struct trace_id id);

struct trace_id runs_trace_id(const struct runs *r, uint32_t trace);

/* When the trace starts, of everything that was added, as searches will see it: store/summary.c.
 * Not while runs_add() runs. */
int64_t runs_start_ns(const struct runs *r, uint32_t trace);
/* Has it a block without a parent?  Likewise. */
bool runs_rooted(const struct runs *r, uint32_t trace);

/* The first run of a trace and the one behind a run; NULL when the mark shows no further. */
const struct run *runs_first(const struct runs *r, struct runs_mark mark, uint32_t trace);
const struct run *runs_next(const struct runs *r, struct runs_mark mark, const struct run *run);

/* Fetches what runs_first() looks at, for a call a while later. */
void runs_fetch(const struct runs *r, uint32_t trace);

struct batch *runs_batch(const struct runs *r, uint32_t batch); /* borrowed */
uint64_t runs_seq(const struct runs *r, uint32_t batch);

/* Adds the rows of a trace to a set.  False when out of memory. */
bool runs_events(const struct runs *r, struct runs_mark mark, uint32_t trace,
		 struct event_set *set);

#endif
