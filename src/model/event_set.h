/* model/event_set.h - rows of one or many traces, with the batches they lie in. */
#ifndef CAUSET_MODEL_EVENT_SET_H
#define CAUSET_MODEL_EVENT_SET_H

#include "model/batch.h"

struct event_set {
	struct event_ref *refs; /* in arrival order */
	size_t n, capacity;
	struct batch **batches; /* each holds one reference */
	size_t batch_n, batch_capacity;
};

/* Frees; NULL-safe inside; usable again. */
void event_set_done(struct event_set *set);

/* Adds rows first … first + count - 1 of a batch; takes a reference to the batch where it is not
 * the last one added.  False when out of memory; what was there stays. */
bool event_set_add(struct event_set *set, struct batch *batch, uint32_t first, uint32_t count);

/* Forgets the content but keeps the memory, for the next trace. */
void event_set_clear(struct event_set *set);

#endif
