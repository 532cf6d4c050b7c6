/* store/giant.h - the line of a trace that is too large to be held in memory. */
#ifndef CAUSET_STORE_GIANT_H
#define CAUSET_STORE_GIANT_H

#include "base/arena.h"
#include "store/view.h"

#define GIANT_ROWS ((size_t)1 << 17) /* traces of more events are summed up page by page */

/* As trace_summarise(), from as many pages as it takes; only what comes again is counted again. */
int giant_summarise(const struct snapshot *s, struct trace_id id, struct arena *arena,
		    struct trace_summary *ret_summary);

#endif
