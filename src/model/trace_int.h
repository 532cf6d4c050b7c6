/* model/trace_int.h - the builder's workbench: what its steps hand to each other.
 *
 *   trace_rows.c      rows in canonical order, the same row once      (processes: trace_process.c)
 *   trace_blocks.c    rows of one id → blocks, points, counters
 *   trace_edges.c     instants that belong together → edges
 *   trace_parents.c   who is whose child; shared ids, orphans, cycles
 *   infer_peer.c      servers nobody saw
 *   clock_align.c     offsets of the processes' clocks
 *   trace_order.c     pre-order, times, points by block, the final arrays
 *   trace_units.c     execution units
 *
 * Until trace_order.c has run, blocks stand in canonical order (those of one id together), points
 * as their rows do, and times are raw, TIME_UNKNOWN where none was said. */
#ifndef CAUSET_MODEL_TRACE_INT_H
#define CAUSET_MODEL_TRACE_INT_H

#include "base/map.h"
#include "model/self_time.h"
#include "model/trace.h"

#define TIME_UNKNOWN INT64_MIN

/* Of blocks with one id, at most this many are looked at to find the one of a process. */
#define SAME_ID_SEARCH_MAX 64

/* Bits of blocks that only the builder uses. */
#define BLOCK_HAS_REQUEST (1 << 14) /* an edge of its own brought it to life */
#define BLOCK_HAS_PEER    (1 << 15) /* the other side of this client was seen */

/* What the steps ask of every row, beside the rows: a look at the events themselves may each cost a
 * cache miss. */
struct row_info {
	span_id_t id;    /* the event's id1 */
	uint64_t thread; /* what its thread.id says; 0 without one */
	uint32_t process;
	uint16_t repairs; /* REPAIR_DUPLICATE, REPAIR_LATE */
	uint16_t copies;
	uint8_t type; /* enum event_type */
};

struct pending_link {
	uint32_t row, block;
};

struct build {
	struct trace *t;
	unsigned flags;

	struct row_info *info; /* of t->rows */
	bool has_state;        /* some row has a tracestate */
	struct event_ref *rows;

	struct trace_block *blocks; /* there is room for inferred ones */
	struct map ids;             /* block id → first block with it; the others follow */

	struct pending_link *links;
	size_t link_n;

	struct trace_edge *edges; /* explicit ones, malloc'd */
	size_t edge_n, edge_capacity;
};

/* A raw time, or TIME_UNKNOWN for what was not said or lies beyond 2262. */
static inline int64_t raw_time(uint64_t ns)
{
	return ns == 0 || ns > (uint64_t)INT64_MAX ? TIME_UNKNOWN : (int64_t)ns;
}

static inline bool kind_calls(int32_t kind)
{
	return kind == KIND_CLIENT || kind == KIND_PRODUCER;
}

static inline bool kind_serves(int32_t kind)
{
	return kind == KIND_SERVER || kind == KIND_CONSUMER;
}

int build_rows(struct build *b, const struct event_ref *refs, size_t n);

/* The process of every ref, in canonical numbers, and t->processes. */
int build_processes(struct build *b, const struct event_ref *refs, size_t n, uint32_t *process);

int build_blocks(struct build *b);

/* The block with this id: the one of `process` if there is such, else the downstream side of a
 * shared id (TRACE_NONE as process: the upstream side); TRACE_NONE if the id never came. */
uint32_t build_find(const struct build *b, span_id_t id, uint32_t process);

int build_edges(struct build *b);
int build_parents(struct build *b);
int build_peers(struct build *b);
int build_order(struct build *b);
int build_units(struct build *b);

/* Sets BLOCK_REMOTE_PARENT, BLOCK_MESSAGE, BLOCK_IN_PARENT and BLOCK_ENDS_IN_PARENT from raw
 * times. */
void build_parent_bits(struct build *b);

/* Fills process offsets and t->skews. */
int build_clocks(struct build *b);

/* Marks the explicit edges that close cycles (model/causality.c). */
int trace_mark_cycles(struct trace *t);

#endif
