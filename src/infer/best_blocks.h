/* infer/best_blocks.h - moves that improve an answer for a node with single calls.
 *
 * A block is a slot and others that move with it: the calls a parent has in them change hands
 * together, all parents at once, by one exact assignment.  Single slots settle most; blocks of
 * a trigger with all it sets off move whole chains, where one call at a time would be stuck. */
#ifndef CAUSET_INFER_BEST_BLOCKS_H
#define CAUSET_INFER_BEST_BLOCKS_H

#include "infer/best_assign.h"
#include "infer/best_single.h"

struct blocks_scratch {
	struct assign assign;
	struct assign_scratch inner;
	double *base;    /* per parent: its score without the block */
	uint32_t *carry; /* [row * S + s]: what moves with the row */
	uint32_t *before;
	size_t arc_capacity, row_capacity, parent_capacity;
};

/* Gives every child of slot `root`, with the calls in the slots of `block` (a bit each,
 * root among them) that its parent has, the best parents.  The number of parents whose call in root
 * changed, or -ENOMEM. */
int blocks_move(struct single *s, unsigned root, uint32_t block, struct blocks_scratch *scratch);

/* Sweeps over all slots and blocks until nothing changes or `sweeps` are done.  0 or -ENOMEM.
 */
int blocks_search(struct single *s, unsigned sweeps, struct blocks_scratch *scratch);

void blocks_scratch_done(struct blocks_scratch *s);

#endif
