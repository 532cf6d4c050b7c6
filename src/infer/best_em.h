/* infer/best_em.h - learning and answering in turns, for a node with single calls. */
#ifndef CAUSET_INFER_BEST_EM_H
#define CAUSET_INFER_BEST_EM_H

#include "infer/best_blocks.h"

struct em_options {
	unsigned rounds;       /* of learning and answering */
	const uint32_t *truth; /* per child its true parent: learn from that instead (an oracle) */
};

/* Finds the answer into view->owner.  A model that was fitted before is used and adjusted; a new
 * one is seeded, several ways where candidates are many, and the likeliest answer kept. *ret_total:
 * its log-likelihood.  -ENOMEM. */
int em_solve(const struct view *view, struct single_model *model, const struct em_options *options,
	     struct blocks_scratch *scratch, double *ret_total);

#endif
