/* segment/group_writer.h - rows become the blocks of a group.
 *
 * Rows are gathered piece by piece; closing the group finds out how each row's plain fields are
 * kept (group_links.c), which shape it has (group_shapes.c), and writes the blocks
 * (group_writer.c). Inside the store; one thread. */
#ifndef CAUSET_SEGMENT_GROUP_WRITER_H
#define CAUSET_SEGMENT_GROUP_WRITER_H

#include "base/arena.h"
#include "base/radix.h"
#include "segment/key_lists.h"
#include "segment/row_marks.h"
#include "segment/segment_dictionary.h"
#include "segment/shape_table.h"
#include "segment/text_column.h"
#include "segment/totals.h"

#define GUESS_BITS 12
#define GUESSES    (1u << GUESS_BITS)
/* Rows of a segment's first group, at most: they go in two steps and cost more than others, and
 * more of them tell no more. */
#define FIRST_ROWS 8192

struct group_row {
	const struct event *e;
	uint32_t remap;
	uint32_t form;     /* enum row_form */
	uint32_t skeleton; /* then its shape */
};

struct piece_row {
	struct trace_id id;
	uint32_t first, rows;
	int64_t start_ns, duration_ns;
	bool continues; /* began in an earlier group */
};

/* Numbers of one block, while the group is written. */
struct stage {
	uint64_t *v;
	size_t n;
};

/* What a reader learns of the group before opening it. */
struct zone_row {
	uint64_t offset, bytes, hot_bytes;
	uint64_t directory_checksum;
	uint32_t directory_bytes;
	uint32_t rows, pieces, first_rows, last_rows;
	int64_t start_min_ns, start_max_ns, duration_max_ns;
	uint32_t errors;
	uint64_t blocks; /* rows that are blocks; not written */
	bool continues, continued;
	size_t shape_first; /* into group_writer.zone_shapes */
	uint32_t shape_n;
};

/* A row that is to be counted. */
struct counted {
	uint32_t number; /* of spans like it: totals_number() */
	uint16_t place;  /* of the duration */
	bool error;
	int64_t duration_ns; /* -1: it has none */
};

/* Rows on their way into the totals: taken, what they are counted in is being fetched, counted. */
#define COUNTED_MOST 64 /* a power of two */

struct counting {
	struct counted rows[COUNTED_MOST];
	uint32_t taken, fetched, counted; /* so many, in all */
};

/* How rows of a skeleton are compared with its shapes (shape_memo.c). */
#define PLAN_VARY 6 /* fields in which shapes differ that are looked at */

struct plan_step {
	uint16_t attr;
	uint16_t value; /* of the shape's, if the field is FIXED */
};

struct shape_plan {
	size_t first;        /* value of its first shape */
	uint32_t step_first; /* texts, numbers, bools, then VAR fields */
	uint16_t texts, numbers, bools, vars;
	uint32_t attrs;
	uint16_t vary[PLAN_VARY]; /* attributes in which shapes differ from the first one */
	uint8_t vary_n;
	bool made, usable, has_first;
};

struct memo_slot {
	uint32_t shape; /* + 1; 0: free */
	uint32_t skeleton;
	uint64_t values : 63;
	uint64_t has_empty : 1; /* some FIXED text of it is empty */
};

struct shape_memo {
	struct memo_slot *slots;
	struct shape_plan *plans; /* by skeleton */
	size_t plan_n, plan_capacity;
	struct plan_step *steps;
	size_t step_n, step_capacity;
};

struct group_writer {
	uint32_t most_rows;
	struct column_codec *codec;
	struct column_hints hints[BLOCKS]; /* of the blocks before the values */
	struct column_models_out models;
	struct column_learner *learners[BLOCKS]; /* of the blocks by shape */
	struct dictionary dictionary;
	struct shape_table shapes;
	struct totals totals;
	struct counting counting;
	struct shape_memo memo;
	struct uuid_table uuids;
	struct text_encoder text;
	struct arena arena; /* packed values of the group */
	bool loose;         /* rows have random sets of keys: unknown skeletons are LOOSE at once */
	bool at_once;       /* behind the first group: shapes are found as rows come */
	uint32_t new_skeletons; /* in this group */
	uint32_t exact_hits;    /* rows of this group whose skeleton was known */
	bool few_hits;          /* in the group before */

