/* store/span_gather_int.h - one gathered span, for those that fill them in. */
#ifndef CAUSET_STORE_SPAN_GATHER_INT_H
#define CAUSET_STORE_SPAN_GATHER_INT_H

#include "store/span_walk.h"

struct gathered_span {
	struct span_seen seen;
	uint64_t id, parent;
	bool finished; /* came with its end */
	bool shared;   /* the server's side of an id that both sides have */
};

static inline bool event_is_shared(uint8_t format, uint16_t bits)
{
	return format == FORMAT_ZIPKIN && bits & EVENT_SHARED;
}

/* False when out of memory. */
bool span_gather_add(struct span_gather *g, const struct gathered_span *span);

#endif
