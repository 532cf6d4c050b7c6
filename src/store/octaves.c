/* store/octaves.c - how numbers are spread: a histogram with 32 bins to each doubling. */
#include "store/octaves.h"

/* Values of octave k > 0 have k - 1 bits below the five that choose the bin. */
static unsigned octave_of(uint64_t value)
{
	return value < OCTAVE_BINS ? 0 : 63 - (unsigned)__builtin_clzll(value) - 4;
}

static unsigned bin_of(uint64_t value, unsigned octave)
{
	return octave == 0 ? (unsigned)value : (unsigned)(value >> (octave - 1)) % OCTAVE_BINS;
}

static uint64_t *bins_get(struct octaves *o, struct arena *arena, unsigned octave)
{
	if (!o->bins[octave])
		o->bins[octave] = arena_zalloc(arena, OCTAVE_BINS, sizeof(uint64_t));
	return o->bins[octave];
}

bool octaves_add(struct octaves *o, struct arena *arena, uint64_t value)
{
	unsigned octave = octave_of(value);
	uint64_t *bins = bins_get(o, arena, octave);

	if (!bins)
		return false;
	bins[bin_of(value, octave)]++;
	o->n++;
	if (value > o->max)
		o->max = value;
	return true;
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

/* The middle of a bin. */
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