	/* The rows gathered. */
	struct group_row *rows;
	uint32_t row_n;
	bool placed;     /* some are of a batch with places */
	uint32_t shaped; /* the shapes of so many are known, behind the first group */
	struct piece_row *pieces;
	uint32_t piece_n;
	size_t weight;  /* bytes of text that they hold at most */
	uint32_t group; /* number of the group, + 1 */

	/* Filled by group_links(). */
	struct stage times, point_times, durations, id1, id1_back, parents, id2, units, seqs;
	uint32_t *row_of_id; /* hash slots: row + 1 */
	int32_t *child;
	uint64_t blocks, errors;

	/* Filled by group_shapes(). */
	uint32_t *codes;
	size_t loose_n; /* LOOSE attributes */
	bool by_list;   /* rows say which list of them they have; else each says its column */
	struct key_lists lists;
	uint32_t *row_lists; /* of the rows that have some */
	uint32_t row_list_n;
	uint32_t *seen_lists; /* in this group */
	size_t seen_list_n, seen_list_capacity;
	uint32_t *loose_codes;
	size_t loose_capacity;
	uint32_t *column_of_key; /* for LOOSE texts of blocks: column + 1 */
	size_t column_of_key_n, column_of_key_capacity;
	size_t known_strings; /* in the dictionary when the group began */
	uint32_t *words;      /* of a row */
	uint64_t *values;
	size_t word_capacity, value_capacity;
	uint32_t *touched; /* columns with values in this group */
	size_t touched_n, touched_capacity;
	uint32_t *seen; /* skeletons in this group */
	size_t seen_n, seen_capacity;
	uint32_t *seen_shapes;
	size_t seen_shape_n, seen_shape_capacity;
	/* GUESSES skeletons + 1, by what their rows look like: with keys, and without. */
	uint32_t *guesses, *loose_guesses;
	struct loose_slot *loose_memo; /* segment/loose_memo.h; NULL: none yet */
	struct buffer packed;
	struct radix_item *order, *spare;
	uint64_t *idents; /* of shape_settle() */
	size_t ident_capacity;

	/* The group written. */
	struct buffer directory, blocks_out;
	uint32_t block_n;
	struct zone_row *zones;
	size_t zone_n, zone_capacity;
	uint32_t *zone_shapes;
	size_t zone_shape_n, zone_shape_capacity;
};

/* How many rows the group may have. */
static inline uint32_t group_room(const struct group_writer *g)
{
	return g->at_once || g->most_rows < FIRST_ROWS ? g->most_rows : FIRST_ROWS;
}

int group_writer_init(struct group_writer *g, const struct segment_options *options);
void group_writer_done(struct group_writer *g);

/* Adds a row to the last piece.  There is room (row_n < most_rows).  -ENOMEM. */
int group_writer_row(struct group_writer *g, struct event_ref ref);

/* The same for the first of n rows, as many as surely fit: those behind them, if any, are to be
 * added one by one, with a look at the weight each time. */
int group_writer_rows(struct group_writer *g, const struct event_ref *refs, size_t n,
		      size_t weight_most, size_t *ret_n);

/* Writes the blocks of the rows gathered into `directory` and `blocks_out`, adds a zone (whose
 * offset and flags are the caller's to set) and begins the next group. */
int group_writer_close(struct group_writer *g);

/* Ends the last piece: its rows are all there. */
int group_writer_piece(struct group_writer *g);

/* Steps: what a piece's rows refer to and how long it is; the shapes of rows, as soon as there are
 * enough to look for together; then the group's. */
void group_links(struct group_writer *g, struct piece_row *p);
int group_shapes_piece(struct group_writer *g, const struct piece_row *p);
int group_shapes_close(struct group_writer *g);

/* Takes up to GROUP_TOTALS_ROWS rows whose shapes are known, to count them: group_totals.c.
 * group_totals_end() counts what was taken. */
