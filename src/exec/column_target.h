/* exec/column_target.h - where rows of a query over columns go: groups, found the short way.
 *
 * What the shapes of a segment say of keys is looked up once for each of their keys; a key that
 * stands in a column, once for each code of the dictionary.  Of a series the same finds the series,
 * and a table its group at each step.  One thread. */
#ifndef CAUSET_EXEC_COLUMN_TARGET_H
#define CAUSET_EXEC_COLUMN_TARGET_H

#include "exec/column_shapes.h"
#include "exec/series.h"

struct row_target {
	const struct column_query *query;
	const struct series_steps *steps;
	struct grouping *groups;
	struct budget *budget;

	const struct column_shapes *shapes; /* of the segment at hand */
	uint32_t *key_rows; /* [key of settled shapes]: group, or series; or MAP_NONE */
	size_t key_row_capacity;
	/* Groups of shapes that lack a key, by the dictionary's code of it. */
	struct half {
		uint64_t key; /* half << 32 | code + 1, or 0: free */
		uint32_t group;
	} * halves;
	size_t half_n, half_capacity; /* a power of two */

	/* SERIES: groups by series and step. */
	struct grouping series; /* keys alone */
	uint32_t *cells;        /* [series][step]: group, or MAP_NONE */
	size_t cell_capacity, cell_n;
};

/* The query, the steps, the groups and the budget are borrowed. */
int row_target_init(struct row_target *t, const struct column_query *q,
		    const struct series_steps *steps, struct grouping *groups,
		    struct budget *budget);
void row_target_done(struct row_target *t);

/* Goes to another segment.  -ENOMEM. */
int row_target_follow(struct row_target *t, const struct column_shapes *shapes);

/* The group of these keys, and at this time if it is a series. */
int row_target_find(struct row_target *t, const struct value *keys, uint64_t time_ns,
		    uint32_t *ret_group);

/* The group, of a series its number, of a settled shape's key. */
int row_target_settled(struct row_target *t, uint32_t key, uint32_t *ret_group);

/* The same of a half settled one, whose missing key has this text of the dictionary; code
 * UINT32_MAX: it has none. */
int row_target_half(struct row_target *t, uint32_t half, uint32_t code, uint32_t *ret_group);

/* The group of a series at a time, which lies in one of the steps. */
int row_target_cell(struct row_target *t, uint32_t series, uint64_t time_ns, uint32_t *ret_group);

#endif
