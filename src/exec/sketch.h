/* exec/sketch.h - how numbers are spread, in little memory: quantiles and histograms.
 *
 * Buckets are logarithmic: a number falls into one by its sign, its exponent and the first six bits
 * of its mantissa, so a bucket is at most 1/64 of its lower bound wide, and its middle is wrong by
 * at most 1 part in 128 (SKETCH_ERROR) for any number, negative ones too; 0 is exact.  Sketches
 * merge by addition, in any order and with the same result.  Weights are added as they are, so
 * sampled data has its quantiles, too.
 *
 * Not a t-digest: its error depends on the order of merging, and it cannot be said what it is. */
#ifndef CAUSET_EXEC_SKETCH_H
#define CAUSET_EXEC_SKETCH_H

#include <string.h>

#include "base/arena.h"
#include "segment/duration_place.h"

#define SKETCH_ERROR (1.0 / 128)
#define SKETCH_PER   PLACES_PER /* buckets to a doubling */

struct sketch {
	double *bins;  /* weights of the buckets from `first` on, without a gap */
	int32_t first; /* numbers of buckets grow with the numbers in them */
	uint32_t n, capacity;
	double zero;   /* weight of 0 (and of -0 and what is smaller than any normal number) */
	double weight; /* of all */
	double min, max;
};

void sketch_init(struct sketch *s);

/* NaN is passed over.  Memory comes from the arena.  False when out of memory. */
bool sketch_add(struct sketch *s, struct arena *arena, double number, double weight);

/* The same for many whole numbers of weight 1; those below 0 are passed over. */
bool sketch_add_whole(struct sketch *s, struct arena *arena, const int64_t *numbers, size_t n);

/* A whole number's bucket in two bytes: what is added can be remembered so, and added later. */
#define SKETCH_PLACE_ONE  (1023 * SKETCH_PER) /* the bucket of 1 */
#define SKETCH_PLACE_NONE UINT16_MAX          /* of numbers below 0, which are passed over */

static inline uint16_t sketch_place(int64_t number)
{
	return number < 0 ? SKETCH_PLACE_NONE : duration_place(number);
}

/* Adds n numbers by their places, with weight 1 each; `low` and `high` are the smallest and the
 * largest of them, whatever they are if none is at least 0. */
bool sketch_add_places(struct sketch *s, struct arena *arena, const uint16_t *places, size_t n,
		       int64_t low, int64_t high);

/* The same for neighbouring places from `first` on, of which there are counts[i] each. */
bool sketch_add_counts(struct sketch *s, struct arena *arena, uint32_t first,
		       const uint32_t *counts, size_t n, int64_t low, int64_t high);

bool sketch_merge(struct sketch *to, struct arena *arena, const struct sketch *from);

/* The number below which the share q of the weight lies, 0 ≤ q ≤ 1; NaN if there is none. */
double sketch_quantile(const struct sketch *s, double q);

/* Buckets with something in them, from below: `each` gets the bounds [low, high) and the weight. */
void sketch_each(const struct sketch *s,
		 void (*each)(void *context, double low, double high, double weight),
		 void *context);

#endif
