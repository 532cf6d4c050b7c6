/* store/parts.h - a trace of any size, a part at a time, from the durable engine. */
#ifndef CAUSET_STORE_PARTS_H
#define CAUSET_STORE_PARTS_H

#include "store/store.h"

/* As store_parts_next() and store_parts_done(). */
int parts_next(struct store *s, struct store_parts *p, size_t most, struct event_set *ret_set);
void parts_done(struct store *s, struct store_parts *p);

#endif
