/* bench/entropy.h - how many bits a set of spans holds, column by column.
 *
 * The columns are those a store would make: ids, the operation of each row, parents, times, UUIDs,
 * and one per attribute key.  What a column holds is estimated under a simple model that a reader
 * can check, not under the best one thinkable:
 *
 *   ids and distinct UUIDs   all their bits
 *   operation                given the operation of the row before it in its trace
 *   numbers                  their class (sign and bit length) given the operation, and the bits
 * below everything else          given the operation
 *
 * Entropies are empirical, so two sets are only to be compared at the same number of spans. */
#ifndef CAUSET_BENCH_ENTROPY_H
#define CAUSET_BENCH_ENTROPY_H

#include "model/batch.h"

struct entropy;

/* NULL when out of memory. */
struct entropy *entropy_new(void);
struct entropy *entropy_free(struct entropy *e);

/* Takes the rows of a sealed batch and a reference to it. */
int entropy_add(struct entropy *e, struct batch *b);

struct entropy_column {
	char name[80]; /* "duration", "attribute http.url" … */
	double values; /* how many */
	double bytes;  /* what they hold */
};

/* Computes all columns, the largest first.  The array belongs to the entropy. */
int entropy_compute(struct entropy *e, const struct entropy_column **ret_columns, size_t *ret_n);

size_t entropy_spans(const struct entropy *e);
size_t entropy_traces(const struct entropy *e);

#endif
