/* segment/bitpack_wide.c - unpacking of bits, eight values at a time: AVX2. */
#include "segment/bitpack_wide.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdbool.h>

#define WIDE __attribute__((target("avx2")))

/* Where eight values lie: four in 16 bytes from their first byte on, four in 16 bytes from byte
 * `upper` on. */
struct eight {
	__m256i bytes, shifts, mask;
	size_t upper;
};

WIDE static inline struct eight eight_of(unsigned width)
{
	uint8_t bytes[32];
	uint32_t shifts[8];
	size_t upper = width * 4 / 8;

	for (unsigned k = 0; k < 8; k++) {
		unsigned bit = k * width - (k < 4 ? 0 : (unsigned)upper * 8);

		for (unsigned i = 0; i < 4; i++)
			bytes[k * 4 + i] = (uint8_t)(bit / 8 + i);
		shifts[k] = bit % 8;
	}
	return (struct eight){
		.bytes = _mm256_loadu_si256((const __m256i *)(const void *)bytes),
		.shifts = _mm256_loadu_si256((const __m256i *)(const void *)shifts),
		.mask = _mm256_set1_epi32((int)((1u << width) - 1)),
		.upper = upper,
	};
}

WIDE static inline __m256i eight_at(const struct eight *e, const uint8_t *p)
{
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)(p + e->upper));
	__m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);

	v = _mm256_shuffle_epi8(v, e->bytes);
	return _mm256_and_si256(_mm256_srlv_epi32(v, e->shifts), e->mask);
}

/* How many values can be had by eights without a look behind the bytes. */
static size_t by_eights(size_t size, unsigned width, size_t first, size_t count)
{
	size_t from = first / 8 * width, reach = width * 4 / 8 + 16, n;

	if (width == 0 || width > BITPACK_WIDE_MAX || first % 8 != 0 || size < from + reach ||
	    !__builtin_cpu_supports("avx2"))
		return 0;
	n = (size - from - reach) / width + 1;
	return n < count / 8 ? n * 8 : count / 8 * 8;
}

WIDE static void unpack(const uint8_t *p, unsigned width, uint64_t base, size_t n, uint64_t *out)
{
	struct eight e = eight_of(width);
	__m256i add = _mm256_set1_epi64x((long long)base);

	for (size_t i = 0; i < n; i += 8, p += width) {
		__m256i v = eight_at(&e, p);
		__m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(v));
		__m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(v, 1));

		_mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_add_epi64(low, add));
		_mm256_storeu_si256((__m256i *)(void *)(out + i + 4), _mm256_add_epi64(high, add));
	}
}

WIDE static void unpack_u32(const uint8_t *p, unsigned width, uint32_t base, size_t n,
			    uint32_t *out)
{
	struct eight e = eight_of(width);
	__m256i add = _mm256_set1_epi32((int)base);

	for (size_t i = 0; i < n; i += 8, p += width)
		_mm256_storeu_si256((__m256i *)(void *)(out + i),
				    _mm256_add_epi32(eight_at(&e, p), add));
}

size_t bitpack_wide(const uint8_t *bytes, size_t size, unsigned width, uint64_t base, size_t first,
		    size_t count, uint64_t *out)
{
	size_t n = by_eights(size, width, first, count);

	if (n > 0)
		unpack(bytes + first / 8 * width, width, base, n, out);
	return n;
}

size_t bitpack_wide_u32(const uint8_t *bytes, size_t size, unsigned width, uint32_t base,
			size_t first, size_t count, uint32_t *out)
{
	size_t n = by_eights(size, width, first, count);

	if (n > 0)
		unpack_u32(bytes + first / 8 * width, width, base, n, out);
	return n;
}

#else

size_t bitpack_wide(const uint8_t *bytes, size_t size, unsigned width, uint64_t base, size_t first,
		    size_t count, uint64_t *out)
{
	(void)bytes, (void)size, (void)width, (void)base, (void)first, (void)count, (void)out;
	return 0;
}

size_t bitpack_wide_u32(const uint8_t *bytes, size_t size, unsigned width, uint32_t base,
			size_t first, size_t count, uint32_t *out)
{
	(void)bytes, (void)size, (void)width, (void)base, (void)first, (void)count, (void)out;
	return 0;
}

#endif
