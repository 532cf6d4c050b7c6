/* infer/best_chains.h - the search for the best chains at a node with repeated calls. */
#ifndef CAUSET_INFER_BEST_CHAINS_H
#define CAUSET_INFER_BEST_CHAINS_H

#include "infer/best_repeat.h"

/* Gives every child, in the order of start, to the candidate whose chain it continues best. */
int chains_begin(const struct repeat_model *m, struct chains *c);

/* At every start of a call: the parents that are neither waiting nor finished there exchange the
 * rest of their chains, all at once and in the best way.  Returns how many changed, or -ENOMEM. */
int chains_cut(const struct repeat_model *m, struct chains *c, double finish_weight,
	       struct assign_scratch *scratch);

/* Single calls move to other candidates, or change places with one of the same endpoint.  Returns
 * how many moved. */
int chains_move(const struct repeat_model *m, struct chains *c);

double chains_total(const struct repeat_model *m, const struct chains *c);

#endif
