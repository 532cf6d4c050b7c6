/* exec/column_shapes.h - what a query over columns knows of a segment before looking at its rows.
 *
 * Each shape is asked once: does it match (no, yes, or it depends on the row), which slots and
 * outputs does it settle, and what is a slot when the row itself says nothing.  Made by one thread,
 * read by all. */
#ifndef CAUSET_EXEC_COLUMN_SHAPES_H
#define CAUSET_EXEC_COLUMN_SHAPES_H

#include "exec/column_query.h"
#include "exec/expr.h"
#include "segment/group.h"

enum shape_verdict { SHAPE_NO, SHAPE_YES, SHAPE_ASK };

enum shape_settled { SHAPE_OPEN, SHAPE_SETTLED, SHAPE_HALF };

/* Where a slot's value stands when the shape does not know it. */
enum leaf_place {
	LEAF_SHAPE, /* every shape knows */
	LEAF_TIME,
	LEAF_END,
	LEAF_DURATION,
	LEAF_SPAN_ID,
	LEAF_PARENT_ID,
	LEAF_TRACE_ID,
	LEAF_ELEMENT,
	LEAF_COLUMN, /* columns of leaf_key */
};

#define NO_KEY        UINT32_MAX

#define SHAPE_WAYS    (1u << 30)       /* keys are fewer */
#define SHAPE_WAY_NO  UINT32_MAX       /* no row matches */
#define SHAPE_WAY_ASK (UINT32_MAX - 1) /* each row is asked */

struct column_filter;

struct column_shapes {
	struct segment *segment; /* pinned */
	const struct segment_tables *tables;
	const struct column_query *query;
	uint8_t *verdicts; /* [shape] enum shape_verdict */
	/* [shape]: keys are known, there is nothing to take apart, and nothing is left to ask. */
	uint8_t *settled; /* enum shape_settled */
	uint32_t *keys;   /* [shape] of a settled one: its group below */
	/* [shape]: all of that in one number, for the loop over the shapes of a group: the key of a
	 * settled one whose verdict is yes, SHAPE_WAYS + key of a half settled one, or one of
	 * below.  Both are NULL where nothing is grouped. */
	uint32_t *ways;
	struct grouping groups; /* keys of settled shapes: shapes are many, keys are few */
	/* Of shapes that lack one key, which stands in a column: the leaf, which key, the others.
	 */
	struct grouping halves;
	uint8_t place[COLUMN_SLOTS_MOST]; /* [leaf] enum leaf_place */
	uint32_t key[COLUMN_SLOTS_MOST];  /* [leaf] LEAF_COLUMN: string code, enum field_key */
	/* [leaf] LEAF_COLUMN: some have the key with no value, which stands in no column */
	bool empty[COLUMN_SLOTS_MOST];
	uint8_t *needed; /* [shape] drivers of the filter: exec/column_filter.h */
	uint8_t always;  /* drivers that all shapes need which may match */
	bool possible;   /* some shape may match */
	bool timeless;   /* some spans have no time */
	bool native;     /* begins and ends are events of their own */
	/* Something here is sampled, or may be: weights must be looked for. */
	bool weighted;
	/* Its totals are in the answer: no row is looked at.  Settled before rows are. */
	bool counted;
	struct arena arena;
};

/* `drivers` says what the filter looks for in columns. */
int column_shapes_new(const struct column_query *q, const struct column_filter *drivers,
		      struct segment *segment, struct column_shapes **ret_shapes);
/* Accepts NULL, returns NULL. */
struct column_shapes *column_shapes_free(struct column_shapes *s);

/* What the shape says of each leaf: `slots` of leaves (V_UNKNOWN: ask the row), and `absent` where
 * the row then says nothing.  Not kept for all shapes, which may be a million.  Lists lie in the
 * arena. */
void column_shapes_slots(const struct column_shapes *s, uint32_t shape, struct arena *arena,
			 struct value *slots, struct value *absent);

#endif
