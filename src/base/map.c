/* base/map.c - a hash map from byte strings to 32-bit numbers.
 *
 * A slot keeps the upper 32 bits of the hash; the lower bits of that half choose the slot, so
 * growing needs no key.  At most 3/4 full. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define MAP_FIRST 64

void map_init(struct map *m)
{
	*m = (struct map){.seed = rng_process_seed()};
}

void map_done(struct map *m)
{
	free(m->slots);
	m->slots = NULL;
	m->capacity = m->used = 0;
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0xff, m->capacity * sizeof(*m->slots));
	m->used = 0;
}

uint32_t map_get(const struct map *m, uint64_t hash, map_equal *equal, const void *context,
		 const void *key)
{
	return map_find(m, hash, equal, context, key);
}

static void place(struct map_slot *slots, size_t capacity, struct map_slot slot)
{
	size_t at = slot.hash & (capacity - 1);

	while (slots[at].value != MAP_NONE)
		at = (at + 1) & (capacity - 1);
	slots[at] = slot;
}

static bool grow(struct map *m)
{
	size_t capacity = m->capacity ? m->capacity * 2 : MAP_FIRST;
	struct map_slot *slots = malloc(capacity * sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0xff, capacity * sizeof(*slots));
	for (size_t i = 0; i < m->capacity; i++)
		if (m->slots[i].value != MAP_NONE)
			place(slots, capacity, m->slots[i]);
	free(m->slots);
	m->slots = slots;
	m->capacity = capacity;
	return true;
}

bool map_reserve(struct map *m, size_t more)
{
	while ((m->used + more) * 4 > m->capacity * 3)
		if (!grow(m))
			return false;
	return true;
}

bool map_put(struct map *m, uint64_t hash, uint32_t value)
{
	if (m->used * 4 >= m->capacity * 3 && !grow(m))
		return false;
	place(m->slots, m->capacity, (struct map_slot){(uint32_t)(hash >> 32), value});
	m->used++;
	return true;
}
