/* store/hash_gaps.c - which hashes there are, in two bytes each. */
#include "store/hash_gaps.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* Without a hash there is nothing to shift; with 2^51 of them all bits are kept. */
static unsigned shift_for(size_t n)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;

	return bits + HASH_GAP_BITS < 64 ? 64 - bits - HASH_GAP_BITS : 0;
}

static bool marks_make(struct hash_gaps *g)
{
	uint64_t sum = 0;

	g->marks = malloc((g->n / HASH_GAPS_MARK + 1) * sizeof(*g->marks));
	for (size_t i = 0; g->marks && i < g->n; i++) {
		if (i % HASH_GAPS_MARK == 0)
			g->marks[i / HASH_GAPS_MARK] = sum;
		sum += g->gaps[i];
	}
	return g->marks;
}

struct hash_gaps *hash_gaps_new(const uint64_t *hashes, size_t n)
{
	unsigned shift = shift_for(n);
	/* As many long gaps as there can be. */
	size_t most = n + (size_t)((UINT64_MAX >> shift) / HASH_GAP_LONG) + 1;
	struct hash_gaps *g = malloc(sizeof(*g) + most * sizeof(g->gaps[0])), *fit;
	uint64_t last = 0;

	if (!g)
		return NULL;
	*g = (struct hash_gaps){.shift = shift, .hashes = n};
	for (size_t i = 0; i < n; i++) {
		uint64_t gap = (hashes[i] >> shift) - last;

		for (; gap >= HASH_GAP_LONG; gap -= HASH_GAP_LONG)
			g->gaps[g->n++] = HASH_GAP_LONG;
		g->gaps[g->n++] = (uint16_t)gap;
		last = hashes[i] >> shift;
	}
	fit = realloc(g, sizeof(*g) + g->n * sizeof(g->gaps[0]));
	g = fit ? fit : g;
	return marks_make(g) ? g : hash_gaps_free(g);
}

struct hash_gaps *hash_gaps_free(struct hash_gaps *g)
{
	if (g)
		free(g->marks);
	free(g);
	return NULL;
}

bool hash_walk_to(struct hash_walk *w, uint64_t hash)
{
	const struct hash_gaps *g = w->of;
	uint64_t key = hash >> g->shift;

	while ((w->key < key || !w->is_one) && w->at < g->n) {
		w->is_one = g->gaps[w->at] != HASH_GAP_LONG;
		w->key += g->gaps[w->at++];
	}
	return w->is_one && w->key == key;
}

bool hash_gaps_has(const struct hash_gaps *g, uint64_t hash)
{
	size_t low = 0, high = (g->n + HASH_GAPS_MARK - 1) / HASH_GAPS_MARK;
	struct hash_walk walk = {.of = g};

	/* The last mark below it, or the first. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (g->marks[middle] < hash >> g->shift)
			low = middle;
		else
			high = middle;
	}
	if (g->n > 0) {
		walk.at = low * HASH_GAPS_MARK;
		walk.key = g->marks[low];
	}
	return hash_walk_to(&walk, hash);
}
