/* store/batch_match.h - what a search asks of spans, put to one batch in memory.
 *
 * A batch has every text once, so texts are looked up once in a batch, and its rows are compared
 * by codes.  Agrees with store/summary.h about every row. */
#ifndef CAUSET_STORE_BATCH_MATCH_H
#define CAUSET_STORE_BATCH_MATCH_H

#include "store/store.h"

struct batch_match {
	const struct store_query *query; /* borrowed; of the last batch_match_ask() */
	const struct batch *batch;
	uint32_t operation;
	uint32_t *keys; /* [tag] */
	/* [resource * words]: bit 0, it is of the service; bit 1 + tag, it has the tag. */
	uint64_t *resources;
	size_t words, key_capacity, resource_capacity;
};

/* Puts a question that asks something of spans (query_asks_spans()) to a sealed batch.  1: some row
 * may answer it.  0: none does.  -ENOMEM.  Starts from all zero; batch_match_done() at the end. */
int batch_match_ask(struct batch_match *m, const struct store_query *query, const struct batch *b);
void batch_match_done(struct batch_match *m);

/* Is this row of that batch a span that answers the question? */
bool batch_match_row(const struct batch_match *m, const struct event *e);

#endif
