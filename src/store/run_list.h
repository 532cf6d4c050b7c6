/* store/run_list.h - the traces of one batch and their runs, before they are in a head.
 *
 * A run is a stretch of neighbouring rows that belong to one trace.  Requests are sorted by
 * service, so a trace has a run for each of its services; they are brought together here, and the
 * one thread that adds looks for each trace once.
 *
 *   traces[t] ──first──▶ pieces[a] ──next──▶ pieces[b] ──next──▶ none
 *                        rows 0-9            rows 40-41
 */
#ifndef CAUSET_STORE_RUN_LIST_H
#define CAUSET_STORE_RUN_LIST_H

#include "core/wide.h"
#include "model/batch.h"

#define RUNS_NONE      UINT32_MAX
#define RUNS_MOST      ((uint32_t)1 << 31)
#define RUN_LIST_AHEAD 24 /* traces that are fetched before they are read */

struct run_piece {
	uint32_t first, count; /* rows */
	uint32_t next;         /* piece of the same trace, behind this one; or RUNS_NONE */
};

/* A trace; seldom the second entry of the same one, with the rest of its runs. */
struct run_trace {
	struct trace_id id;
	int64_t start_ns;     /* the earliest of its blocks; INT64_MAX: none has a time */
	uint32_t hash;        /* run_hash() with the process's seed */
	uint32_t first, last; /* pieces */
	bool rooted;          /* has a block without a parent */
};

struct run_list {
	uint64_t span_n;
	uint32_t n, trace_n;
	struct run_piece *pieces; /* n, in the order of their rows */
	struct run_trace traces[];
};

/* The runs of a batch, for free().  NULL when out of memory, or there are too many rows.  Any
 * thread: whoever made the batch still has it in its caches, and there are many who make them, but
 * one who adds. */
struct run_list *run_list_new(const struct batch *batch);

/* How many runs there are. */
size_t run_list_count(const struct batch *batch);

/* Fetches the beginning, for somebody who reads it soon: it comes from the caches of another core.
 */
static inline void run_list_fetch(const struct run_list *list)
{
	for (uint32_t i = 0; i < list->trace_n && i < RUN_LIST_AHEAD; i++)
		__builtin_prefetch(&list->traces[i]);
}

/* The half of a hash that a map asks for. */
static inline uint32_t run_hash(struct trace_id id, uint64_t seed)
{
	return (uint32_t)(wide_hash_bytes((const char *)id.b, sizeof(id.b), seed) >> 32);
}

/* Times of batches as the store counts them. */
static inline int64_t run_time(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

#endif
