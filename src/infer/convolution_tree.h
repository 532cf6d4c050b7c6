/* infer/convolution_tree.h - trees of vertices added up, window by window. */
#ifndef CAUSET_INFER_CONVOLUTION_TREE_H
#define CAUSET_INFER_CONVOLUTION_TREE_H

#include "infer/convolution.h"

struct tree_vertex {
	struct vertex v;
	uint32_t first, next; /* the first below it, the next beside it; from 1, 0: none */
	uint64_t derived;     /* messages in windows where it was a short cut */
	uint64_t window;      /* that added to it last */
};

struct convolution_tree {
	struct tree_vertex *at;
	size_t n, capacity;
	uint32_t first; /* root */
	uint64_t windows;
	uint64_t correlations, by_fft;
	bool cut;
};

/* Adds what a window has found: a vertex below the same one, of the same node and with about the
 * same shift, is the same; two of one window never are.  -ENOMEM. */
int convolution_tree_add(struct convolution_tree *t, const struct convolution *c);

/* All of it, depth first; a short cut is what was one in most windows, by messages.  -ENOMEM. */
int convolution_tree_take(const struct convolution_tree *t, struct convolution *ret);

void convolution_tree_done(struct convolution_tree *t);

#endif
