/* model/event_order.h - one order for all events, by what they say and not by where they lie.
 *
 * Two rows compare equal exactly when they say the same, in whatever batches they came: that is
 * what "the very same row came again" means.  Any other two have an order, so whatever is built
 * from sorted rows does not depend on the order of arrival. */
#ifndef CAUSET_MODEL_EVENT_ORDER_H
#define CAUSET_MODEL_EVENT_ORDER_H

#include "model/batch.h"

/* <0, 0, >0.  By id1, type, time and the other plain fields first; texts and attributes last. */
int event_cmp(struct event_ref a, struct event_ref b);

/* Resources by their attributes and schema. */
int resource_cmp(const struct batch *a, uint32_t a_resource, const struct batch *b,
		 uint32_t b_resource);

#endif
