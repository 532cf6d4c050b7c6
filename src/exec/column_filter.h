/* exec/column_filter.h - which rows of a group may match, by looking through columns.
 *
 * A condition such as `span.a = "x"` cannot be true of a row that has no `a`: where the shape does
 * not know the value, the rows that may match are found by going through the column of `a`, whose
 * values are compared by code where they have one, and once each where texts repeat.  What is found
 * is a superset: each row is asked for the rest. */
#ifndef CAUSET_EXEC_COLUMN_FILTER_H
#define CAUSET_EXEC_COLUMN_FILTER_H

#include "exec/column_group.h"

#define COLUMN_DRIVERS_MOST 8

/* A part of the condition, all of which must be true, that compares one slot with a constant. */
struct column_driver {
	uint32_t leaf;
	const struct plan_expr *expr; /* over slots */
};

struct column_filter {
	const struct column_query *query;
	struct column_driver drivers[COLUMN_DRIVERS_MOST];
	uint32_t n;
	uint8_t *maybe; /* [row] of the group at hand: bit i for driver i */
	/* Values of a column that fit, as places in it. */
	uint32_t *found;
	size_t found_capacity;
	/* What became of asking the dictionary's texts, for each driver: 0 not asked, 1 no, 2 yes.
	 */
	uint8_t *asked[COLUMN_DRIVERS_MOST];
	uint32_t asked_n;
	const struct column_shapes *shapes; /* they are of */
	struct expr_env env;
	struct value slots[COLUMN_SLOTS_MOST];
};

/* Finds the drivers of the query's condition.  The memo and the arena are borrowed. */
void column_filter_init(struct column_filter *f, const struct column_query *q,
			struct expr_memo *memo, struct arena *arena);
void column_filter_done(struct column_filter *f);

/* Looks through the columns of the group. */
int column_filter_group(struct column_filter *f, struct column_group *g);

/* The rows that may match, if they are few: group.few, ascending, each once.  `always` has the
 * drivers that each of them must fit.  1 and the rows, perhaps none; 0 when they are more than
 * GROUP_FEW_ROWS, or cannot be found this way; negative errno. */
int column_filter_few(struct column_filter *f, struct column_group *g, uint8_t always);

/* May the row match, as far as the columns say?  Its shape's verdict is SHAPE_ASK. */
static inline bool column_filter_may(const struct column_filter *f, uint32_t row, uint8_t needed)
{
	return (f->maybe[row] & needed) == needed;
}

/* The drivers that a shape leaves to its columns, as bits: from what it says of the leaves. */
uint8_t column_filter_needed(const struct column_filter *f, const uint8_t *place,
			     const struct value *slots, const struct value *absent);

#endif
