/* store/feed.h - the durable engine's feed: what came after a cursor, from segments and heads. */
#ifndef CAUSET_STORE_FEED_H
#define CAUSET_STORE_FEED_H

#include "store/store.h"

struct engine;

/* As store_feed_next() and store_feed_done(). */
int feed_next(struct store *s, struct store_feed *f, struct feed_page *ret_page);
void feed_done(struct store *s, struct store_feed *f);

/* Removes side files that every named cursor has passed. */
void feed_sweep(struct engine *e);

#endif
