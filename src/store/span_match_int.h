/* store/span_match_int.h - a question to the spans of a segment, and the rows of a group that
 * answer it. */
#ifndef CAUSET_STORE_SPAN_MATCH_INT_H
#define CAUSET_STORE_SPAN_MATCH_INT_H

#include "store/match_value.h"
#include "store/span_match.h"

#define ABSENT UINT32_MAX /* a string code: not in this segment */

/* How one tag of the query stands in this segment. */
#define FEW_SHAPES 64 /* looked for in the lists of groups */

struct tag {
	uint32_t key; /* string code, or ABSENT: on no row */
	struct match_value value;
	uint32_t text;        /* string code of the value, or ABSENT */
	uint32_t types;       /* of values in columns that may equal it: bits 1 << type */
	uint8_t *on_resource; /* [resource]: it has this value there */
};

/* What became of the question to a shape, in short. */
enum answer {
	ANSWER_UNASKED,
	ANSWER_NO,
	ANSWER_YES,
	ANSWER_UNSURE,  /* a key may stand several times in such a row */
	ANSWER_COLUMNS, /* values of the row decide; the verdict says which */
};

/* The same for all shapes that differ in nothing but values. */
enum skeleton_answer { SKELETON_UNASKED, SKELETON_NO, SKELETON_PERHAPS };

/* What became of the question to a shape. */
struct verdict {
	bool possible;
	bool unsure;         /* a key may stand several times in such a row */
	uint64_t in_columns; /* tags that the row's own value must answer */
	uint64_t loose;      /* tags whose key may be LOOSE, and so there twice */
};

struct match {
	const struct store_query *query;
	struct segment *segment;
	const struct segment_tables *tables;
	struct tag *tags; /* the query's, and the name as one more if that is asked for */
	size_t tag_n;
	uint32_t name;            /* string code, or ABSENT */
	uint8_t *resource_ok;     /* [resource]: service and owner are right */
	uint8_t *skeletons;       /* [skeleton]: enum skeleton_answer; NULL without tags */
	uint8_t *answers;         /* [shape]: enum answer */
	struct verdict *verdicts; /* [shape], where the answer is neither UNASKED nor NO */
	bool possible;
	/* Where few shapes can fit, these: ascending.  Groups are asked for them. */
	bool few;
	uint32_t few_shapes[FEW_SHAPES], few_n;
	bool all_asked;
	struct match_asked all; /* of all shapes, then */
};

/* Rows of the group at hand, as bits. */
struct match_room {
	size_t words, tag_n;
	uint64_t *sure, *unsure;
	/* By tag: rows with the value, and, where they are asked for, with the key. */
	uint64_t *has[MATCH_MAX_TAGS + 1];
	uint64_t *within; /* as the caller made it */
	size_t within_capacity;
	uint64_t lists; /* tags of which some rows of `has` have a list, which may have it */
	uint32_t *found, *rows; /* values, and the rows of values */
	size_t found_capacity, row_capacity;
};

static inline void set_bit(uint64_t *words, uint32_t row)
{
	words[row / 64] |= 1ULL << row % 64;
}

/* Where something is asked of how long rows take: those that may, of those in *within, before they
 * are judged.  *within is the room's own, or NULL for all.  1, with *ret_durations where they were
 * read; 0: there are none; negative errno. */
int match_lasting_first(const struct match *m, struct match_room *room, struct segment_group *g,
			const uint64_t **within, const uint64_t **ret_durations);

/* Leaves those of the rows that take as long as is asked; durations: NULL where they were not read.
 */
int match_lasting(const struct match *m, struct match_room *room, struct segment_group *g,
		  const uint64_t *durations, struct match_rows *rows);

#endif
