/* infer/best_assign.h - who belongs to whom, at the highest total gain.
 *
 * A sparse assignment problem: every row takes at most one of the columns it has an arc to, every
 * column is taken at most once, a row may stay alone at gain 0.  Solved exactly by successive
 * shortest paths with potentials; arcs are few, so each path is short.  One thread. */
#ifndef CAUSET_INFER_BEST_ASSIGN_H
#define CAUSET_INFER_BEST_ASSIGN_H

#include <stdint.h>

#define ASSIGN_NONE UINT32_MAX

struct assign {
	uint32_t row_n, column_n;
	uint32_t *first;  /* row_n + 1: arcs of row r are first[r] … first[r+1]-1 */
	uint32_t *column; /* per arc */
	double *gain;     /* per arc; what is not positive is never taken */
	uint32_t *taken;  /* out, per row: its column or ASSIGN_NONE */
};

/* Memory used again from one problem to the next. */
struct assign_scratch {
	double *row_price, *column_price, *distance;
	uint32_t *owner, *through, *heap, *place, *settled;
	uint32_t *mark;
	uint32_t row_capacity, column_capacity, stamp;
};

/* -ENOMEM or 0. */
int assign_solve(struct assign *a, struct assign_scratch *s);
void assign_scratch_done(struct assign_scratch *s);

#endif
