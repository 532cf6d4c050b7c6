/* model/trace.h - the modelled trace: units, blocks, points and edges, built from events.
 *
 *   unit 1  ┌─ block A ──•point──────────────•──────────┐        a unit is a thread of work,
 *           │   ┌─ block B ───┐               ╲          │        a block a stretch of it,
 *           └───┴─────────────┴────────────────╲─────────┘        a point an instant in a block,
 *   unit 2                            ┌─ block C▼─┐               an edge says what caused what
 *                                     └───────────┘               across blocks and units
 *
 * A DAG, not a tree: every block has at most one parent (the tree people look at) and any number of
 * further causes (edges).  Built when somebody asks, from the rows of one trace, by trace_build().
 *
 * Invariants (trace_check() tests them all):
 *  - blocks lie in pre-order; siblings, and roots, by (adjusted begin, id, …), so a parent's index
 * is lower than its children's and block i's descendants are exactly i+1 … blocks[i].last;
 *  - points lie by block, in each block in order; those of no block at the end;
 *  - what was wrong with the input is marked on the element (enum trace_repair), and the row as it
 *    came can always be reached;
 *  - the same events in any order give the same trace (REPAIR_LATE looks at arrival times, which
 *    are part of the batches, not of the order).
 *
 * All memory lies in one arena; the batches the rows lie in are borrowed and must live longer.
 * One thread while it is built and while model/causality.h is asked; otherwise read only. */
#ifndef CAUSET_MODEL_TRACE_H
#define CAUSET_MODEL_TRACE_H

#include "base/arena.h"
#include "model/batch.h"

#define TRACE_NONE UINT32_MAX

/* More than this in one trace is refused with -E2BIG: positions have 30 bits. */
#define TRACE_MAX_EVENTS ((size_t)1 << 28)

/* Rows that came this long after everything else, and this long after what they tell, are late. */
#define TRACE_LATE_NS (60 * 1000000000LL)

/* Times are modelled as signed nanoseconds: up to the year 2262. */
#define TRACE_TIME_MAX INT64_MAX

/* What was repaired on an element; several may apply. */
enum trace_repair {
	REPAIR_MISSING_END = 1 << 0,   /* no end came: running, or lost */
	REPAIR_MISSING_BEGIN = 1 << 1, /* no begin came: its earliest row stands in for it */
	REPAIR_ORPHAN = 1 << 2,    /* names a parent (point: block, edge: end) that never came */
	REPAIR_CYCLE = 1 << 3,     /* closed a cycle of causes; cut here */
	REPAIR_DUPLICATE = 1 << 4, /* the very same row came again; counted once */
	REPAIR_CONFLICT = 1 << 5,  /* another row has this id and says something else */
	REPAIR_LATE = 1 << 6,      /* arrived long after the rest */
	REPAIR_END_BEFORE_BEGIN = 1 << 7, /* shown with the end at the begin */
	REPAIR_TIME_RANGE = 1 << 8,       /* a time of 0 or beyond 2262; a neighbour's is shown */
	REPAIR_CLOCK = 1 << 9,            /* times moved by its process's offset_ns */
	REPAIR_INFERRED = 1 << 10, /* nobody sent it: made from its client (causet.inferred) */
	REPAIR_BITS = 11
};

/* "missing end", … for one bit; NULL if it is none. */
const char *trace_repair_name(enum trace_repair bit);

/* An instant of the trace: the begin or end of a block, or a point. */
enum trace_pos_kind { POS_BEGIN, POS_END, POS_POINT };

struct trace_pos {
	uint32_t kind : 2;   /* enum trace_pos_kind */
	uint32_t index : 30; /* into blocks, or into points */
};

static inline struct trace_pos trace_pos(enum trace_pos_kind kind, uint32_t index)
{
	return (struct trace_pos){.kind = kind, .index = index};
}

static inline bool trace_pos_eq(struct trace_pos a, struct trace_pos b)
{
	return a.kind == b.kind && a.index == b.index;
}

/* One process, as far as resources tell them apart: it has one clock. */
struct trace_process {
	const struct batch *batch; /* a resource of it: */
	uint32_t resource;
	uint32_t blocks;   /* how many ran here, inferred ones not counted */
	int64_t offset_ns; /* added to raw times; 0 when nothing had to move */
	struct slice service, host;
	bool inferred; /* the unseen peer of a client */
};

/* What clock alignment found between two processes.  Raw times of `to` may be moved by anything in
 * [low_ns, high_ns], relative to `from`'s, without a receive before its send. */
