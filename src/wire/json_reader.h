/* wire/json_reader.h - reading JSON (RFC 8259) where it lies: one pass, no tree, no allocation.
 *
 * A cursor over bytes that outlive it.  The caller asks for what should come next; an object is
 *
 *	json_object(&r);
 *	while (json_next_key(&r, &key))
 *		...read or json_skip() exactly one value...
 *
 * and an array is the same with json_array() and json_next_item().  The first thing that is wrong
 * stops the reader: `bad` points at it, `why` says what it is, every later call returns false, and
 * so every loop ends.  A decoder checks once, at its end, with json_finish().
 *
 * Strict: no comments, no trailing commas, no NaN, strings must be UTF-8.  A byte order mark in
 * front is skipped.  Keys may repeat; what that means is the caller's business. */
#ifndef CAUSET_WIRE_JSON_READER_H
#define CAUSET_WIRE_JSON_READER_H

#include "base/buffer.h"
#include "base/error.h"

#define JSON_DEPTH_MAX 512 /* objects and arrays inside each other; deeper is refused */
#define JSON_NAME_MAX  64  /* json_next_name() unescapes keys up to this length */

enum json_type {
	JSON_BAD, /* the reader has stopped */
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

/* What stands between the quotes. */
struct json_string {
	struct slice raw;
	bool escaped; /* has backslashes: json_text() takes them out */
};

struct json_reader {
	const char *at, *end, *start;
	const char *bad;  /* where it stopped making sense, or NULL */
	const char *why;  /* a literal */
	struct slice key; /* the one read last, for the error's text */
	unsigned depth;
	bool fresh; /* nothing stands between here and the { or [ before */
	char name[JSON_NAME_MAX];
};

struct json_reader json_open(struct slice s);

/* Stops the reader, unless it has stopped already.  `why` must be a literal.  Returns false. */
bool json_stop(struct json_reader *r, const char *where, const char *why);

/* Is all well, and nothing but blanks left?  0, or -EBADMSG with *ret_error (which may be NULL)
 * filled: what, and at which byte. */
int json_finish(struct json_reader *r, struct error *ret_error);

/* The type of the next value; it is not consumed.  JSON_BAD when none stands there. */
enum json_type json_peek(struct json_reader *r);

/* Enter; false (and stopped) when something else stands there. */
bool json_object(struct json_reader *r);
bool json_array(struct json_reader *r);

/* The next key of the object entered last; false at its end, which is then left. */
bool json_next_key(struct json_reader *r, struct json_string *ret_key);

/* The same, for keys that are compared with known names: without escapes.  (A key with escapes that
 * is longer than JSON_NAME_MAX comes as it stands, backslashes and all, and equals no name.)  Good
 * until the next call. */
bool json_next_name(struct json_reader *r, struct slice *ret_name);

/* Does another item stand in the array entered last?  False at its end, which is then left. */
bool json_next_item(struct json_reader *r);

/* Read one value; false (and stopped) when it is of another type. */
bool json_string(struct json_reader *r, struct json_string *ret_string);
bool json_bool(struct json_reader *r, bool *ret_value);
bool json_number(struct json_reader *r, struct slice *ret_digits);

/* Consumes a null if one stands there. */
bool json_null(struct json_reader *r);

/* Consumes any value whole, checking it as strictly as if it were read. */
void json_skip(struct json_reader *r);

/* Numbers as protobuf's JSON mapping has them: a JSON number, or a string with one inside.
 * Integers are exact over their whole range; "1e3" and "2.0" are integers, "2.5" is not.  Doubles
 * round correctly, whatever the locale; "NaN", "Infinity" and "-Infinity" are doubles. */
bool json_i64(struct json_reader *r, int64_t *ret_value);
bool json_u64(struct json_reader *r, uint64_t *ret_value);
bool json_u32(struct json_reader *r, uint32_t *ret_value);
bool json_double(struct json_reader *r, double *ret_value);

/* Has the reader stopped at an integer that is one, but too large? */
bool json_is_range_error(const struct json_reader *r);

/* For text that nearly always looks the same, tried before the general way; all consume nothing
 * when they return false, and the caller may put `at` back to where it was and start again. These
 * very bytes: */
static inline bool json_take(struct json_reader *r, struct slice bytes)
{
	if ((size_t)(r->end - r->at) < bytes.n || memcmp(r->at, bytes.p, bytes.n) != 0)
		return false;
	r->at += bytes.n;
	return true;
}

/* Behind an opening quote: plain ASCII without escapes, up to and with the closing quote. */
bool json_plain(struct json_reader *r, struct slice *ret_text);

/* An integer of at most 18 digits. */
bool json_digits(struct json_reader *r, int64_t *ret_value);

/* The string without escapes: as it lies when it has none, else in `scratch` (emptied first).  A
 * lone surrogate becomes U+FFFD.  Out of memory: scratch->failed, and an empty slice. */
struct slice json_text(struct json_string s, struct buffer *scratch);

/* Names a decoder knows.  Senders write their fields in the same order over and over, so the search
 * starts behind the name found last (*hint, 0 at first) and is right at once, mostly. */
struct json_name {
	struct slice text;
	int field;
};

/* A row of such a table. */
#define JSON_NAME(literal, field)                                                                  \
	{                                                                                          \
		{"" literal, sizeof(literal) - 1}, field                                           \
	}

/* The `field` of the row with that name, or -1. */
int json_name_find(const struct json_name *names, unsigned count, unsigned *hint,
		   struct slice name);

#endif
