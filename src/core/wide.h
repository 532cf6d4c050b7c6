/* core/wide.h - short strings by whole words, without asking how long they are.
 *
 * A branch on the length of a string is one the processor guesses wrong whenever lengths change,
 * and a wrong guess costs as much as fifty instructions.  These functions have none for up to 32
 * bytes; in return WIDE bytes must be readable from the start of the string on, whatever they hold.
 */
#ifndef CAUSET_CORE_WIDE_H
#define CAUSET_CORE_WIDE_H

#include "core/hash.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WIDE 32

/* The first n bits; all 32 of them from n = 32 on. */
static inline uint32_t wide_mask(size_t n)
{
	return n >= 32 ? UINT32_MAX : ((uint32_t)1 << n) - 1;
}

#ifdef __SSE2__
static inline uint32_t wide_same16(const void *a, const void *b)
{
	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)a),
							  _mm_loadu_si128((const __m128i *)b)));
}

/* A bit for each of WIDE bytes: are they the same in both? */
static inline uint32_t wide_same(const char *a, const char *b)
{
	return wide_same16(a, b) | wide_same16(a + 16, b + 16) << 16;
}

/* Are n bytes equal, 16 to WIDE of them? */
static inline bool wide_ends_equal(const char *a, const char *b, size_t n)
{
	return (wide_same16(a, b) & wide_same16(a + n - 16, b + n - 16)) == 0xffff;
}
#else
static inline bool wide_ends_equal(const char *a, const char *b, size_t n)
{
	return memcmp(a, b, n) == 0;
}

static inline uint32_t wide_same(const char *a, const char *b)
{
	uint32_t same = 0;

	for (unsigned i = 0; i < WIDE; i++)
		same |= (uint32_t)(a[i] == b[i]) << i;
	return same;
}
#endif

/* Are the bytes of `mask` (see wide_mask) equal? */
static inline bool wide_equal(const char *a, const char *b, uint32_t mask)
{
	return (~wide_same(a, b) & mask) == 0;
}

/* Hashing, seeded as in core/hash.h: the first 16 bytes (filled up with zeros) and the last 16 are
 * two multiplications that do not wait for each other; what lies between goes into the first. */
static inline uint64_t wide_hash_mix(uint64_t first, uint64_t last, size_t n)
{
	return hash_fold(first ^ last, 0xa0761d6478bd642fULL ^ n);
}

static inline uint64_t wide_hash_first(uint64_t a, uint64_t b, uint64_t seed)
{
	return hash_fold(a ^ seed ^ 0xa0761d6478bd642fULL, b ^ seed ^ 0xe7037ed1a0b428dbULL);
}

static inline uint64_t wide_hash_last(uint64_t a, uint64_t b, uint64_t seed)
{
	return hash_fold(a ^ seed ^ 0x8ebc6af09c88c6e3ULL, b ^ seed ^ 0x589965cc75374cc3ULL);
}

/* A string of 1 to WIDE bytes. */
static inline uint64_t wide_hash(const char *p, size_t n, uint64_t seed)
{
	static const char keep[32] =
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
	/* All ones from 16 bytes on.  Arithmetic, where a condition would become a branch. */
	size_t more = n - 16, full = ~(size_t)((ptrdiff_t)more >> 63);
	const char *mask = keep + (-more & ~full), *last = p + (more & full);
	uint64_t a = hash_load64(p) & hash_load64(mask),
		 b = hash_load64(p + 8) & hash_load64(mask + 8);

	return wide_hash_mix(
		wide_hash_first(a, b, seed),
		wide_hash_last(hash_load64(last) & full, hash_load64(last + 8) & full, seed), n);
}

/* The same hash of a string of any length, of which nothing but its bytes is read. */
static inline uint64_t wide_hash_bytes(const char *p, size_t n, uint64_t seed)
{
	uint64_t a = 0, b = 0, first;

	if (n >= 16) {
		first = wide_hash_first(hash_load64(p), hash_load64(p + 8), seed);
		for (size_t i = 16; i + 16 < n; i += 16)
			first = wide_hash_first(hash_load64(p + i) ^ first, hash_load64(p + i + 8),
						seed);
		return wide_hash_mix(
			first,
			wide_hash_last(hash_load64(p + n - 16), hash_load64(p + n - 8), seed), n);
	}
	if (n >= 8) {
		a = hash_load64(p);
		b = hash_load64(p + n - 8) >> (15 - n) * 8 >> 8;
	} else if (n >= 4) {
		a = hash_load32(p) | hash_load32(p + n - 4) << (n - 4) * 8;
	} else if (n > 0) {
		a = (uint64_t)(uint8_t)p[0] | (uint64_t)(uint8_t)p[n >> 1] << (n >> 1) * 8 |
		    (uint64_t)(uint8_t)p[n - 1] << (n - 1) * 8;
	}
	return wide_hash_mix(wide_hash_first(a, b, seed), wide_hash_last(0, 0, seed), n);
}

#endif
