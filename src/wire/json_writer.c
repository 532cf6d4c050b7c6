/* wire/json_writer.c - writing JSON to the end of a buffer. */
#include "wire/json_writer.h"

#include <math.h>

#include "core/ids.h"
#include "core/utf8.h"
#include "wire/base64.h"
#include "wire/json_number.h"
#include "wire/json_scan_int.h"

#define U64_DIGITS  20
#define INTEGER_MAX 1e15 /* whole doubles below it are written as integers */

static void separate(struct json_writer *w)
{
	if (w->comma)
		buffer_byte(w->out, ',');
	w->comma = true;
}

static void begin(struct json_writer *w, char c)
{
	separate(w);
	buffer_byte(w->out, c);
	w->comma = false;
}

static void end(struct json_writer *w, char c)
{
	buffer_byte(w->out, c);
	w->comma = true;
}

void json_begin_object(struct json_writer *w)
{
	begin(w, '{');
}

void json_end_object(struct json_writer *w)
{
	end(w, '}');
}

void json_begin_array(struct json_writer *w)
{
	begin(w, '[');
}

void json_end_array(struct json_writer *w)
{
	end(w, ']');
}

/* Bytes from the start of `s` that can stand as they are. */
static size_t plain_prefix(struct slice s)
{
	size_t at = 0;

	while (at < s.n) {
		unsigned char c = (unsigned char)s.p[at];
		size_t n;

		if (c == '"' || c == '\\' || c < 0x20)
			break;
		if (c < 0x80) {
			at++;
			continue;
		}
		n = utf8_sequence(slice_from(s, at));
		if (n == 0)
			break;
		at += n;
	}
	return at;
}

static void escape(struct buffer *b, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};

	switch (c) {
	case '"':
	case '\\':
		text[1] = (char)c;
		break;
	case '\b':
		text[1] = 'b';
		break;
	case '\f':
		text[1] = 'f';
		break;
	case '\n':
		text[1] = 'n';
		break;
	case '\r':
		text[1] = 'r';
		break;
	case '\t':
		text[1] = 't';
		break;
	default:
		if (c >= 0x80)
			buffer_append(b, "\xef\xbf\xbd", 3); /* not UTF-8: U+FFFD */
		else
			buffer_append(b, text, 6);
		return;
	}
	buffer_append(b, text, 2);
}

static void quoted(struct buffer *b, struct slice text)
{
	buffer_byte(b, '"');
	while (text.n > 0) {
		bool high = false;
		size_t n = (size_t)(json_scan_plain(text.p, text.p + text.n, &high) - text.p);

		if (high)
			n = plain_prefix(text);
		buffer_append(b, text.p, n);
		text = slice_from(text, n);
		if (text.n > 0) {
			escape(b, (unsigned char)text.p[0]);
			text = slice_from(text, 1);
		}
	}
	buffer_byte(b, '"');
}

void json_put_key(struct json_writer *w, struct slice key)
{
	separate(w);
	quoted(w->out, key);
	buffer_byte(w->out, ':');
	w->comma = false;
}

void json_put_literal(struct json_writer *w, const char *name, size_t n)
{
	char *to = buffer_reserve(w->out, n + 4);

	if (!to)
		return;
	*to = ',';
	to += w->comma;
	*to++ = '"';
	memcpy(to, name, n);
	to[n] = '"';
	to[n + 1] = ':';
	w->out->n += n + 3 + w->comma;
	w->comma = false;
}

void json_put_string(struct json_writer *w, struct slice text)
{
	separate(w);
	quoted(w->out, text);
}

void json_put_cstr(struct json_writer *w, const char *text)
{
	json_put_string(w, slice_cstr(text));
}

void json_put_json(struct json_writer *w, struct slice json)
{
	separate(w);
	buffer_slice(w->out, json);
}

void json_put_null(struct json_writer *w)
{
	json_put_json(w, SLICE("null"));
}

void json_put_bool(struct json_writer *w, bool value)
{
	json_put_json(w, value ? SLICE("true") : SLICE("false"));
}

static void number(struct json_writer *w, bool negative, uint64_t magnitude, bool as_text)
{
	char text[U64_DIGITS + 3];
	size_t at = sizeof(text);

	if (as_text)
		text[--at] = '"';
	do {
		text[--at] = (char)('0' + magnitude % 10);
		magnitude /= 10;
	} while (magnitude > 0);
	if (negative)
		text[--at] = '-';
	if (as_text)
		text[--at] = '"';
	separate(w);
	buffer_append(w->out, text + at, sizeof(text) - at);
}

static uint64_t magnitude_of(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void json_put_i64(struct json_writer *w, int64_t value)
{
	number(w, value < 0, magnitude_of(value), false);
}

void json_put_u64(struct json_writer *w, uint64_t value)
{
	number(w, false, value, false);
}

void json_put_i64_text(struct json_writer *w, int64_t value)
{
	number(w, value < 0, magnitude_of(value), true);
}

void json_put_u64_text(struct json_writer *w, uint64_t value)
{
	number(w, false, value, true);
}

void json_put_double(struct json_writer *w, double value)
{
	char text[NUMBER_TEXT_MAX];

	if (isnan(value))
		json_put_json(w, SLICE("\"NaN\""));
	else if (isinf(value))
		json_put_json(w, value > 0 ? SLICE("\"Infinity\"") : SLICE("\"-Infinity\""));
	else if (value == 0 && signbit(value))
		json_put_json(w, SLICE("-0.0")); /* some take -0 for an integer */
	else if (fabs(value) < INTEGER_MAX && value == (double)(int64_t)value)
		json_put_i64(w, (int64_t)value);
	else
		json_put_json(w, slice_of(text, number_format_double(value, text)));
}

void json_put_hex(struct json_writer *w, const void *bytes, size_t n)
{
	char *to;

	separate(w);
	to = buffer_reserve(w->out, 2 * n + 2);
	if (!to)
		return;
	*to = '"';
	hex_encode(bytes, n, to + 1);
	to[2 * n + 1] = '"';
	w->out->n += 2 * n + 2;
}

void json_put_base64(struct json_writer *w, struct slice bytes)
{
	size_t n = base64_size(bytes.n);
	char *to;

	separate(w);
	to = buffer_reserve(w->out, n + 2);
	if (!to)
		return;
	*to = '"';
	base64_encode(bytes, to + 1);
	to[n + 1] = '"';
	w->out->n += n + 2;
}
