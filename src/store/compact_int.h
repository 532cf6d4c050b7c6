/* store/compact_int.h - between the choice of segments and their merging. */
#ifndef CAUSET_STORE_COMPACT_INT_H
#define CAUSET_STORE_COMPACT_INT_H

#include "store/compact.h"
#include "store/engine_int.h"

#define COMPACT_INPUTS 32 /* segments in one merge, at most */

/* How many neighbours to merge, from *ret_first on; 0: none.  With `files` held. */
size_t compact_pick(const struct engine *e, const struct view *v, enum compact_zeal zeal,
		    size_t *ret_first);

#endif
