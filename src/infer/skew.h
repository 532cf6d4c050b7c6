/* infer/skew.h - clocks that differ: put into a trace, found in one, taken out again.
 *
 * A node's offset is how much its clock is fast.  A message carries the time of whoever saw it: its
 * receiver when it was seen arriving, else its sender. */
#ifndef CAUSET_INFER_SKEW_H
#define CAUSET_INFER_SKEW_H

#include "infer/calls.h"
#include "infer/message_list.h"

/* Adds to the time of every message the offset (by node) of whoever saw it, times `sign`, and puts
 * the list in order again.  -ENOMEM. */
int skew_apply(struct message_list *list, const int64_t *offset_ns, size_t node_n, int sign);

struct skew_estimate {
	int64_t offset_ns;  /* relative to the reference of its group */
	int64_t error_ns;   /* at most that wrong, if links are as quick in one direction as in the
			       other at their best; -1: nothing is known of this node */
	uint32_t reference; /* the node that the offset is relative to */
};

/* Estimates every node's offset from calls seen at both ends: on its quickest way there a message
 * takes d + offset, on its quickest way back d - offset.  Nodes are joined along the edges with the
 * most calls, from the node `reference` (or the one with the most calls) on.  `estimates` has
 * node_n items.  -ENOMEM. */
int skew_estimate(const struct calls *calls, size_t node_n, uint32_t reference,
		  struct skew_estimate *estimates);

#endif
