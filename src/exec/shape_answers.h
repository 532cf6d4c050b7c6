/* exec/shape_answers.h - shapes that a query cannot tell apart are asked once.
 *
 * A segment may have a hundred thousand shapes, which differ in names and values that the query
 * does not look at.  What it does look at is put into a few words: the resource's number, the code
 * of a name, an attribute's value.  Shapes with the same words get the same answer; and where all
 * of it is in the skeleton, which says what shapes have but their values, not even words are
 * needed. */
#ifndef CAUSET_EXEC_SHAPE_ANSWERS_H
#define CAUSET_EXEC_SHAPE_ANSWERS_H

#include "base/map.h"
#include "exec/column_shapes.h"

#define ANSWER_WORDS 24 /* of a shape; with more each is asked */

struct shape_answer {
	uint8_t verdict; /* enum shape_verdict */
	uint8_t settled; /* enum shape_settled */
	uint8_t needed;  /* drivers of the filter */
	uint32_t key;    /* of a settled or half settled one */
};

struct shape_answers {
	const struct column_shapes *shapes; /* leaves are placed */
	uint64_t leaves;                    /* that answers depend on, as bits */
	uint32_t *by_skeleton; /* [skeleton]: answer + 1; 0: not seen; ANSWERS_DIFFER */
	struct known {
		uint32_t n;
		uint64_t words[ANSWER_WORDS];
		struct shape_answer answer;
	} * *known;
	size_t n, capacity;
	struct map by_words;
	struct arena arena;
};

#define ANSWERS_DIFFER UINT32_MAX

/* The leaves that a shape's answer depends on. */
uint64_t shape_answers_leaves(const struct column_query *q);

int shape_answers_init(struct shape_answers *a, const struct column_shapes *shapes);
void shape_answers_done(struct shape_answers *a);

/* The shape's answer, from `ask` if it is not known yet.  0, -ENOMEM, what `ask` said. */
int shape_answers_get(struct shape_answers *a, uint32_t shape,
		      int (*ask)(void *context, uint32_t shape, struct shape_answer *ret_answer),
		      void *context, struct shape_answer *ret_answer);

#endif
