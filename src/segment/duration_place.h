/* segment/duration_place.h - where a duration stands among 64 places to each doubling.
 *
 * Whoever counts durations counts them by these places, so that counts of threads, segments and
 * rows add up, whoever counted: tables of totals in segments (segment/totals.h), sketches of
 * queries (exec/sketch.h), lists of operations (store/octaves.h).  The middle of a place is wrong
 * by at most 1 part in 128.  Part of the format of segments. */
#ifndef CAUSET_SEGMENT_DURATION_PLACE_H
#define CAUSET_SEGMENT_DURATION_PLACE_H

#include <stdint.h>
#include <string.h>

#define PLACES_PER     64 /* to a doubling */
#define PLACES_OCTAVES 64 /* 2^63, to which large numbers are rounded up */
#define PLACES         (1 + PLACES_PER * PLACES_OCTAVES) /* and 0 in front */

/* The place of a number that is not negative.  0 is at 0; others are rounded to the nearest double,
 * whose exponent and first six bits of mantissa say which. */
static inline uint16_t duration_place(int64_t number)
{
	const uint64_t one = 1023 * PLACES_PER;
	double rounded = (double)number;
	uint64_t bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return number > 0 ? (uint16_t)((bits >> 46) - one + 1) : 0;
}

/* The middle of a place, or the only whole number in it. */
static inline uint64_t place_middle(uint16_t place)
{
	unsigned octave = (unsigned)(place - 1) / PLACES_PER;
	uint64_t low = PLACES_PER + (uint64_t)(place - 1) % PLACES_PER;

	if (place == 0)
		return 0;
	if (octave <= 6)
		return (low + (1ULL << (6 - octave)) - 1) >> (6 - octave);
	return (low << (octave - 6)) + (1ULL << (octave - 6)) / 2;
}

/* How long a span took: not at all if it ended before it began; -1 without a time or an end. */
static inline int64_t span_duration(uint64_t time_ns, uint64_t end_ns)
{
	if (time_ns == 0 || time_ns > INT64_MAX || end_ns == 0 || end_ns > INT64_MAX)
		return -1;
	return end_ns > time_ns ? (int64_t)(end_ns - time_ns) : 0;
}

#endif
