/* model/process_identity.h - which resources are the same process, and so have the same clock. */
#ifndef CAUSET_MODEL_PROCESS_IDENTITY_H
#define CAUSET_MODEL_PROCESS_IDENTITY_H

#include "base/buffer.h"
#include "model/batch.h"

/* Bytes in the place of what is in `out`: equal for two resources of one process, and only then.
 * Processes of a trace are numbered in the order of these bytes (slice_cmp()). */
void process_identity(const struct batch *b, uint32_t resource, struct buffer *out);

#endif
