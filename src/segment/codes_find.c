/* segment/codes_find.c - where a code stands among many. */
#include "segment/codes_find.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

/* Looks through codes 0 … n - 1 by eights; *ret_at: how far that came. */
__attribute__((target("avx2"))) static uint32_t find_wide(const uint32_t *codes, uint32_t n,
							  uint32_t code, uint32_t *out,
							  uint32_t *ret_at)
{
	__m256i wanted = _mm256_set1_epi32((int)code);
	uint32_t found = 0, i = 0;

	for (; n - i >= 8; i += 8) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
		unsigned equal = (unsigned)_mm256_movemask_ps(
			_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, wanted)));

		for (; equal; equal &= equal - 1)
			out[found++] = i + (uint32_t)__builtin_ctz(equal);
	}
	*ret_at = i;
	return found;
}

#define HAS_WIDE() __builtin_cpu_supports("avx2")
#else
#define HAS_WIDE()                             0
#define find_wide(codes, n, code, out, ret_at) 0
#endif

uint32_t codes_find(const uint32_t *codes, uint32_t n, uint32_t code, uint32_t *out)
{
	uint32_t at = 0, found = HAS_WIDE() ? find_wide(codes, n, code, out, &at) : 0;

	for (; at < n; at++) {
		out[found] = at; /* there is room for one more */
		found += codes[at] == code;
	}
	return found;
}
