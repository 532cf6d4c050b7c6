/* model/batch_copy.h - rows of many batches copied into one.
 *
 * Dictionary codes, attributes, nested values, extras, resources and scopes are carried over; each
 * resource and scope of a source batch once.  Errors are the target's sticky ones. */
#ifndef CAUSET_MODEL_BATCH_COPY_H
#define CAUSET_MODEL_BATCH_COPY_H

#include "base/map.h"
#include "model/batch.h"

struct copied {
	const struct batch *batch;
	uint32_t from, to;
};

struct batch_copy {
	struct batch *to; /* borrowed; not sealed */
	struct map resources, scopes;
	struct copied *resource_list, *scope_list;
	size_t resource_n, resource_capacity, scope_n, scope_capacity;
};

void batch_copy_init(struct batch_copy *c, struct batch *to);
void batch_copy_done(struct batch_copy *c);

/* Appends a copy of the row; returns its index in the target.  When memory runs out the target has
 * failed and the index is not to be used. */
uint32_t batch_copy_event(struct batch_copy *c, struct event_ref ref);

/* Appends copies of attributes to the target's pool, behind whatever stands there last. */
void batch_copy_attrs(struct batch_copy *c, const struct batch *from, struct attr_range range);

#endif
