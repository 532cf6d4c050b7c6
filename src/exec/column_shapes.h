/* exec/column_shapes.h - what a query over columns knows of a segment before looking at its rows.
 *
 * Each shape is asked once: does it match (no, yes, or it depends on the row), which slots and
 * outputs does it settle, and what is a slot when the row itself says nothing.  Made by one thread,
 * read by all. */
#ifndef CAUSET_EXEC_COLUMN_SHAPES_H
#define CAUSET_EXEC_COLUMN_SHAPES_H

#include "exec/column_query.h"
#include "exec/expr.h"
#include "store/group.h"

enum shape_verdict { SHAPE_NO, SHAPE_YES, SHAPE_ASK };

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

#define NO_KEY UINT32_MAX

struct column_shapes {
	struct segment *segment; /* pinned */
	const struct segment_tables *tables;
	uint32_t slot_n, leaf_n, output_n; /* as the query has them */
	uint8_t *verdicts;                 /* [shape] enum shape_verdict */
	/* [shape]: keys are known, there is nothing to take apart, and nothing is left to ask. */
	uint8_t *settled;
	struct value *slots;              /* [shape][slot_n]; V_UNKNOWN: ask the row */
	struct value *absent;             /* [shape][leaf_n]: where the row says nothing */
	struct value *outputs;            /* [shape][output_n]; V_UNKNOWN: evaluate */
	uint8_t place[COLUMN_SLOTS_MOST]; /* [leaf] enum leaf_place */
	uint32_t key[COLUMN_SLOTS_MOST];  /* [leaf] LEAF_COLUMN: string code, enum field_key */
	bool possible;                    /* some shape may match */
	/* Something here is sampled, or may be: weights must be looked for. */
	bool weighted;
	struct arena arena;
};

int column_shapes_new(const struct column_query *q, struct segment *segment,
		      struct column_shapes **ret_shapes);
/* Accepts NULL, returns NULL. */
struct column_shapes *column_shapes_free(struct column_shapes *s);

/* Native blocks are in it: begins and ends as events of their own. */
int segment_has_native(struct segment *segment);

#endif
