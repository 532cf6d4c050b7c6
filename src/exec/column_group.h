/* exec/column_group.h - slots of the rows of one group, from the columns they need and no others.
 *
 * One thread.  Columns are read when a slot first asks for them. */
#ifndef CAUSET_EXEC_COLUMN_GROUP_H
#define CAUSET_EXEC_COLUMN_GROUP_H

#include "exec/column_shapes.h"
#include "exec/weight.h"

#define LEAF_TYPES 8 /* columns of one key: of different types */

/* Types that columns of attributes have. */
#define LEAF_TYPES_ALL 7
static const uint8_t leaf_types[LEAF_TYPES_ALL] = {
	VALUE_STRING, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE, VALUE_BYTES, VALUE_ARRAY, VALUE_KVLIST};

/* Where the rows have their values of one key. */
struct leaf_column {
	bool loaded, placed;
	uint32_t n;
	const struct group_column *columns[LEAF_TYPES];
	uint32_t *at; /* [row]: which column, which value; or one of those below; once placed */
};

#define LEAF_NOWHERE UINT32_MAX
#define LEAF_TWICE   (UINT32_MAX - 1) /* the key stands there several times */
#define LEAF_SHIFT   28               /* column << LEAF_SHIFT | value */

struct column_group {
	const struct column_query *query;
	const struct column_shapes *shapes;
	struct segment_group *group;
	uint64_t serial; /* of this group among all: traces are numbered by it */
	uint32_t row_n;
	const uint32_t *indices; /* [row] into the zone's shapes; column_group_indices() */
	const uint32_t *codes;   /* [index]: the segment's shape */
	const uint64_t *times, *durations, *ids, *parents;
	const struct group_piece *pieces;
	const uint32_t *firsts; /* [piece_n + 1] first rows */
	uint32_t piece_n;
	struct leaf_column leaves[COLUMN_SLOTS_MOST];
	const double *weights; /* [piece]; NULL: all are 1 */
	double *weight_room;
	size_t weight_capacity;
	/* Of this group few rows are looked at, and these alone are read. */
	uint32_t few[GROUP_FEW_ROWS];
	uint32_t few_n; /* 0: any row may be */
	/* One of their values of this leaf is this text; COLUMN_SLOTS_MOST: nothing is known. */
	uint32_t few_leaf;
	struct slice few_text;
	struct event_set one; /* a row that is looked at as a whole */
	uint32_t one_row;     /* which, or UINT32_MAX */
	struct arena *arena;  /* texts that are made; the caller clears it */
	/* What the shape of the last row says. */
	struct value known[COLUMN_SLOTS_MOST], absent[COLUMN_SLOTS_MOST];
	struct arena shape_arena;
	uint32_t piece_at; /* where the last row was */
};

/* Goes to another group.  -ENOMEM, -EBADMSG …: as segment/group.h. */
int column_group_open(struct column_group *g, const struct column_shapes *shapes,
		      struct segment_group *group, uint64_t serial);
void column_group_done(struct column_group *g);

/* Shapes of rows. */
int column_group_indices(struct column_group *g);

static inline uint32_t column_group_shape(const struct column_group *g, uint32_t row)
{
	return g->codes[g->indices[row]];
}

int column_group_times(struct column_group *g);
int column_group_durations(struct column_group *g);
int column_group_ids(struct column_group *g);

/* The columns of a leaf of place LEAF_COLUMN; `at` is not filled. */
int column_group_columns(struct column_group *g, uint32_t leaf, struct leaf_column **ret_column);

/* The same, and where the rows have their values. */
int column_group_leaf(struct column_group *g, uint32_t leaf, struct leaf_column **ret_column);

/* Fills what the shape left unknown: slots has room for all slots of the query; those of leaves are
 * written. */
int column_group_slots(struct column_group *g, uint32_t row, struct value *slots);

/* Piece of a row; rows are best asked for in order. */
int column_group_piece(struct column_group *g, uint32_t row, uint32_t *ret_piece);

/* Looks up what the traces of the group weigh, if anything here is sampled, or the query looks at a
 * sample of this threshold. */
int column_group_weigh(struct column_group *g, uint64_t threshold);

/* A row's sample; `timed`: with its time and id. */
int column_group_sample(struct column_group *g, uint32_t row, bool timed,
			struct sample *ret_sample);

/* Does the row's shape say that it has an end?  Where not, its duration in the column is 0. */
static inline bool column_group_ended(const struct column_group *g, uint32_t row)
{
	return tables_shapes(g->shapes->tables)->rows[column_group_shape(g, row)].has_end;
}

/* A span's duration from the columns, which must have been read, or -1 while it is running. */
static inline int64_t row_duration(const struct column_group *g, uint32_t row)
{
	uint64_t time_ns = g->times[row], duration_ns = g->durations[row];
	uint64_t end = time_ns + duration_ns;

	if (time_ns == 0 || time_ns > INT64_MAX || end == 0 || end > INT64_MAX)
		return -1;
	if (duration_ns == 0 && !column_group_ended(g, row)) /* few are asked */
		return -1;
	return (int64_t)duration_ns > 0 ? (int64_t)duration_ns : 0;
}

#endif
