/* store/octaves.h - how numbers are spread: a histogram with 32 bins to each doubling.
 *
 * A quantile read from it is wrong by at most one part in 64.  Histograms merge by addition, so
 * threads, segments and machines can count apart.  Octaves that nothing fell into take no memory.
 */
#ifndef CAUSET_STORE_OCTAVES_H
#define CAUSET_STORE_OCTAVES_H

#include "base/arena.h"

#define OCTAVE_BINS 32
#define OCTAVES     60 /* the first holds 0 … 31 one by one; enough for any 64-bit number */

struct octaves {
	uint64_t *bins[OCTAVES]; /* [OCTAVE_BINS], or NULL */
	uint64_t n, max;
};

/* False when out of memory. */
bool octaves_add(struct octaves *o, struct arena *arena, uint64_t value);
bool octaves_merge(struct octaves *to, struct arena *arena, const struct octaves *from);

/* The value below which the share q of all lies, 0 ≤ q ≤ 1; 0 if there is none. */
uint64_t octaves_quantile(const struct octaves *o, double q);

#endif
