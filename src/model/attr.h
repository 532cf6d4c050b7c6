/* model/attr.h - an attribute: a key and a typed value, 8 bytes, text by dictionary code.
 *
 * An attribute means something only together with the batch it lies in (model/batch.h).  All of
 * OTLP's value types are here, nested ones too.
 *
 * There are ten attributes in a span, and they are copied, hashed, written and walked: so the type
 * lies in the word of the key, and what does not fit into 31 bits lies elsewhere in the batch. */
#ifndef CAUSET_MODEL_ATTR_H
#define CAUSET_MODEL_ATTR_H

#include <stdint.h>

enum value_type {
	VALUE_EMPTY, /* a key without a value */
	VALUE_STRING,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_DOUBLE,
	VALUE_BYTES,
	VALUE_ARRAY,    /* children in batch.nested, their keys are 0 */
	VALUE_KVLIST,   /* children in batch.nested, with keys */
	VALUE_RAW,      /* a protobuf AnyValue with fields we do not know: its bytes, whole */
	VALUE_RAW_PAIR, /* a protobuf KeyValue with fields we do not know: its bytes, whole */
};

#define ATTR_TYPE_BITS 4
#define ATTR_KEY_BITS  (32 - ATTR_TYPE_BITS)

_Static_assert(VALUE_RAW_PAIR < 1 << ATTR_TYPE_BITS, "types have so many bits");

struct value_range {
	uint32_t first, count;
};

struct attr {
	uint32_t type : ATTR_TYPE_BITS; /* enum value_type */
	uint32_t key : ATTR_KEY_BITS;   /* dictionary code, less than BATCH_STRINGS_MOST */
	union {
		uint32_t string; /* STRING, BYTES, RAW, RAW_PAIR: dictionary code */
		uint32_t word;   /* BOOL: 0 or 1; others: attr_bits() in model/batch.h */
	};
};

/* In the word: the rest of it is an index into batch.wides, where the value's 64 bits are.  Values
 * below it are the word itself.  So dictionary codes are never taken for such an index. */
#define ATTR_WIDE (1U << 31)

_Static_assert(sizeof(struct attr) == 8, "attributes are the bulk of a batch");
_Static_assert(ATTR_KEY_BITS < 31, "codes are less than ATTR_WIDE");

/* A run of top-level attributes, in batch.attrs. */
struct attr_range {
	uint32_t first, count;
};

#endif
