/* store/thin_shape.c - a number for the shape of a trace: who calls whom, how often. */
#include "store/thin_shape.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/vec.h"

void thin_shape_done(struct thin_shape *s)
{
	free(s->blocks);
	*s = (struct thin_shape){0};
}

static int by_id(const void *a, const void *b)
{
	const struct thin_shape_block *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t label_of(const struct thin_shape *s, size_t n, uint64_t id)
{
	const struct thin_shape_block key = {.id = id}, *found;

	found = id ? bsearch(&key, s->blocks, n, sizeof(key), by_id) : NULL;
	return found ? found->label : 0;
}

int thin_shape_of(struct thin_shape *s, const struct event_ref *refs, size_t n, uint64_t *ret_hash)
{
	uint64_t seed = rng_process_seed(), sum = 0;
	size_t count = 0;

	if (!vec_reserve(&s->blocks, &s->capacity, n, sizeof(*s->blocks)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		struct slice service, name;

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		service = batch_service(refs[i].batch, e);
		name = batch_text(refs[i].batch, e->name);
		s->blocks[count++] = (struct thin_shape_block){
			e->id1, e->id2,
			hash_bytes(name.p, name.n, hash_bytes(service.p, service.n, seed))};
	}
	if (count > 1)
		qsort(s->blocks, count, sizeof(*s->blocks), by_id);
	/* A sum, so that order does not matter, of mixed terms, so that swapped parents do. */
	for (size_t i = 0; i < count; i++)
		sum += hash_u64(s->blocks[i].label, label_of(s, count, s->blocks[i].parent));
	*ret_hash = sum;
	return 0;
}
