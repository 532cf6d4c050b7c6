/* base/long_hash.c - XXH3 over much at once: which way this processor does it. */
#include "base/long_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifdef __x86_64__
#include "base/long_hash_int.h"

#define HAS_AVX2() __builtin_cpu_supports("avx2")
#else
#define HAS_AVX2()              0
#define long_hash_avx2_64(p, n) 0
#define long_hash_avx2_128(p, n, seed)                                                             \
	(struct long_hash)                                                                         \
	{                                                                                          \
		0                                                                                  \
	}
#endif

uint64_t long_hash_64(const void *p, size_t n)
{
	return HAS_AVX2() ? long_hash_avx2_64(p, n) : XXH3_64bits(p, n);
}

struct long_hash long_hash_128(const void *p, size_t n, uint64_t seed)
{
	XXH128_hash_t hash;

	if (HAS_AVX2())
		return long_hash_avx2_128(p, n, seed);
	hash = XXH3_128bits_withSeed(p, n, seed);
	return (struct long_hash){hash.low64, hash.high64};
}
