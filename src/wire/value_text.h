/* wire/value_text.h - an attribute's value as plain text, for formats whose values are strings. */
#ifndef CAUSET_WIRE_VALUE_TEXT_H
#define CAUSET_WIRE_VALUE_TEXT_H

#include "base/arena.h"
#include "model/batch.h"
#include "wire/json_writer.h"

/* Strings as they are, numbers and booleans as JSON writes them, bytes in base64, lists as JSON
 * arrays and objects, no value as "".  Borrowed from the batch or made in the arena; out of memory:
 * *failed is set. */
struct slice value_text(const struct batch *b, const struct attr *value, struct arena *arena,
			bool *failed);

/* The value as plain JSON: no types but JSON's own; bytes as base64 strings, no value as null. */
void value_put_json(struct json_writer *w, const struct batch *b, const struct attr *value);

/* A run of attributes as one JSON object. */
void value_put_object(struct json_writer *w, const struct batch *b, struct attr_range range);

#endif
