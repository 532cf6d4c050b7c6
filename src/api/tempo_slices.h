/* api/tempo_slices.h - a window of time in slices, newest first: where an answer can be given
 * before everything has been looked at. */
#ifndef CAUSET_API_TEMPO_SLICES_H
#define CAUSET_API_TEMPO_SLICES_H

#include "lang/plan.h"
#include "store/view.h"

#define SLICES_MOST 32

/* Disjoint, together the range, the newest first.  Each has more in it than the one before. */
struct tempo_slices {
	struct plan_range ranges[SLICES_MOST];
	size_t n;
};

/* Cuts a range where rows are, as segments tell.  Cuts are multiples of `step_ns` if it is not 0.
 * -ENOMEM, or what reading said. */
int tempo_slices(const struct snapshot *s, struct plan_range range, int64_t step_ns,
		 struct tempo_slices *ret_slices);

#endif
