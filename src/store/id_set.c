/* store/id_set.c - trace ids, each once: what a search or a scan has seen to already. */
#include "store/id_set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "core/wide.h"

void id_set_init(struct id_set *s)
{
	*s = (struct id_set){0};
	map_init(&s->map);
}

void id_set_done(struct id_set *s)
{
	map_done(&s->map);
	free(s->ids);
}

static bool is_id(const void *context, uint32_t value, const void *key)
{
	return trace_id_eq(((const struct id_set *)context)->ids[value],
			   *(const struct trace_id *)key);
}

static uint64_t hash_of(const struct id_set *s, struct trace_id id)
{
	return wide_hash_bytes((const char *)id.b, sizeof(id.b), s->map.seed);
}

bool id_set_has(const struct id_set *s, struct trace_id id)
{
	return s->n > 0 && map_get(&s->map, hash_of(s, id), is_id, s, &id) != MAP_NONE;
}

int id_set_add(struct id_set *s, struct trace_id id)
{
	uint64_t hash = hash_of(s, id);

	if (map_get(&s->map, hash, is_id, s, &id) != MAP_NONE)
		return 0;
	if (!vec_reserve(&s->ids, &s->capacity, s->n + 1, sizeof(id)) ||
	    !map_put(&s->map, hash, (uint32_t)s->n))
		return -ENOMEM;
	s->ids[s->n++] = id;
	return 1;
}
