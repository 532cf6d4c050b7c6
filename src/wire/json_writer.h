/* wire/json_writer.h - writing JSON to the end of a buffer; the writer owns the commas.
 *
 *	struct json_writer w = json_write(&buffer);
 *	json_begin_object(&w);
 *	json_put_name(&w, "id");
 *	json_put_u64(&w, 7);
 *	json_end_object(&w);
 *
 * Errors are the buffer's: sticky, checked once at the end.  What is begun must be ended; keys
 * alternate with values.  Nothing checks that but the tests. */
#ifndef CAUSET_WIRE_JSON_WRITER_H
#define CAUSET_WIRE_JSON_WRITER_H

#include "base/buffer.h"

struct json_writer {
	struct buffer *out;
	bool comma; /* a value stands right before */
};

static inline struct json_writer json_write(struct buffer *out)
{
	return (struct json_writer){.out = out};
}

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);

/* A key from outside, escaped; and one of ours, which needs no escapes (a literal). */
void json_put_key(struct json_writer *w, struct slice key);
void json_put_literal(struct json_writer *w, const char *name, size_t n);
static inline void json_put_name(struct json_writer *w, const char *name)
{
	json_put_literal(w, name, strlen(name)); /* known when compiling */
}

/* Text: quote, backslash and control characters are escaped, everything else stands as it is; a
 * byte that is not UTF-8 becomes U+FFFD. */
void json_put_string(struct json_writer *w, struct slice text);
void json_put_cstr(struct json_writer *w, const char *text);

void json_put_null(struct json_writer *w);
void json_put_bool(struct json_writer *w, bool value);
void json_put_i64(struct json_writer *w, int64_t value);
void json_put_u64(struct json_writer *w, uint64_t value);

/* The same as strings: protobuf's JSON form of 64-bit integers, which JavaScript cannot hold. */
void json_put_i64_text(struct json_writer *w, int64_t value);
void json_put_u64_text(struct json_writer *w, uint64_t value);

/* The shortest form that reads back as the same; NaN and infinities as the strings "NaN",
 * "Infinity", "-Infinity". */
void json_put_double(struct json_writer *w, double value);

void json_put_hex(struct json_writer *w, const void *bytes, size_t n);
void json_put_base64(struct json_writer *w, struct slice bytes);

/* A value that is JSON already. */
void json_put_json(struct json_writer *w, struct slice json);

#endif
