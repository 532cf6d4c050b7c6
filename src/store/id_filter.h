/* store/id_filter.h - hashes of the trace ids of many segments: is one perhaps among them?
 *
 * One look into memory answers what would take a look into each segment.  A hash takes 16 bits; of
 * those that were not added, one in 1,000 seems to be there when the filter is full.  One thread
 * adds at a time; any may ask meanwhile, about what was added before it came to know of it. */
#ifndef CAUSET_STORE_ID_FILTER_H
#define CAUSET_STORE_ID_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_FILTER_LEAST ((size_t)1 << 18) /* hashes that the first one is for … */
#define ID_FILTER_MOST  ((size_t)1 << 22) /* … and the largest, unless one segment has more */

struct id_filter {
	_Atomic uint32_t refs;
	size_t n, most; /* hashes that were added; that it is for: a power of two */
	_Alignas(64) _Atomic uint64_t words[];
};

/* One with room for n more: *open, or a new one, larger if it can be, that takes its place.  A
 * reference of its own.  NULL: out of memory, and *open as before. */
struct id_filter *id_filter_with_room(struct id_filter **open, size_t n);
struct id_filter *id_filter_ref(struct id_filter *f);
/* Accepts NULL, returns NULL. */
struct id_filter *id_filter_unref(struct id_filter *f);

/* A hash has a bit in each word of one line of the cache. */
#define ID_FILTER_LINE   8  /* words */
#define ID_FILTER_HASHES 32 /* of a line */

static inline size_t id_filter_line(const struct id_filter *f, uint64_t hash)
{
	return (hash & (f->most / ID_FILTER_HASHES - 1)) * ID_FILTER_LINE;
}

static inline uint64_t id_filter_bit(uint64_t hash, unsigned word)
{
	return 1ULL << (hash >> (16 + 6 * word) & 63);
}

void id_filter_add(struct id_filter *f, uint64_t hash);

static inline bool id_filter_has(const struct id_filter *f, uint64_t hash)
{
	const _Atomic uint64_t *line = &f->words[id_filter_line(f, hash)];

	for (unsigned i = 0; i < ID_FILTER_LINE; i++)
		if (!(atomic_load_explicit(&line[i], memory_order_relaxed) &
		      id_filter_bit(hash, i)))
			return false;
	return true;
}

static inline __attribute__((always_inline)) void id_filter_fetch(const struct id_filter *f,
								  uint64_t hash)
{
	__builtin_prefetch((const void *)&f->words[id_filter_line(f, hash)]);
}

#endif
