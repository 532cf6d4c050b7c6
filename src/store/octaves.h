/* store/octaves.h - how numbers are spread: a histogram with 32 bins to each doubling.
 *
 * A quantile read from it is wrong by at most one part in 64.  Histograms merge by addition, so
 * threads, segments and machines can count apart.  Octaves that nothing fell into take no memory.
 */
#ifndef CAUSET_STORE_OCTAVES_H
#define CAUSET_STORE_OCTAVES_H

#include "base/arena.h"

#define OCTAVE_BINS   32
#define OCTAVES       60 /* the first holds 0 … 31 one by one; enough for any 64-bit number */
#define OCTAVE_PLACES (OCTAVES * OCTAVE_BINS)

struct octaves {
	uint64_t *bins[OCTAVES]; /* [OCTAVE_BINS], or NULL */
	uint64_t n, max;
};

/* False when out of memory. */
bool octaves_add(struct octaves *o, struct arena *arena, uint64_t value);

/* A number's place, octave × OCTAVE_BINS + bin, below OCTAVE_PLACES: what is counted can be
 * remembered in two bytes and counted later. */
static inline uint16_t octave_place(uint64_t value)
{
	unsigned octave = 59 - (unsigned)__builtin_clzll(value | (OCTAVE_BINS - 1));

	return (uint16_t)(octave * OCTAVE_BINS +
			  (unsigned)(value >> (octave - (octave > 0))) % OCTAVE_BINS);
}

/* Counts n places whose largest number is max.  False when out of memory. */
bool octaves_add_places(struct octaves *o, struct arena *arena, const uint16_t *places, size_t n,
			uint64_t max);
bool octaves_merge(struct octaves *to, struct arena *arena, const struct octaves *from);

/* The value below which the share q of all lies, 0 ≤ q ≤ 1; 0 if there is none. */
uint64_t octaves_quantile(const struct octaves *o, double q);

#endif
