/* store/hash_gaps.h - which hashes there are, in two bytes each: the gaps between them.
 *
 * Of each hash only the leading bits are kept, as many as make the gaps about 2^13 on average: one
 * hash in 8,000 that is asked for seems to be there and is not.  Asked in ascending order it takes
 * one pass; else it is begun at one of the marks, which stand every HASH_GAPS_MARK gaps. */
#ifndef CAUSET_STORE_HASH_GAPS_H
#define CAUSET_STORE_HASH_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_GAP_BITS  13
#define HASH_GAPS_MARK 64

struct hash_gaps {
	unsigned shift;  /* bits that are not kept */
	size_t hashes;   /* how many it was made of */
	size_t n;        /* gaps */
	uint64_t *marks; /* the sum of the gaps before each mark */
	uint16_t gaps[]; /* HASH_GAP_LONG: so much further, and no hash there */
};

#define HASH_GAP_LONG UINT16_MAX

/* Of hashes in ascending order.  NULL: out of memory. */
struct hash_gaps *hash_gaps_new(const uint64_t *hashes, size_t n);
/* Accepts NULL, returns NULL. */
struct hash_gaps *hash_gaps_free(struct hash_gaps *g);

/* Is it perhaps there? */
bool hash_gaps_has(const struct hash_gaps *g, uint64_t hash);

/* Zero, but for the first, to begin. */
struct hash_walk {
	const struct hash_gaps *of;
	size_t at;    /* the next gap */
	uint64_t key; /* the hash before it … */
	bool is_one;  /* … if there is one */
};

/* Is it perhaps there?  Not below one that was asked for before. */
bool hash_walk_to(struct hash_walk *w, uint64_t hash);

#endif