#define GROUP_TOTALS_ROWS 16
int group_totals_add(struct group_writer *g, uint32_t first, uint32_t n);
int group_totals_end(struct group_writer *g);
int shapes_settle(struct group_writer *g);

/* --- skeletons: group_skeletons.c --- */

/* Is the row LOOSE without asking?  Where hardly any has a known set of keys, the others are not
 * asked. */
bool group_is_loose(const struct group_writer *g, uint32_t row);
/* Finds the row's skeleton and counts the row.  -ENOMEM, and then it may have none. */
int group_row_skeleton(struct group_writer *g, uint32_t row);
/* Counts a row of the skeleton, whose first in this group is noted.  False without memory. */
bool group_skeleton_first(struct group_writer *g, uint32_t skeleton);

static inline bool group_skeleton_note(struct group_writer *g, uint32_t skeleton)
{
	return g->shapes.skeletons[skeleton].rows++ > 0 || group_skeleton_first(g, skeleton);
}

/* In the first group: makes rows of skeletons that few share LOOSE if these are too many, or while
 * it is gathered if they are so by far.  -ENOMEM. */
int group_loosen_early(struct group_writer *g);
int group_loosen(struct group_writer *g);
/* Rows that look like those of one skeleton have another from now on. */
void group_skeleton_succeeded(struct group_writer *g, uint32_t old, uint32_t by);
void group_skeletons_close(struct group_writer *g);

/* --- values: group_stage.c --- */

/* A row whose values are where they belong; its shape is to be looked up. */
struct staged {
	size_t first; /* of its FIXED values */
	uint32_t row, hash;
};

/* Puts the row's values where they belong, FIXED ones into g->values from `first` on.  False
 * without memory. */
bool group_row_stage(struct group_writer *g, uint32_t number, size_t first, struct staged *out);
/* The same for the attributes of a LOOSE row alone. */
int group_row_stage_loose(struct group_writer *g, const struct group_row *row);
/* Puts a value into a column.  -ENOMEM. */
int group_stage(struct group_writer *g, struct remap *r, uint32_t column, const struct attr *a);
/* Puts all attributes of a row, which are LOOSE, into their columns and notes which these are.
 * -ENOMEM. */
int group_stage_loose(struct group_writer *g, struct remap *r, uint8_t level, const struct attr *a,
		      uint32_t n);
/* The group's rows are all there: were there too many lists?  -ENOMEM. */
int group_lists_close(struct group_writer *g);
/* How many values the rows between marks have in each lane, once the rows' codes are the group's
 * own; how many marks there are. */
uint32_t group_marks_count(const struct group_writer *g, uint32_t counts[][MARK_LANES]);
/* Appends the block of LOOSE attributes, once the rows' codes are the group's own.  -ENOMEM. */
int group_loose_write(struct group_writer *g, struct buffer *out);
/* Classes for a new skeleton, whose first row this is. */
bool shape_guess(struct group_writer *g, uint32_t skeleton, const struct group_row *row);

/* The fields of a row that are no attributes, as attributes with the keys FIELD_…; the name comes
 * first.  Numbers of the row's own are not in its batch's wides: they stand beside. */
#define ROW_PREFIX_MOST 16
struct row_prefix {
	struct attr attrs[ROW_PREFIX_MOST];
	uint64_t numbers[ROW_PREFIX_MOST];
	uint32_t n;
};
void row_prefix(const struct batch *b, const struct event *e, struct row_prefix *ret);

static inline bool row_prefix_is_number(const struct row_prefix *p, uint32_t i)
{
	return p->attrs[i].key >= FIELD_DROPPED_ATTRIBUTES && p->attrs[i].key <= FIELD_OBSERVED;
}

/* The attribute at `i` of prefix and attributes. */
static inline const struct attr *row_field(const struct batch *b, const struct event *e,
					   const struct row_prefix *p, uint32_t i)
{
	return i < p->n ? &p->attrs[i] : &b->attrs[e->attrs.first + i - p->n];
}

#endif