struct trace_skew {
	uint32_t from, to; /* processes; from < to */
	uint32_t requests; /* edges that bound it from below and from above: */
	uint32_t responses;
	int64_t low_ns, high_ns; /* INT64_MIN, INT64_MAX: not bounded */
	int64_t applied_ns;      /* offset of `to` minus offset of `from` */
};

struct trace_unit {
	span_id_t id;    /* as sent; 0 for those made from spans */
	uint32_t parent; /* unit, or TRACE_NONE */
	uint32_t process;
	uint32_t blocks; /* how many */
	uint32_t row;    /* of its UNIT event: into rows; or TRACE_NONE */
	bool from_clock; /* made from spans: its order is read off the process's raw clock */
	uint16_t repairs;
};

enum trace_block_bits {
	BLOCK_RUNNING = 1 << 0,        /* no end yet; end_ns is the latest the trace knows of it */
	BLOCK_REMOTE_PARENT = 1 << 1,  /* the parent ran in another process */
	BLOCK_SHARED = 1 << 2,         /* server side of an id that its parent has too (Zipkin) */
	BLOCK_ERROR = 1 << 3,          /* status is error */
	BLOCK_IMPLIED = 1 << 4,        /* has neither begin nor end rows: only points told of it */
	BLOCK_IN_PARENT = 1 << 5,      /* its begin is before its parent's end (causality.h) */
	BLOCK_ENDS_IN_PARENT = 1 << 6, /* its end is before its parent's end (causality.h) */
	BLOCK_MESSAGE = 1 << 7,        /* remote parent, and nobody waits: a producer's message */
	BLOCK_NATIVE = 1 << 8,         /* came as begin/end events, not as a span */
};

struct trace_block {
	span_id_t id, parent_id;  /* as sent; inferred blocks have id 0 */
	int64_t begin_ns, end_ns; /* adjusted; end ≥ begin */
	int64_t self_ns;          /* own time that no child in the same causal flow covers */
	uint32_t row;             /* the SPAN or BEGIN: into rows.  Inferred: the client's */
	uint32_t end_row;         /* the SPAN or END; TRACE_NONE while running */
	uint32_t parent;          /* block, or TRACE_NONE: a root */
	uint32_t last;            /* last descendant; its own index without any */
	uint32_t unit, process;
	uint32_t depth; /* 0 for roots */
	uint32_t child_n;
	uint32_t point_first, point_n; /* in points */
	uint32_t inferred;             /* into inferred, or TRACE_NONE */
	uint32_t ends_in; /* highest ancestor whose end is after its own, by causality.h */
	uint16_t repairs; /* enum trace_repair */
	uint16_t bits;    /* enum trace_block_bits */
	int32_t kind;     /* enum span_kind */
};

/* POINT, LOG, and the instants of native events (SEND, ENQUEUE, LOCK_ACQUIRE, …): the row's type
 * says which.  Points made for an EDGE row's two ends share that row. */
struct trace_point {
	int64_t time_ns; /* adjusted */
	uint32_t row;    /* into rows */
	uint32_t block;  /* or TRACE_NONE: it names none that came */
	uint32_t unit;   /* where it happened; TRACE_NONE without a block */
	uint16_t repairs;
	uint16_t copies; /* how often the same row came, at most UINT16_MAX */
};

enum trace_edge_kind {
	EDGE_REQUEST,  /* RPC: client send → server receive */
	EDGE_RESPONSE, /* RPC: server send → client receive */
	EDGE_PARENT,   /* remote parent: begin → begin, and end → end */
	EDGE_MESSAGE,  /* send → receive, one way; producer → consumer */
	EDGE_LINK,     /* a span's link: linked begin → own begin */
	EDGE_FORK,
	EDGE_JOIN,
	EDGE_QUEUE, /* enqueue → dequeue, dequeue → complete */
	EDGE_LOCK,  /* release → the next acquire of the same lock */
	EDGE_OTHER, /* an EDGE row whose name we do not know: the row has it */
	EDGE_KINDS
};

const char *trace_edge_kind_name(enum trace_edge_kind kind);

struct trace_edge {
	struct trace_pos from, to;
	int64_t queued_ns; /* of its time, how long it lay in a queue at the receiver; 0: not said
			    */
	uint32_t row;      /* the EDGE, LINK or sending row; TRACE_NONE: made from a parent id */
	uint16_t repairs;  /* REPAIR_CYCLE: kept, but orders nothing */
	uint8_t kind;      /* enum trace_edge_kind */
	uint8_t unused;
};

/* A link to another trace, or an id of this one that never came. */
struct trace_link {
	uint32_t block; /* or TRACE_NONE */
	uint32_t row;
};

