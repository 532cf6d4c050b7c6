/* base/long_hash_int.h - the same, for processors with AVX2 alone. */
#ifndef CAUSET_BASE_LONG_HASH_INT_H
#define CAUSET_BASE_LONG_HASH_INT_H

#include "base/long_hash.h"

uint64_t long_hash_avx2_64(const void *p, size_t n);
struct long_hash long_hash_avx2_128(const void *p, size_t n, uint64_t seed);

#endif
