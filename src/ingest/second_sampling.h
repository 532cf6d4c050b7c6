/* ingest/second_sampling.h - the second sampling: which traces the server keeps of those it is
 * sent.
 *
 * One coefficient for everything, in the catalogue (catalog/keep.h); followed while running. */
#ifndef CAUSET_INGEST_SECOND_SAMPLING_H
#define CAUSET_INGEST_SECOND_SAMPLING_H

#include "catalog/catalog.h"
#include "model/batch.h"

struct second;

int second_new(struct catalog *cat, struct second **ret_second, struct error *e);
struct second *second_free(struct second *s);

/* Leaves the traces that are not kept out of a batch that is not sealed yet, and writes the
 * threshold the others passed into it.  *batch is then another batch, without a byte of what was
 * left out.  -ENOMEM: *batch is as it was. */
int second_apply(struct second *s, struct batch **batch, size_t *ret_dropped);

#endif
