/* wire/otlp_value.h - OTLP's attributes in protobuf: KeyValue and AnyValue, both ways.
 *
 *   KeyValue  { string key = 1; AnyValue value = 2; }
 *   AnyValue  { oneof: string = 1; bool = 2; int64 = 3; double = 4; ArrayValue = 5;
 *                      KeyValueList = 6; bytes = 7; }
 *   ArrayValue { repeated AnyValue values = 1; }   KeyValueList { repeated KeyValue values = 1; }
 *
 * A value or pair with a field we do not know is kept as its own bytes (VALUE_RAW, VALUE_RAW_PAIR).
 * A key without a value and a key with an empty value are the same to us. */
#ifndef CAUSET_WIRE_OTLP_VALUE_H
#define CAUSET_WIRE_OTLP_VALUE_H

#include "wire/decode.h"
#include "wire/protobuf.h"

#define OTLP_GUESSES 256 /* a power of two */

/* State of one decoding run. */
struct otlp_decoder {
	struct batch *batch;
	struct slice body; /* all of it: offsets in errors count from its start */
	struct decode_tally *tally;
	struct error *error;
	int failed;            /* the error, where a function returns something else */
	struct buffer unknown; /* gathers the unknown fields of one message */
	/* Spans of one program look alike: behind one key probably stands the key that stood there
	 * last time, often with the value it had.  A right guess saves hashing; both are indexed by
	 * key code. */
	uint32_t last_key;
	uint32_t key_guess[OTLP_GUESSES], value_guess[OTLP_GUESSES];
};

/* Fills the error with the place and returns -EBADMSG. */
int otlp_malformed(struct otlp_decoder *d, const uint8_t *where, const char *what);

/* A run of KeyValues with the same one-byte tag, the first of which starts (with its tag) at `at`:
 * appended to the batch's attributes and counted.  Returns the byte behind the run, or NULL with
 * d->failed set. */
const uint8_t *otlp_attrs_decode(struct otlp_decoder *d, const uint8_t *at, const uint8_t *end,
				 uint32_t *count);

/* One AnyValue; ret_value->key is left 0. */
int otlp_value_decode(struct otlp_decoder *d, struct slice bytes, struct attr *ret_value);

/* A Status message { string message = 2; code = 3; }: into the event and its extra, which need not
 * be in the batch yet; and out of them as field `number`, unless there is none. */
int otlp_status_decode(struct otlp_decoder *d, struct slice bytes, struct event *e,
		       struct event_extra *x);
void otlp_status_encode(struct buffer *out, uint32_t number, const struct batch *b,
			const struct event *e);

/* Keeps a field we do not know (tag and value); otlp_unknown_take() gives the code of all kept
 * since the last call. */
void otlp_unknown_keep(struct otlp_decoder *d, struct slice whole);
uint32_t otlp_unknown_take(struct otlp_decoder *d);

/* Writes each attribute of a range as a KeyValue in field `number`. */
void otlp_attrs_encode(struct buffer *out, uint32_t number, const struct batch *b,
		       struct attr_range range);

/* Writes one AnyValue in field `number`. */
void otlp_value_encode(struct buffer *out, uint32_t number, const struct batch *b,
		       const struct attr *value);

#endif
