/* exec/light_trace.h - a trace of plain spans as its columns have it: tree and shapes, nothing
 * else.
 *
 * Enough for spansets and for most happened-before joins, and many times cheaper than rows and a
 * model.  It answers what it can be certain of; anything else ends in -EAGAIN, and the trace is
 * then put together as usual.  Only spans that came whole, each once,
 * whose sampling nobody speaks of; no links, no native events. */
#ifndef CAUSET_EXEC_LIGHT_TRACE_H
#define CAUSET_EXEC_LIGHT_TRACE_H

#include "exec/trace_eval.h"
#include "exec/trace_prune.h"

#define LIGHT_ATTRS 16 /* keys of one query; what asks for more is not light */
#define LIGHT_TYPES 9  /* columns of one key: of different types */

/* Where the rows of the group at hand have their values of one key. */
struct light_attr {
	struct slice key;
	/* Whose `code` it is.  Tables may be read again, elsewhere; a segment stays. */
	const struct segment *segment;
	uint32_t code;  /* UINT32_MAX: the segment does not have it */
	bool empty;     /* it has it with no value, too, which stands in no column */
	uint64_t group; /* the one its columns were read of, light_trace.serial; 0: none */
	const struct group_column *columns[LIGHT_TYPES];
	uint32_t n;
	uint32_t *at; /* by row */
};

struct light_trace {
	struct trace_prune *prune; /* shapes of the segment, and what they decide */
	struct segment_group *group;
	uint64_t serial; /* of the group, from 1 */
	/* Times could not be read: whatever was made of this group is not to be believed. */
	int failed;
	const struct segment *segment;
	const struct segment_tables *tables;
	const uint32_t *codes;
	const struct group_piece *pieces; /* of the group */
	uint32_t piece;                   /* the trace at hand: only its rows have … */
	const uint64_t *ids, *parents;
	const uint64_t *times, *durations; /* … NULL until somebody asks */
	/* Names that are not the shape's: the column, NULL until somebody asks, and for each row of
	 * such a shape which value of it. */
	const struct group_column *names;
	uint32_t *name_at;
	struct light_attr attrs[LIGHT_ATTRS];
	uint32_t attr_n;
	/* Numbers of the segment's processes, by resource; NULL until somebody asks. */
	const struct segment *process_segment;
	uint32_t *processes;

	bool modelled; /* clocks are aligned, and blocks have times: light_plan_clocked() */
	bool self_known;
	/* Only blocks: parent, last, child_n, depth.  Modelled: their times and bits, too, and the
	 * edges of remote parents. */
	struct trace trace;
	struct trace_unit unit;
	uint32_t *rows; /* of each block */
	size_t block_capacity, row_capacity, edge_capacity;
	bool points; /* it has rows that are no spans, which were passed over */
};

void light_trace_done(struct light_trace *l);

/* Can the plan's operators do with it? */
bool light_plan(const struct plan_node *node);
/* Do they ask for something that depends on how clocks are aligned? */
bool light_plan_clocked(const struct plan_node *node);

/* A group comes next; trace_prune_group() was called.  Negative errno. */
int light_group(struct light_trace *l, struct trace_prune *prune, struct segment_group *g);

/* Takes up the trace of a piece: 0, -EAGAIN when it is not that plain, -ENOMEM. */
int light_set(struct light_trace *l, struct trace_at *at, const struct group_piece *piece);

/* As element_value_of() and its like; unknown things set at->env.failed to -EAGAIN. */
struct value light_value(struct trace_at *at, struct element el, const struct plan_expr *e);
uint64_t light_time(const struct trace_at *at, struct element el);
uint64_t light_id(const struct trace_at *at, struct element el);
struct slice light_host(struct trace_at *at, struct element el);

/* An attribute of the span in a row, nil when it has none.  -EAGAIN: only the row itself can tell;
 * -ENOMEM, -EBADMSG … */
int light_attr(struct light_trace *l, uint32_t row, struct slice key, struct arena *arena,
	       struct value *ret_value);
void light_attrs_done(struct light_trace *l);

/* Has times and durations of the trace; else l->failed. */
bool light_times(struct light_trace *l);

/* --- exec/light_order.c --- */

/* Numbers the processes of the segment at hand in the order their traces number them. */
int light_processes(struct light_trace *l);
/* What tells a span's unit from others of its process and parent. */
int light_thread(struct trace_at *at, uint32_t block, uint64_t *ret_thread);
/* Did the begin of block a happen before that of b?  1, 0; -EAGAIN, -ENOMEM.
 * *ret_clock: it did, and only a clock says so. */
int light_before(struct trace_at *at, uint32_t a, uint32_t b, bool *ret_clock);

/* Is the block in a set, as far as that is settled without looking at it?  1 yes, 0 no, -1: ask.
 * Sets, by the source or filter they are of, have numbers; -1: it has none. */
int light_set_number(const struct trace_at *at, const void *key);
int light_member(const struct trace_at *at, uint32_t block, int set);

#endif
