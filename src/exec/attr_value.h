/* exec/attr_value.h - attributes as values of the language.
 *
 * Strings, numbers and booleans are what they are; an array is a list; a key-value list is a list
 * of [key, value]; bytes, and values of a kind we do not know, are bytes; a key without a value is
 * nil. */
#ifndef CAUSET_EXEC_ATTR_VALUE_H
#define CAUSET_EXEC_ATTR_VALUE_H

#include "exec/value.h"
#include "model/batch.h"

/* Texts are the batch's; lists lie in the arena and are cut at ATTR_LIST_MOST elements.  Nil when
 * out of memory. */
#define ATTR_LIST_MOST 65536
struct value attr_value(const struct batch *b, const struct attr *a, struct arena *arena);

/* A value as it stands in a segment: attr.bits of a number or boolean. */
struct value bits_value(enum value_type type, uint64_t bits);

/* A value of type STRING, BYTES, RAW, RAW_PAIR as a text; of ARRAY and KVLIST, packed
 * (segment/packed_value.h).  Damage is nil. */
struct value text_value(enum value_type type, struct slice text, struct arena *arena);

#endif
