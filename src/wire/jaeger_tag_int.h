/* wire/jaeger_tag_int.h - Jaeger's KeyValue in JSON, {"key":…,"type":…,"value":…}, both ways;
 * private to the Jaeger codec. */
#ifndef CAUSET_WIRE_JAEGER_TAG_INT_H
#define CAUSET_WIRE_JAEGER_TAG_INT_H

#include "model/batch.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

/* Reads one.  A value that does not fit its type is taken for what it is in JSON; objects and lists
 * become their text.  Out of memory fails the batch. */
struct attr jaeger_tag_read(struct json_reader *r, struct batch *b, struct buffer *scratch);

/* Writes an attribute: strings, truth values, numbers and bytes with their type, nested values as
 * JSON in a string, no value as "". */
void jaeger_tag_put(struct json_writer *w, const struct batch *b, const struct attr *a);

/* Writes one made of text. */
void jaeger_tag_put_text(struct json_writer *w, const char *key, struct slice value);
void jaeger_tag_put_true(struct json_writer *w, const char *key);
void jaeger_tag_put_int(struct json_writer *w, const char *key, int64_t value);

#endif
