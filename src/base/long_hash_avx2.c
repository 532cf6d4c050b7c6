/* base/long_hash_avx2.c - compiled for processors with AVX2; long_hash.c asks whether this is one.
 */
#include "base/long_hash_int.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t long_hash_avx2_64(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

struct long_hash long_hash_avx2_128(const void *p, size_t n, uint64_t seed)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(p, n, seed);

	return (struct long_hash){hash.low64, hash.high64};
}
