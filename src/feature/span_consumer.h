/* feature/span_consumer.h - the thread that reads the store's feed for span metrics.
 *
 * It counts what is acknowledged from its start on: like every process's counters, these begin at 0
 * with it.  Nothing is done, and nothing costs anything, until somebody asks for the first time;
 * then what has come since the start is counted, unless that is more than SPAN_CONSUMER_FIRST rows:
 * then it begins with what comes next.  From then on its cursor has a name, so what it has not read
 * yet can be told apart in segments, too. */
#ifndef CAUSET_FEATURE_SPAN_CONSUMER_H
#define CAUSET_FEATURE_SPAN_CONSUMER_H

#include "feature/span_metrics.h"

#define SPAN_CONSUMER_CURSOR "span-metrics"
#define SPAN_CONSUMER_FIRST  ((size_t)2 << 20)

struct span_consumer;

/* `store` is borrowed.  Negative errno. */
int span_consumer_start(struct store *store, struct span_consumer **ret_consumer);

/* Waits for the thread.  Accepts NULL, returns NULL. */
struct span_consumer *span_consumer_stop(struct span_consumer *c);

/* What it has counted; lives as long as the consumer. */
struct span_metrics *span_consumer_metrics(struct span_consumer *c);

/* Somebody asks: reads what the feed has now, on the caller's thread.  Negative errno. */
int span_consumer_catch_up(struct span_consumer *c);

#endif
