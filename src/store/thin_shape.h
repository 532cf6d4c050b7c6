/* store/thin_shape.h - a number for the shape of a trace: who calls whom, how often.
 *
 * Two traces get the same number when they have the same spans, by service and name, under the same
 * parents, in any order.  For tables in memory only: it differs from process to process. */
#ifndef CAUSET_STORE_THIN_SHAPE_H
#define CAUSET_STORE_THIN_SHAPE_H

#include "model/batch.h"

/* Room that is used again from trace to trace. */
struct thin_shape {
	struct thin_shape_block {
		uint64_t id, parent, label;
	} * blocks;
	size_t capacity;
};

void thin_shape_done(struct thin_shape *s);

/* -ENOMEM. */
int thin_shape_of(struct thin_shape *s, const struct event_ref *refs, size_t n, uint64_t *ret_hash);

#endif
