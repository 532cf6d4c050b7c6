/* segment/packed_value.h - an array or key-value list, with all that is nested in it, as bytes.
 *
 *   value := type (1 byte)  then  BOOL: 1 byte   INT, DOUBLE: 8 bytes, little-endian
 *                                 STRING, BYTES, RAW, RAW_PAIR: length, bytes
 *                                 ARRAY: count, values     KVLIST: count, (length, key, value)s
 *
 * Lengths and counts are varints.  Equal values have equal bytes, so packed values can stand in a
 * dictionary and be compared.  Depends on nothing but itself. */
#ifndef CAUSET_SEGMENT_PACKED_VALUE_H
#define CAUSET_SEGMENT_PACKED_VALUE_H

#include "base/buffer.h"
#include "model/batch.h"

#define PACKED_MOST_DEPTH 128 /* decoders refuse deeper values; what lies below is left out */

/* Appends the value (without its key). */
void packed_value_put(const struct batch *b, const struct attr *a, struct buffer *out);

/* Adds the value to a batch that is being built; the key of *ret_value is 0.  -EBADMSG: not a
 * packed value.  Memory is the batch's sticky error. */
int packed_value_get(struct slice bytes, struct batch *b, struct attr *ret_value);

#endif
