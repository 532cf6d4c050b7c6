/* base/long_hash.h - XXH3 over much at once, as fast as the processor can.
 *
 * The values are those of XXH3_64bits() and XXH3_128bits_withSeed().  A program that runs on every
 * processor hashes 16 bytes at a time; where there is AVX2 these take 32, which halves what a
 * request's body and its record in the log cost to hash.  Any thread. */
#ifndef CAUSET_BASE_LONG_HASH_H
#define CAUSET_BASE_LONG_HASH_H

#include <stddef.h>
#include <stdint.h>

struct long_hash {
	uint64_t low, high;
};

uint64_t long_hash_64(const void *p, size_t n);
struct long_hash long_hash_128(const void *p, size_t n, uint64_t seed);

#endif
