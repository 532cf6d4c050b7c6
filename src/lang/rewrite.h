/* lang/rewrite.h - plans that say the same and cost less.
 *
 * Pivot Tracing's Table 3 for the happened-before join, and the same ideas for everything else.
 * Each family of rules can be left out; a plan means the same with and without. */
#ifndef CAUSET_LANG_REWRITE_H
#define CAUSET_LANG_REWRITE_H

#include "lang/plan.h"

enum rewrite_rule {
	REWRITE_PROJECTION = 1 << 0,  /* columns nobody needs are not made: Π through the join */
	REWRITE_SELECTION = 1 << 1,   /* σ through the join, into sources */
	REWRITE_AGGREGATION = 1 << 2, /* A and GA through the join, on either side; lists */
	REWRITE_TOP_N = 1 << 3,       /* Limit behind OrderBy keeps so many rows */
	REWRITES = (1 << 4) - 1
};

/* Applies the rules that are not in `off`.  The plan is unchanged on failure.  -ENOMEM. */
int plan_rewrite(struct plan *plan, unsigned off);

#endif
