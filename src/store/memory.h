/* store/memory.h - the plain engine: everything in memory, found by walking.
 *
 * Simple enough to be believed, so that it can judge the others.  Bounded: over its limit a batch
 * is refused with -ENOBUFS and nothing is dropped to make room. */
#ifndef CAUSET_STORE_MEMORY_H
#define CAUSET_STORE_MEMORY_H

#include "store/store.h"

/* Holds batches up to `bytes_limit` of memory.  -ENOMEM. */
int memory_store_open(size_t bytes_limit, struct store **ret_store);

#endif
