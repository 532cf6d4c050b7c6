/* exec/nested_set.h - a tree as numbers: each block has one where it begins and one where it ends,
 * counted along the tree, so that its descendants' lie between the two.
 *
 * Before block i of the pre-order i blocks have begun, and all of them but its ancestors have
 * ended. */
#ifndef CAUSET_EXEC_NESTED_SET_H
#define CAUSET_EXEC_NESTED_SET_H

#include "model/trace.h"

static inline int64_t nested_left(const struct trace *t, uint32_t block)
{
	return 2 * (int64_t)block - t->blocks[block].depth + 1;
}

static inline int64_t nested_right(const struct trace *t, uint32_t block)
{
	return nested_left(t, block) + 2 * ((int64_t)t->blocks[block].last - block) + 1;
}

/* Its parent's left number; -1 for a root, 0 where the parent that it names is not there. */
static inline int64_t nested_parent(const struct trace *t, uint32_t block, span_id_t parent_id)
{
	uint32_t parent = t->blocks[block].parent;

	if (parent != TRACE_NONE)
		return nested_left(t, parent);
	return parent_id ? 0 : -1;
}

#endif
