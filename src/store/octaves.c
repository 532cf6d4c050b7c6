/* store/octaves.c - how numbers are spread: a histogram with 64 bins to each doubling. */
#include "store/octaves.h"

#include "base/cleanup.h"

static uint64_t *bins_get(struct octaves *o, struct arena *arena, unsigned octave)
{
	if (!o->bins[octave])
		o->bins[octave] = arena_zalloc(arena, PLACES_PER, sizeof(uint64_t));
	return o->bins[octave];
}

bool octaves_add_places(struct octaves *o, struct arena *arena, const uint16_t *places, size_t n,
			uint64_t max)
{
	for (size_t i = 0; i < n; i++) {
		unsigned place = places[i] - 1U, octave = place / PLACES_PER;
		uint64_t *bins;

		if (places[i] == 0) {
			o->zeros++;
			continue;
		}
		bins = o->bins[octave];
		if (__builtin_expect(!bins, 0)) {
			bins = bins_get(o, arena, octave);
			if (!bins)
				return false;
		}
		bins[place % PLACES_PER]++;
	}
	o->n += n;
	o->max = MAX(o->max, max);
	return true;
}

bool octaves_add_counts(struct octaves *o, struct arena *arena, uint32_t first,
			const uint32_t *counts, size_t n, uint64_t max)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t place = first + (uint32_t)i - 1;
		uint64_t *bins;

		if (counts[i] == 0)
			continue;
		o->n += counts[i];
		if (first + i == 0) {
			o->zeros += counts[i];
			continue;
		}
		bins = bins_get(o, arena, place / PLACES_PER);
		if (!bins)
			return false;
		bins[place % PLACES_PER] += counts[i];
	}
	o->max = MAX(o->max, max);
	return true;
}

bool octaves_add(struct octaves *o, struct arena *arena, uint64_t value)
{
	uint16_t place = duration_place((int64_t)MIN(value, (uint64_t)INT64_MAX));

	return octaves_add_places(o, arena, &place, 1, value);
}

bool octaves_merge(struct octaves *to, struct arena *arena, const struct octaves *from)
{
	for (unsigned k = 0; k < PLACES_OCTAVES; k++) {
		uint64_t *bins;

		if (!from->bins[k])
			continue;
		bins = bins_get(to, arena, k);
		if (!bins)
			return false;
		for (unsigned i = 0; i < PLACES_PER; i++)
			bins[i] += from->bins[k][i];
	}
	to->zeros += from->zeros;
	to->n += from->n;
	to->max = MAX(to->max, from->max);
	return true;
}

uint64_t octaves_quantile(const struct octaves *o, double q)
{
	uint64_t rank = (uint64_t)(q * (double)o->n), seen = o->zeros;

	if (seen > rank)
		return 0;
	for (unsigned k = 0; k < PLACES_OCTAVES; k++)
		for (unsigned i = 0; o->bins[k] && i < PLACES_PER; i++) {
			seen += o->bins[k][i];
			if (seen > rank)
				return MIN(place_middle((uint16_t)(1 + k * PLACES_PER + i)),
					   o->max);
		}
	return o->max;
}
