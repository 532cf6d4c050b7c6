/* wire/otlp_json_value.h - OTLP's attributes in JSON: {"key":…,"value":{"stringValue":…}}, both
 * ways. */
#ifndef CAUSET_WIRE_OTLP_JSON_VALUE_H
#define CAUSET_WIRE_OTLP_JSON_VALUE_H

#include "wire/decode.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

#define OTLP_JSON_GUESSES 64 /* a power of two */

/* State of one decoding run.  Errors are the reader's (and the batch's, and the scratch's): sticky,
 * checked once at the end. */
struct otlp_json {
	struct json_reader r;
	struct batch *batch;
	struct decode_tally *tally;
	struct buffer scratch; /* unescaped text, decoded base64 */
	/* Children of the arrays and kvlists being read: how many there are shows at their end. */
	struct attr *stack;
	size_t stack_n, stack_capacity;
	/* Spans of one program look alike: the n-th attribute probably has the key and the value
	 * that the n-th attribute of the span before had.  A right guess saves hashing. */
	uint32_t key_guess[OTLP_JSON_GUESSES], value_guess[OTLP_JSON_GUESSES];
};

/* One string value, interned. */
uint32_t otlp_json_text(struct otlp_json *d);

/* Is an id there, and is it one? */
enum otlp_id { OTLP_ID_MISSING, OTLP_ID_BAD, OTLP_ID_GOOD };

/* Hex in either case; zero unless it is good.  All zeros and "" mean missing. */
enum otlp_id otlp_json_trace_id(struct otlp_json *d, struct trace_id *ret_id);
enum otlp_id otlp_json_span_id(struct otlp_json *d, span_id_t *ret_id);

/* An enum: its number, or one of its names. */
int32_t otlp_json_enum(struct otlp_json *d, const struct json_name *names, unsigned count);

/* A list of KeyValues, appended to the batch's attributes. */
struct attr_range otlp_json_attrs(struct otlp_json *d);

/* One AnyValue; the key is left 0. */
struct attr otlp_json_value(struct otlp_json *d);

/* A list of EntityRefs, as the batch keeps them. */
struct attr otlp_json_entities(struct otlp_json *d);

/* Writes one AnyValue. */
void otlp_json_put_value(struct json_writer *w, const struct batch *b, const struct attr *value);

/* Writes a list of KeyValues. */
void otlp_json_put_attrs(struct json_writer *w, const struct batch *b, struct attr_range range);

/* Writes the list of EntityRefs. */
void otlp_json_put_entities(struct json_writer *w, const struct batch *b,
			    const struct attr *entities);

/* Writes a protobuf AnyValue (VALUE_RAW) as JSON: what is known of it.  Nested deeper than
 * DECODE_DEPTH_MAX, the rest stands as its bytes. */
void otlp_json_put_raw(struct json_writer *w, struct slice any);

/* Writes a protobuf KeyValue (VALUE_RAW_PAIR) the same way. */
void otlp_json_put_raw_pair(struct json_writer *w, struct slice pair);

/* Writes a protobuf EntityRef (VALUE_RAW among a resource's entities) the same way. */
void otlp_json_put_raw_entity(struct json_writer *w, struct slice entity);

#endif
