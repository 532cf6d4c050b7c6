/* exec/trace_prune.h - which traces of a segment cannot answer, without reading them.
 *
 * Every set of elements that a plan begins with (a source's predicate, a spanset's filter) is put
 * once to each shape of a segment: can a row of this shape be in it?  Where only the name is open,
 * it is put once to each name of a group, too.  A trace whose rows leave out something the plan
 * cannot do without is not looked at. */
#ifndef CAUSET_EXEC_TRACE_PRUNE_H
#define CAUSET_EXEC_TRACE_PRUNE_H

#include "exec/expr.h"
#include "exec/run.h"
#include "segment/group.h"

#define PRUNE_SETS     16  /* of one plan; more are taken for possible */
#define PRUNE_PARTS    8   /* of a predicate; one with more is taken as a whole */
#define PRUNE_NAMES    256 /* powers of two: verdicts that are remembered */
#define PRUNE_VERDICTS 64

typedef uint16_t prune_mask; /* a bit for each set */

/* What a row of a shape is to exec/light_trace.h. */
enum prune_plain { PLAIN_NOT, PLAIN_SPAN, PLAIN_POINT };

struct prune_set {
	const void *key; /* the source's node, or the filter's set */
	const struct plan_expr *predicate;
	enum plan_source kind;
	struct slice name;
	/* Parts of the predicate that must all be true: first those about nothing but the name. */
	const struct plan_expr *parts[PRUNE_PARTS];
	uint32_t part_n, name_n;
};

/* Of the rows of a shape. */
struct prune_shape {
	prune_mask may;   /* bit i is set when they may be in set i, … */
	prune_mask is;    /* … when every one of them is, … */
	prune_mask named; /* … when it is the name that decides */
	uint8_t plain;    /* enum prune_plain */
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
	struct prune_shape *shapes;
	size_t shape_capacity;
	struct arena arena;
	struct expr_memo *memo;

	/* Of the group at hand. */
	const uint32_t *codes; /* of its rows: shapes */
	prune_mask *may, *is;  /* by row: bit i is set when it may be, when it is, in set i */
	struct prune_name {
		uint64_t key; /* of what, from 1, and the text's code */
		prune_mask may, is;
	} names[PRUNE_NAMES];
	uint64_t serial,
		segment_serial; /* of the group, whose texts they are, and of the segment */

	/* May a trace whose rows may be in these sets have tuples? */
	struct prune_verdict {
		prune_mask mask;
		bool known, may;
	} verdicts[PRUNE_VERDICTS];
};

/* -ENOMEM. */
int trace_prune_init(struct trace_prune *p, struct query_at *run, const struct plan_node *node);
void trace_prune_done(struct trace_prune *p);

/* May a trace of the segment have spans in the range, one of the group? */
bool trace_prune_segment(const struct trace_prune *p, const struct segment *segment);
bool trace_prune_zone(const struct trace_prune *p, const struct group_zone *zone);

/* A group comes next. */
int trace_prune_group(struct trace_prune *p, struct segment_group *g);

/* May the trace have tuples? */
bool trace_prune_possible(struct trace_prune *p, const struct group_piece *piece);

#endif
