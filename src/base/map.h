/* base/map.h - a hash map from byte strings to 32-bit numbers.
 *
 * Open addressing with linear probing; holds indices, not keys: the caller keeps keys in an array
 * of its own and says, by a callback, whether an index has the key looked for.  So one map serves
 * ids, strings and composite keys, and nothing is stored twice.  One thread. */
#ifndef CAUSET_BASE_MAP_H
#define CAUSET_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
	uint32_t hash; /* upper half; compared before the callback is asked */
	uint32_t value;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t used;
	uint64_t seed; /* for the caller's hashes: set by map_init */
};

typedef bool map_equal(const void *context, uint32_t value, const void *key);

void map_init(struct map *m);
void map_done(struct map *m);

/* Forgets every entry, keeps the memory. */
void map_clear(struct map *m);

/* The value whose key equals `key` (hashing to `hash`), or MAP_NONE. */
uint32_t map_get(const struct map *m, uint64_t hash, map_equal *equal, const void *context,
		 const void *key);

/* The same where it is asked for so often that the callback is to be inlined. */
static inline uint32_t map_find(const struct map *m, uint64_t hash, map_equal *equal,
				const void *context, const void *key)
{
	uint32_t high = (uint32_t)(hash >> 32);

	if (m->capacity == 0)
		return MAP_NONE;
	for (size_t at = high & (m->capacity - 1);; at = (at + 1) & (m->capacity - 1)) {
		struct map_slot slot = m->slots[at];

		if (slot.value == MAP_NONE ||
		    (slot.hash == high && equal(context, slot.value, key)))
			return slot.value;
	}
}

/* Fetches where the value of this hash would be, for a look-up soon after. */
static inline void map_prefetch(const struct map *m, uint64_t hash)
{
	if (m->capacity)
		__builtin_prefetch(&m->slots[(hash >> 32) & (m->capacity - 1)]);
}

/* The value that map_get() will most likely find, without asking for its key; or MAP_NONE. */
static inline uint32_t map_peek(const struct map *m, uint64_t hash)
{
	const struct map_slot *slot;

	if (m->capacity == 0)
		return MAP_NONE;
	slot = &m->slots[(hash >> 32) & (m->capacity - 1)];
	return slot->hash == (uint32_t)(hash >> 32) ? slot->value : MAP_NONE;
}

/* Makes room for `more` further entries: that many map_put() cannot fail.  False when out of
 * memory. */
bool map_reserve(struct map *m, size_t more);

/* Adds a value whose key is not in the map.  False when out of memory; nothing changed then. */
bool map_put(struct map *m, uint64_t hash, uint32_t value);

#endif
