/* wire/json_scan_int.h - where does plain text end?  What JSON spends its time on, reading and
 * writing.
 *
 * 16 bytes at a time with SSE2, which every x86-64 has; elsewhere 8 at a time in a register. */
#ifndef CAUSET_WIRE_JSON_SCAN_INT_H
#define CAUSET_WIRE_JSON_SCAN_INT_H

#include "core/hash.h" /* hash_load64() */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__
/* The first quote, backslash or control character from p on, or `end`.  Sets *high if a byte before
 * it is above 0x7f. */
static inline const char *json_scan_plain(const char *p, const char *end, bool *high)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'),
		      last_control = _mm_set1_epi8(0x1f);

	while (end - p >= 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)p);
		__m128i hit = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)),
			_mm_cmpeq_epi8(_mm_max_epu8(x, last_control), last_control));
		unsigned stop = (unsigned)_mm_movemask_epi8(hit);
		unsigned above = (unsigned)_mm_movemask_epi8(x);

		if (stop) {
			*high |= (above & ((stop & -stop) - 1)) != 0;
			return p + __builtin_ctz(stop);
		}
		*high |= above != 0;
		p += 16;
	}
#else
static inline const char *json_scan_plain(const char *p, const char *end, bool *high)
{
	const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;

	while (end - p >= 8) {
		uint64_t x = hash_load64(p), quote = x ^ ones * '"', backslash = x ^ ones * '\\';

		/* A top bit where a byte is zero, or below 0x20; may also flag a byte behind such a
		 * one, so the exact place is found byte by byte. */
		if (((quote - ones) & ~quote & tops) | ((backslash - ones) & ~backslash & tops) |
		    ((x - ones * 0x20) & ~x & tops))
			break;
		*high |= (x & tops) != 0;
		p += 8;
	}
#endif
	for (; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\' || c < 0x20)
			break;
		*high |= c > 0x7f;
	}
	return p;
}

#endif
