/* sampling/second.h - sampling what was already sampled: the server's own say in what it keeps.
 *
 * Dapper's second sampling (§4.6).  A trace id is hashed to 56 bits Z, and a trace is kept when
 * Z >= T, so the rows of one trace share one fate whoever sent them and whenever they came, and a
 * larger T keeps a subset of what a smaller one does.  Z is independent of the R that the first
 * samplers compare (sampling/threshold.h), hence probabilities multiply whatever those samplers
 * did, even the ones that did not say.  Thinning old traces goes on with the same Z. */
#ifndef CAUSET_SAMPLING_SECOND_H
#define CAUSET_SAMPLING_SECOND_H

#include "sampling/threshold.h"

/* Z of a trace.  Part of the store's meaning (what was kept under which T): never changes.  The
 * finaliser of MurmurHash3 over both halves. */
static inline uint64_t second_randomness(struct trace_id id)
{
	uint64_t z = load_be64(id.b) * 0x9e3779b97f4a7c15ULL ^ load_be64(id.b + 8);

	z ^= z >> 33;
	z *= 0xff51afd7ed558ccdULL;
	z ^= z >> 33;
	z *= 0xc4ceb9fe1a85ec53ULL;
	z ^= z >> 33;
	return z >> (64 - THRESHOLD_BITS);
}

/* How many traces a kept one stands for after both samplings.  A first threshold nobody stated
 * counts as 1: what is unknown is not made up.  *ret_known says whether it was stated. */
static inline double second_weight(uint64_t first, uint64_t second, bool *ret_known)
{
	*ret_known = first != THRESHOLD_UNKNOWN;
	return (*ret_known ? threshold_weight(first) : 1) * threshold_weight(second);
}

#endif
