/* exec/hll.h - how many different ones there are, in at most 4 KiB: HyperLogLog.
 *
 * Up to HLL_EXACT different hashes are kept as they are, and the answer is exact but for collisions
 * of 64-bit hashes; beyond, 4,096 registers of 6 bits (a byte each) estimate it with a standard
 * error of HLL_ERROR.  Merging is the union, in any order and with the same result.  The estimate
 * is Ertl's ("New cardinality estimation algorithms for HyperLogLog sketches", 2017, algorithm 6):
 * good over the whole range without a table of corrections. */
#ifndef CAUSET_EXEC_HLL_H
#define CAUSET_EXEC_HLL_H

#include "base/arena.h"

#define HLL_BITS      12
#define HLL_REGISTERS (1u << HLL_BITS)
#define HLL_ERROR     0.01625 /* 1.04 / sqrt(registers) */
#define HLL_EXACT     256

struct hll {
	uint64_t *hashes;   /* open addressing; 0 is a free place */
	uint8_t *registers; /* NULL while exact */
	uint32_t n;         /* hashes kept */
	uint32_t capacity;  /* places */
};

/* A good 64-bit hash, the same for the same thing everywhere.  False when out of memory. */
bool hll_add(struct hll *h, struct arena *arena, uint64_t hash);
bool hll_merge(struct hll *to, struct arena *arena, const struct hll *from);
double hll_count(const struct hll *h);

static inline bool hll_is_exact(const struct hll *h)
{
	return !h->registers;
}

#endif
