/* store/octaves.h - how numbers are spread: a histogram with 64 bins to each doubling.
 *
 * A quantile read from it is wrong by at most one part in 128.  Histograms merge by addition, so
 * threads, segments and machines can count apart.  Octaves that nothing fell into take no memory.
 */
#ifndef CAUSET_STORE_OCTAVES_H
#define CAUSET_STORE_OCTAVES_H

#include "base/arena.h"
#include "segment/duration_place.h"

struct octaves {
	uint64_t *bins[PLACES_OCTAVES]; /* [PLACES_PER], or NULL */
	uint64_t zeros;
	uint64_t n, max;
};

/* False when out of memory. */
bool octaves_add(struct octaves *o, struct arena *arena, uint64_t value);

/* Counts n places (duration_place()) whose largest number is max.  False when out of memory. */
bool octaves_add_places(struct octaves *o, struct arena *arena, const uint16_t *places, size_t n,
			uint64_t max);

/* The same for `n` neighbouring places, from `first` on, of which counts[i] were seen each. */
bool octaves_add_counts(struct octaves *o, struct arena *arena, uint32_t first,
			const uint32_t *counts, size_t n, uint64_t max);
bool octaves_merge(struct octaves *to, struct arena *arena, const struct octaves *from);

/* The value below which the share q of all lies, 0 ≤ q ≤ 1; 0 if there is none. */
uint64_t octaves_quantile(const struct octaves *o, double q);

#endif
