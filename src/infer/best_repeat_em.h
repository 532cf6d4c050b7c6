/* infer/best_repeat_em.h - learning and answering in turns, for a node with repeated calls. */
#ifndef CAUSET_INFER_BEST_REPEAT_EM_H
#define CAUSET_INFER_BEST_REPEAT_EM_H

#include "infer/best_chains.h"

/* Finds the answer into view->owner.  `truth` as in em_options.  -ENOMEM. */
int repeat_solve(const struct view *view, struct repeat_model *model, unsigned rounds,
		 const uint32_t *truth, struct assign_scratch *scratch, double *ret_total);

#endif
