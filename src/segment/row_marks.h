/* segment/row_marks.h - marks: how many values of each block the rows before every 2,048th have.
 *
 * Values of a row are found by counting those of the rows before, which their shapes tell; with
 * marks the counting begins at the last of them.  A lane is a block in which a row has at most one
 * value, or none.  Lanes are counted eight at a time, 16 bits each: so rows are added without a
 * branch. */
#ifndef CAUSET_SEGMENT_ROW_MARKS_H
#define CAUSET_SEGMENT_ROW_MARKS_H

#include "segment/segment_int.h"

#define MARK_ROWS  2048u /* from one to the next */
#define MARKS_MOST (GROUP_MOST_ROWS / MARK_ROWS)

/* In the order of the file. */
enum mark_lane {
	MARK_ID1,
	MARK_ID1_BACK,
	MARK_PARENT,
	MARK_ID2,
	MARK_TIME,
	MARK_TIME_POINT,
	MARK_DURATION,
	MARK_NAME, /* rows of blocks whose name is a value of its own */
	MARK_LANES
};

#define MARK_BITS 16
_Static_assert(GROUP_MOST_ROWS <= 1 << MARK_BITS, "what stands before a row is less");

struct mark_sum {
	uint64_t word[2];
};

static inline void mark_set(struct mark_sum *sum, enum mark_lane lane, bool has)
{
	sum->word[lane / 4] |= (uint64_t)has << MARK_BITS * (lane % 4);
}

static inline uint32_t mark_get(const struct mark_sum *sum, enum mark_lane lane)
{
	return sum->word[lane / 4] >> MARK_BITS * (lane % 4) & ((1u << MARK_BITS) - 1);
}

static inline void mark_add(struct mark_sum *sum, const struct mark_sum *more)
{
	sum->word[0] += more->word[0];
	sum->word[1] += more->word[1];
}

/* What a row adds. */
static inline struct mark_sum mark_of(uint32_t form, bool named)
{
	struct mark_sum sum = {{0}};

	mark_set(&sum, MARK_ID1, (form & ID1_MASK) == ID1_COLUMN);
	mark_set(&sum, MARK_ID1_BACK, (form & ID1_MASK) == ID1_BACK);
	mark_set(&sum, MARK_PARENT, (form & ID2_MASK) == ID2_ROW);
	mark_set(&sum, MARK_ID2, (form & ID2_MASK) == ID2_COLUMN);
	mark_set(&sum, MARK_TIME, form_has(form, BLOCK_TIME));
	mark_set(&sum, MARK_TIME_POINT, form_has(form, BLOCK_TIME_POINT));
	mark_set(&sum, MARK_DURATION, form_has(form, BLOCK_DURATION));
	mark_set(&sum, MARK_NAME, named);
	return sum;
}

/* How many marks a group of so many rows has behind the one at its start. */
static inline uint32_t marks_of(uint32_t rows)
{
	return (rows - 1) / MARK_ROWS;
}

#endif
