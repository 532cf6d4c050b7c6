/* model/self_time.c - the part of a block's time that no child in its causal flow covers.
 *
 * Siblings stand in order of begin, so for each parent it is enough to remember how far it is
 * covered already: one pass over the blocks.  Children nobody waits for (a producer's message)
 * cover nothing; a child counts only as far as it lies inside its parent. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/trace_int.h"

int trace_self_time(struct trace *t)
{
	_cleanup_(freep)
	int64_t *covered = malloc((t->block_n + 1) * sizeof(*covered));

	if (!covered)
		return -ENOMEM;
	for (size_t i = 0; i < t->block_n; i++) {
		struct trace_block *block = &t->blocks[i], *parent;
		int64_t from, to;

		block->self_ns = block->end_ns - block->begin_ns;
		covered[i] = block->begin_ns;
		if (block->parent == TRACE_NONE || block->bits & BLOCK_MESSAGE)
			continue;
		parent = &t->blocks[block->parent];
		from = MAX(block->begin_ns, covered[block->parent]);
		to = MIN(block->end_ns, parent->end_ns);
		if (to > from) {
			parent->self_ns -= to - from;
			covered[block->parent] = to;
		}
	}
	return 0;
}
