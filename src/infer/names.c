/* infer/names.c - names of nodes as small numbers: a map into an array. */
#include "infer/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "core/hash.h"

void names_init(struct names *names)
{
	*names = (struct names){0};
	map_init(&names->map);
}

void names_done(struct names *names)
{
	free(names->at);
	map_done(&names->map);
	arena_done(&names->arena);
	names->at = NULL;
	names->n = names->capacity = 0;
}

static bool same_name(const void *context, uint32_t value, const void *key)
{
	const struct names *names = context;

	return slice_eq(names->at[value], *(const struct slice *)key);
}

uint32_t names_find(const struct names *names, struct slice name)
{
	uint32_t at = map_get(&names->map, hash_bytes(name.p, name.n, names->map.seed), same_name,
			      names, &name);

	return at == MAP_NONE ? NAMES_NONE : at;
}

int names_intern(struct names *names, struct slice name, uint32_t *ret_number)
{
	uint64_t hash = hash_bytes(name.p, name.n, names->map.seed);
	uint32_t at = map_get(&names->map, hash, same_name, names, &name);
	struct slice kept;

	if (at != MAP_NONE) {
		*ret_number = at;
		return 0;
	}
	if (names->n >= NAMES_MAX || name.n > NAMES_MAX_BYTES)
		return -E2BIG;
	if (!vec_reserve(&names->at, &names->capacity, names->n + 1, sizeof(*names->at)))
		return -ENOMEM;
	kept = arena_dup(&names->arena, name);
	if (!kept.p || !map_put(&names->map, hash, (uint32_t)names->n))
		return -ENOMEM;
	names->at[names->n] = kept;
	*ret_number = (uint32_t)names->n++;
	return 0;
}

struct slice names_get(const struct names *names, uint32_t number)
{
	return number < names->n ? names->at[number] : SLICE("?");
}
