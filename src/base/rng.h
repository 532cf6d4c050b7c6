/* base/rng.h - random numbers: from the kernel for secrets and seeds, fast ones for the rest. */
#ifndef CAUSET_BASE_RNG_H
#define CAUSET_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Unpredictable bytes; never fails once the kernel has booted. */
void rng_secret(void *out, size_t n);

/* Chosen once per process; what hash tables are seeded with.  Any thread. */
uint64_t rng_process_seed(void);

/* A small repeatable generator (splitmix64): the same seed gives the same numbers.  One thread. */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 … n-1; n must not be 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)((__uint128_t)rng_next(r) * n >> 64);
}

/* [0, 1) */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

#endif
