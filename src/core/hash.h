/* core/hash.h - a fast 64-bit hash of short byte strings, for tables in memory.
 *
 * Seeded, so that a stranger cannot choose keys that collide; never stored and never sent (use XXH3
 * for what outlives the process).  Short inputs, which is nearly all we see, take two loads and two
 * multiplications (the folded-multiply mix of wyhash); longer ones go 16 bytes at a time. */
#ifndef CAUSET_CORE_HASH_H
#define CAUSET_CORE_HASH_H

#include "core/slice.h"

static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t hash_load32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed)
{
	const uint64_t k0 = 0xa0761d6478bd642fULL, k1 = 0xe7037ed1a0b428dbULL;
	const char *p = bytes;
	uint64_t a, b, state = seed ^ k0;

	if (n <= 16) {
		if (n >= 8) {
			a = hash_load64(p);
			b = hash_load64(p + n - 8);
		} else if (n >= 4) {
			a = hash_load32(p);
			b = hash_load32(p + n - 4);
		} else if (n > 0) {
			a = (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[n >> 1] << 8 |
			    (uint8_t)p[n - 1];
			b = 0;
		} else {
			a = b = 0;
		}
	} else {
		for (size_t left = n; left > 16; left -= 16, p += 16)
			state = hash_fold(hash_load64(p) ^ k1, hash_load64(p + 8) ^ state);
		a = hash_load64((const char *)bytes + n - 16);
		b = hash_load64((const char *)bytes + n - 8);
	}
	return hash_fold(k1 ^ n, hash_fold(a ^ k1, b ^ state));
}

static inline uint64_t hash_u64(uint64_t value, uint64_t seed)
{
	return hash_fold(value ^ 0xa0761d6478bd642fULL, seed ^ 0xe7037ed1a0b428dbULL);
}

#endif
