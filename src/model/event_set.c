/* model/event_set.c - rows of one or many traces, with the batches they lie in. */
#include "model/event_set.h"

#include <stdlib.h>

#include "base/vec.h"

bool event_set_add(struct event_set *set, struct batch *batch, uint32_t first, uint32_t count)
{
	if (!vec_reserve(&set->refs, &set->capacity, set->n + count, sizeof(*set->refs)))
		return false;
	if (set->batch_n == 0 || set->batches[set->batch_n - 1] != batch) {
		if (!vec_reserve(&set->batches, &set->batch_capacity, set->batch_n + 1,
				 sizeof(struct batch *)))
			return false;
		set->batches[set->batch_n++] = batch_ref(batch);
	}
	for (uint32_t i = 0; i < count; i++)
		set->refs[set->n++] = (struct event_ref){batch, first + i};
	return true;
}

void event_set_clear(struct event_set *set)
{
	for (size_t i = 0; i < set->batch_n; i++)
		batch_unref(set->batches[i]);
	set->batch_n = set->n = 0;
}

void event_set_done(struct event_set *set)
{
	event_set_clear(set);
	free(set->batches);
	free(set->refs);
	*set = (struct event_set){0};
}
