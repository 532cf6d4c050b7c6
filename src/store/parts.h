/* store/parts.h - a trace of any size, a part at a time, from the durable engine. */
#ifndef CAUSET_STORE_PARTS_H
#define CAUSET_STORE_PARTS_H

#include "store/store.h"
#include "store/view.h"

/* As store_parts_next() and store_parts_done(). */
int parts_next(struct store *s, struct store_parts *p, size_t most, struct event_set *ret_set);
void parts_done(struct store *s, struct store_parts *p);

/* Before the first part: they are of that moment, not of now.  -ENOMEM. */
int parts_begin(struct store_parts *p, const struct snapshot *snapshot);

#endif
