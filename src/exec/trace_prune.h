/* exec/trace_prune.h - which traces of a segment cannot answer, without reading them.
 *
 * Every set of elements that a plan begins with (a source's predicate, a spanset's filter) is put
 * once to each shape of a segment: can a row of this shape be in it?  A trace whose shapes leave
 * out something the plan cannot do without is not looked at. */
#ifndef CAUSET_EXEC_TRACE_PRUNE_H
#define CAUSET_EXEC_TRACE_PRUNE_H

#include "exec/expr.h"
#include "exec/run.h"
#include "store/group.h"

#define PRUNE_SETS 64 /* of one plan; more are taken for possible */

/* What a row of a shape is to exec/light_trace.h. */
enum prune_plain { PLAIN_NOT, PLAIN_SPAN, PLAIN_POINT };

struct prune_set {
	const void *key; /* the source's node, or the filter's set */
	const struct plan_expr *predicate;
	enum plan_source kind;
	struct slice name;
};

struct trace_prune {
	struct query_at *run;
	const struct plan_node *node;
	bool off;
	bool about_spans; /* what the range is about */
	struct prune_set sets[PRUNE_SETS];
	uint32_t n;

	/* Of the segment at hand. */
	struct segment *segment;
	uint64_t *masks;   /* by shape: bit i is set when set i is possible */
	uint64_t *certain; /* … when every row of it is in the set */
	uint8_t *plain;    /* enum prune_plain */
	size_t mask_capacity, certain_capacity, plain_capacity;
	struct arena arena;
	struct expr_memo *memo;
	const uint32_t *codes; /* of the group's rows */
};

/* -ENOMEM. */
int trace_prune_init(struct trace_prune *p, struct query_at *run, const struct plan_node *node);
void trace_prune_done(struct trace_prune *p);

/* A group comes next. */
int trace_prune_group(struct trace_prune *p, struct segment_group *g);

/* What every row of a shape says; value_unknown() where they differ, or where it is not the shape
 * that says it. */
struct value prune_shape_value(const struct segment_tables *tables, const struct shape *shape,
			       struct slice tracepoint, const struct plan_expr *e,
			       struct arena *arena);

/* May the trace have tuples? */
bool trace_prune_possible(const struct trace_prune *p, const struct group_piece *piece);

#endif
