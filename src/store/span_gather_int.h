/* store/span_gather_int.h - for those that gather spans. */
#ifndef CAUSET_STORE_SPAN_GATHER_INT_H
#define CAUSET_STORE_SPAN_GATHER_INT_H

#include "store/span_walk.h"

static inline bool event_is_shared(uint8_t format, uint16_t bits)
{
	return format == FORMAT_ZIPKIN && bits & EVENT_SHARED;
}

/* An empty text is there, too. */
static inline struct slice text_there(struct slice text)
{
	return text.p ? text : slice_of("", 0);
}

/* `ended` says whether it came with its end; what it says of its parent is not looked at.  Returns
 * room for key_n texts, all absent, or NULL when out of memory. */
struct slice *span_gather_add(struct span_gather *g, const struct span_seen *span, size_t key_n);

#endif