struct trace_counter {
	int64_t time_ns;
	uint32_t row;
	uint32_t block, unit; /* or TRACE_NONE */
	uint16_t repairs;
};

/* What an inferred block is called. */
struct trace_inferred {
	struct slice service, name; /* of the peer */
	struct slice key;           /* the attribute that told, "" if none did */
};

struct causality; /* model/causality.h */

struct trace {
	struct arena arena;
	struct trace_id id;

	const struct event_ref *rows; /* every distinct row the trace is made of */
	size_t row_n;
	struct trace_process *processes;
	size_t process_n;
	struct trace_unit *units;
	size_t unit_n;
	struct trace_block *blocks;
	size_t block_n;
	uint32_t *by_id; /* blocks sorted by (id, index): for trace_find() */
	struct trace_point *points;
	size_t point_n;
	struct trace_edge *edges; /* by (to's block, to, from, kind) */
	size_t edge_n;
	struct trace_link *links;
	size_t link_n;
	struct trace_counter *counters; /* by block, then time */
	size_t counter_n;
	struct trace_inferred *inferred;
	size_t inferred_n;
	struct trace_skew *skews;
	size_t skew_n;

	int64_t begin_ns, end_ns; /* of all blocks and points, adjusted; 0 when there are none */
	size_t roots, errors, running;
	size_t duplicates; /* rows that came again and were dropped */
	uint32_t repairs;  /* every bit set on any element */

	/* From tracestate `ot=th:…`: rejection threshold, 56 bits.  0 keeps everything. */
	bool threshold_known;
	uint64_t threshold;
	double probability; /* 1 when not known */

	struct causality *causality; /* made by the first question */
};

enum trace_build_flags {
	TRACE_RAW_CLOCKS = 1 << 0, /* do not align */
	TRACE_NO_INFER = 1 << 1,   /* no inferred blocks */
};

/* Builds the trace of these rows (all of one trace; the first's id is taken).  No rows give an
 * empty trace.  -ENOMEM, -E2BIG. */
int trace_build(const struct event_ref *refs, size_t n, unsigned flags, struct trace **ret_trace);

/* NULL-safe; returns NULL. */
struct trace *trace_free(struct trace *t);

static inline void trace_freep(struct trace **t)
{
	trace_free(*t);
}

/* Every invariant holds: for tests, fuzzers and debug builds. */
bool trace_check(const struct trace *t);

/* --- reading --- */

static inline const struct event *trace_row(const struct trace *t, uint32_t row)
{
	return event_get(t->rows[row]);
}

static inline struct event_place trace_row_place(const struct trace *t, uint32_t row)
{
	return event_place(t->rows[row]);
}

static inline const struct batch *trace_row_batch(const struct trace *t, uint32_t row)
{
	return t->rows[row].batch;
}

static inline struct slice trace_row_name(const struct trace *t, uint32_t row)
{
	return batch_text(trace_row_batch(t, row), trace_row(t, row)->name);
}

/* Name, service and host of a block; inferred blocks give the peer's. */
struct slice trace_block_name(const struct trace *t, uint32_t block);
struct slice trace_block_service(const struct trace *t, uint32_t block);
struct slice trace_block_host(const struct trace *t, uint32_t block);

/* Is `a` a proper ancestor of `b` in the tree?  O(1). */
static inline bool trace_is_ancestor(const struct trace *t, uint32_t a, uint32_t b)
{
	return a < b && b <= t->blocks[a].last;
}

/* Adjusted time of a position. */
static inline int64_t trace_pos_ns(const struct trace *t, struct trace_pos at)
{
	return at.kind == POS_BEGIN ? t->blocks[at.index].begin_ns
	       : at.kind == POS_END ? t->blocks[at.index].end_ns
				    : t->points[at.index].time_ns;
}

/* The block a position lies in; TRACE_NONE for a point of no block. */
static inline uint32_t trace_pos_block(const struct trace *t, struct trace_pos at)
{
	return at.kind == POS_POINT ? t->points[at.index].block : at.index;
}

/* How many edges lead into a block (its begin, end and points); they stand together in edges, the
 * first at *ret_first.  O(log n). */
size_t trace_edges_into(const struct trace *t, uint32_t block, size_t *ret_first);

/* The block with this id (the client side of a shared one), or TRACE_NONE.  O(log n). */
uint32_t trace_find(const struct trace *t, span_id_t id);

/* The trace as plain SPAN, POINT, LOG and LINK rows, for those that know only spans: begin and end
 * joined, raw times, identical rows once, inferred blocks left out.  The batch is sealed; the
 * caller unrefs it. */
int trace_to_batch(const struct trace *t, struct batch **ret_batch);

#endif
