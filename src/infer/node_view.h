/* infer/node_view.h - calls by node: those that reach it, those it makes.
 *
 * Two arrays of call numbers, cut by node.  Calls that reach a node are in the order of recv_ns,
 * calls it makes in the order of end_ns, which is the order in which their returns come back. */
#ifndef CAUSET_INFER_NODE_VIEW_H
#define CAUSET_INFER_NODE_VIEW_H

#include "infer/calls.h"

struct node_view {
	uint32_t node_n;
	uint32_t *in_start, *out_start; /* node_n + 1 each */
	uint32_t *in, *out;             /* numbers of calls */
};

/* -ENOMEM */
int node_view_init(struct node_view *v, const struct calls *calls);
void node_view_done(struct node_view *v);

#endif
