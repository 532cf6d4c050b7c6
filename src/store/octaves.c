/* store/octaves.c - how numbers are spread: a histogram with 32 bins to each doubling. */
#include "store/octaves.h"

static uint64_t *bins_get(struct octaves *o, struct arena *arena, unsigned octave)
{
	if (!o->bins[octave])
		o->bins[octave] = arena_zalloc(arena, OCTAVE_BINS, sizeof(uint64_t));
	return o->bins[octave];
}

bool octaves_add_places(struct octaves *o, struct arena *arena, const uint16_t *places, size_t n,
			uint64_t max)
{
	for (size_t i = 0; i < n; i++) {
		unsigned octave = places[i] / OCTAVE_BINS;
		uint64_t *bins = o->bins[octave];

		if (__builtin_expect(!bins, 0)) {
			bins = bins_get(o, arena, octave);
			if (!bins)
				return false;
		}
		bins[places[i] % OCTAVE_BINS]++;
	}
	o->n += n;
	if (max > o->max)
		o->max = max;
	return true;
}

bool octaves_add(struct octaves *o, struct arena *arena, uint64_t value)
{
	uint16_t place = octave_place(value);

	return octaves_add_places(o, arena, &place, 1, value);
}

bool octaves_merge(struct octaves *to, struct arena *arena, const struct octaves *from)
{
	for (unsigned k = 0; k < OCTAVES; k++) {
		uint64_t *bins;

		if (!from->bins[k])
			continue;
		bins = bins_get(to, arena, k);
		if (!bins)
			return false;
		for (unsigned i = 0; i < OCTAVE_BINS; i++)
			bins[i] += from->bins[k][i];
	}
	to->n += from->n;
	if (from->max > to->max)
		to->max = from->max;
	return true;
}

/* The middle of a bin.  Values of octave k > 0 have k - 1 bits below the five that choose it. */
static uint64_t value_of(unsigned octave, unsigned bin)
{
	uint64_t width;

	if (octave == 0)
		return bin;
	width = 1ULL << (octave - 1);
	return (OCTAVE_BINS + bin) * width + width / 2;
}

uint64_t octaves_quantile(const struct octaves *o, double q)
{
	uint64_t rank = (uint64_t)(q * (double)o->n), seen = 0;

	for (unsigned k = 0; k < OCTAVES; k++)
		for (unsigned i = 0; o->bins[k] && i < OCTAVE_BINS; i++) {
			seen += o->bins[k][i];
			if (seen > rank) {
				uint64_t value = value_of(k, i);

				return value < o->max ? value : o->max;
			}
		}
	return o->max;
}
