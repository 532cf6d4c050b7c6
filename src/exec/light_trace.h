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

struct light_trace {
	struct trace_prune *prune; /* shapes of the segment, and what they decide */
	struct segment_group *group;
	const struct segment_tables *tables;
	const uint32_t *codes;
	const uint64_t *ids, *parents;
	const uint64_t *times, *durations; /* NULL until somebody asks */
	/* Names that are not the shape's: the column, NULL until somebody asks, and for each row of
	 * such a shape which value of it. */
	const struct group_column *names;
	uint32_t *name_at;

	struct trace trace; /* only blocks: parent, last, child_n, depth */
	uint32_t *rows;     /* of each block */
	size_t block_capacity, row_capacity;
	bool points; /* it has rows that are no spans, which were passed over */
};

void light_trace_done(struct light_trace *l);

/* Can the plan's operators do with it? */
bool light_plan(const struct plan_node *node);

/* A group comes next; trace_prune_group() was called.  Negative errno. */
int light_group(struct light_trace *l, struct trace_prune *prune, struct segment_group *g);

/* Takes up the trace of a piece: 0, -EAGAIN when it is not that plain, -ENOMEM. */
int light_set(struct light_trace *l, struct trace_at *at, const struct group_piece *piece);

/* As element_value_of() and its like; unknown things set at->env.failed to -EAGAIN. */
struct value light_value(struct trace_at *at, struct element el, const struct plan_expr *e);
uint64_t light_time(const struct trace_at *at, struct element el);
uint64_t light_id(const struct trace_at *at, struct element el);
struct slice light_host(struct trace_at *at, struct element el);
int light_before(const struct trace_at *at, struct element a, struct element b);

/* Is the block in the set of a source or filter, as far as its shape tells?  1 yes, 0 no, -1: ask.
 */
int light_member(const struct trace_at *at, uint32_t block, const void *key);

#endif
