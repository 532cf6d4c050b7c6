/* wire/json_reader.c - reading JSON where it lies: structure and strings.
 *
 * What costs time is strings: three quarters of OTLP JSON lie between quotes.  Bytes above 0x7f are
 * noticed while searching for their end (wire/json_scan_int.h), and only strings that have some are
 * checked for UTF-8. */
#include "wire/json_reader.h"

#include <errno.h>

#include "core/hash.h"
#include "core/utf8.h"
#include "wire/json_scan_int.h"

struct json_reader json_open(struct slice s)
{
	const char *p = s.p ? s.p : "";

	if (slice_starts(s, SLICE("\xef\xbb\xbf")))
		return (struct json_reader){.start = p, .at = p + 3, .end = p + s.n};
	return (struct json_reader){.start = p, .at = p, .end = p + s.n};
}

bool json_stop(struct json_reader *r, const char *where, const char *why)
{
	if (!r->bad) {
		r->bad = where;
		r->why = why;
	}
	r->at = r->end;
	return false;
}

static bool blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_blanks(struct json_reader *r)
{
	const char *p = r->at;

	while (p < r->end && blank(*p)) {
		p++;
		/* Indentation. */
		while (r->end - p >= 8 && hash_load64(p) == 0x2020202020202020ULL)
			p += 8;
	}
	r->at = p;
}

/* To the next byte that is not blank; false at the end. */
static inline bool to_token(struct json_reader *r)
{
	if (__builtin_expect(r->at < r->end && (unsigned char)*r->at > ' ', 1))
		return true;
	skip_blanks(r);
	return r->at < r->end || json_stop(r, r->end, "the text ends too early");
}

int json_finish(struct json_reader *r, struct error *ret_error)
{
	size_t offset;

	if (!r->bad) {
		skip_blanks(r);
		if (r->at < r->end)
			json_stop(r, r->at, "more text behind the value");
	}
	if (!r->bad)
		return 0;
	offset = (size_t)(r->bad - r->start);
	if (r->key.n == 0)
		return error_at(ret_error, -EBADMSG, offset, "JSON: %s at byte %zu", r->why,
				offset);
	return error_at(ret_error, -EBADMSG, offset, "JSON: %s at byte %zu, near \"%.*s\"", r->why,
			offset, SLICE_ARG(slice_first(r->key, JSON_NAME_MAX)));
}

enum json_type json_peek(struct json_reader *r)
{
	if (!to_token(r))
		return JSON_BAD;
	switch (*r->at) {
	case '"':
		return JSON_STRING;
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'))
			return JSON_NUMBER;
		json_stop(r, r->at, "a value is expected");
		return JSON_BAD;
	}
}

static bool enter(struct json_reader *r)
{
	if (r->depth == JSON_DEPTH_MAX)
		return json_stop(r, r->at, "nested too deeply");
	r->depth++;
	r->at++;
	r->fresh = true;
	return true;
}

static bool leave(struct json_reader *r)
{
	r->depth--;
	r->at++;
	r->fresh = false;
	return false;
}

bool json_object(struct json_reader *r)
{
	if (!to_token(r))
		return false;
	return *r->at == '{' ? enter(r) : json_stop(r, r->at, "an object is expected");
}

bool json_array(struct json_reader *r)
{
	if (!to_token(r))
		return false;
	return *r->at == '[' ? enter(r) : json_stop(r, r->at, "an array is expected");
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind "\u", or -1. */
static int hex4(const char *p, const char *end)
{
	int value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		value = value << 4 | d;
	}
	return value;
}

/* Bytes of the escape at p, 0 if it is none. */
static size_t escape_length(const char *p, const char *end)
{
	if (end - p < 2)
		return 0;
	switch (p[1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return 2;
	case 'u':
		return hex4(p + 2, end) < 0 ? 0 : 6;
	default:
		return 0;
	}
}

/* The string whose opening quote the reader stands on. */
static inline bool read_string(struct json_reader *r, struct json_string *ret)
{
	const char *begin = r->at + 1, *p = begin;
	bool high = false, escaped = false;

	for (;;) {
		size_t n;

		p = json_scan_plain(p, r->end, &high);
		if (p == r->end)
			return json_stop(r, begin - 1, "a string does not end");
		if (__builtin_expect(*p == '"', 1))
			break;
		if (*p != '\\')
			return json_stop(r, p, "a control character in a string");
		n = escape_length(p, r->end);
		if (n == 0)
			return json_stop(r, p, "no such escape in a string");
		escaped = true;
		p += n;
	}
	*ret = (struct json_string){slice_of(begin, (size_t)(p - begin)), escaped};
	if (__builtin_expect(high, 0)) {
		size_t valid = utf8_valid_prefix(ret->raw);

		if (valid < ret->raw.n)
			return json_stop(r, begin + valid, "a string is not UTF-8");
	}
	r->at = p + 1;
	return true;
}

bool json_plain(struct json_reader *r, struct slice *ret_text)
{
	bool high = false;
	const char *p = json_scan_plain(r->at, r->end, &high);

	if (p == r->end || *p != '"' || high)
		return false;
	*ret_text = slice_of(r->at, (size_t)(p - r->at));
	r->at = p + 1;
	return true;
}

bool json_digits(struct json_reader *r, int64_t *ret_value)
{
	const char *p = r->at;
	bool negative = p < r->end && *p == '-';
	const char *first = p += negative;
	uint64_t value = 0; /* 19 digits fit */

	while (p < r->end && p - first < 19 && *p >= '0' && *p <= '9')
		value = value * 10 + (uint64_t)(*p++ - '0');
	/* Leading zeros and long or missing numbers are for the general way to judge. */
	if (p == first || p - first > 18 || (*first == '0' && p - first > 1))
		return false;
	*ret_value = negative ? -(int64_t)value : (int64_t)value;
	r->at = p;
	return true;
}

bool json_string(struct json_reader *r, struct json_string *ret)
{
	if (!to_token(r))
		return false;
	return *r->at == '"' ? read_string(r, ret) : json_stop(r, r->at, "a string is expected");
}

bool json_next_key(struct json_reader *r, struct json_string *ret_key)
{
	if (!to_token(r))
		return false;
	if (*r->at == '}')
		return leave(r);
	if (!r->fresh) {
		if (*r->at != ',')
			return json_stop(r, r->at, "a comma or } is expected");
		r->at++;
		if (!to_token(r))
			return false;
	}
	r->fresh = false;
	if (*r->at != '"')
		return json_stop(r, r->at, "a key is expected");
	if (!read_string(r, ret_key) || !to_token(r))
		return false;
	if (*r->at != ':')
		return json_stop(r, r->at, "a colon is expected");
	r->at++;
	r->key = ret_key->raw;
	return true;
}

bool json_next_item(struct json_reader *r)
{
	if (!to_token(r))
		return false;
	if (*r->at == ']')
		return leave(r);
	if (!r->fresh) {
		if (*r->at != ',')
			return json_stop(r, r->at, "a comma or ] is expected");
		r->at++;
		if (!to_token(r))
			return false;
		if (*r->at == ']')
			return json_stop(r, r->at, "a value is expected");
	}
	r->fresh = false;
	return true;
}

static bool literal(struct json_reader *r, struct slice word)
{
	if (!slice_starts(slice_of(r->at, (size_t)(r->end - r->at)), word))
		return json_stop(r, r->at, "a value is expected");
	r->at += word.n;
	return true;
}

bool json_bool(struct json_reader *r, bool *ret_value)
{
	if (json_peek(r) != JSON_BOOL)
		return json_stop(r, r->at, "true or false is expected");
	*ret_value = *r->at == 't';
	return literal(r, *ret_value ? SLICE("true") : SLICE("false"));
}

bool json_null(struct json_reader *r)
{
	return to_token(r) && *r->at == 'n' && literal(r, SLICE("null"));
}

static const char *digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

bool json_number(struct json_reader *r, struct slice *ret_digits)
{
	const char *p, *q, *end = r->end;

	if (json_peek(r) != JSON_NUMBER)
		return json_stop(r, r->at, "a number is expected");
	p = r->at + (*r->at == '-');
	q = digits(p, end);
	if (q == p || (*p == '0' && q - p > 1))
		return json_stop(r, r->at, "not a number");
	if (q < end && *q == '.') {
		p = q + 1;
		q = digits(p, end);
		if (q == p)
			return json_stop(r, r->at, "not a number");
	}
	if (q < end && (*q | 0x20) == 'e') {
		p = q + 1;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		q = digits(p, end);
		if (q == p)
			return json_stop(r, r->at, "not a number");
	}
	*ret_digits = slice_of(r->at, (size_t)(q - r->at));
	r->at = q;
	return true;
}

/* One scalar, or the opening of an object or array. */
static bool skip_one(struct json_reader *r, enum json_type type)
{
	struct json_string s;
	struct slice number;
	bool truth;

	switch (type) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		return enter(r);
	case JSON_STRING:
		return json_string(r, &s);
	case JSON_NUMBER:
		return json_number(r, &number);
	case JSON_BOOL:
		return json_bool(r, &truth);
	case JSON_NULL:
		return json_null(r);
	default:
		return false;
	}
}

void json_skip(struct json_reader *r)
{
	bool is_object[JSON_DEPTH_MAX + 1];
	const unsigned outside = r->depth;
	struct json_string key;

	do {
		enum json_type type = json_peek(r);

		if (!skip_one(r, type))
			return;
		if (type == JSON_OBJECT || type == JSON_ARRAY)
			is_object[r->depth] = type == JSON_OBJECT;
		/* To the next value, out of everything that ends here. */
		while (r->depth > outside &&
		       !(is_object[r->depth] ? json_next_key(r, &key) : json_next_item(r)))
			if (r->bad)
				return;
	} while (r->depth > outside);
}

/* Writes what the escape at *p stands for and moves *p behind it. */
static size_t unescape(const char **p, const char *end, char *to)
{
	const char *e = *p;
	int c;

	*p += 2;
	switch (e[1]) {
	case 'b':
		*to = '\b';
		return 1;
	case 'f':
		*to = '\f';
		return 1;
	case 'n':
		*to = '\n';
		return 1;
	case 'r':
		*to = '\r';
		return 1;
	case 't':
		*to = '\t';
		return 1;
	case 'u':
		break;
	default:
		*to = e[1];
		return 1;
	}
	c = hex4(e + 2, end);
	*p += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
		int low = hex4(*p + 2, end);

		if (low >= 0xdc00 && low < 0xe000) {
			*p += 6;
			return utf8_encode(0x10000u + ((unsigned)(c - 0xd800) << 10) +
						   (unsigned)(low - 0xdc00),
					   to);
		}
	}
	return utf8_encode(c >= 0xd800 && c < 0xe000 ? 0xfffdu : (unsigned)c, to);
}

/* An escape is longer than what it stands for, so raw.n bytes of room are enough. */
static size_t unescape_into(struct slice raw, char *to)
{
	const char *p = raw.p, *end = raw.p + raw.n;
	char *start = to;

	while (p < end) {
		const char *stop = memchr(p, '\\', (size_t)(end - p));

		stop = stop ? stop : end;
		memcpy(to, p, (size_t)(stop - p));
		to += stop - p;
		p = stop;
		if (p < end)
			to += unescape(&p, end, to);
	}
	return (size_t)(to - start);
}

struct slice json_text(struct json_string s, struct buffer *scratch)
{
	char *to;

	if (!s.escaped)
		return s.raw;
	buffer_clear(scratch);
	to = buffer_reserve(scratch, s.raw.n);
	if (!to)
		return slice_of(NULL, 0);
	scratch->n = unescape_into(s.raw, to);
	return buffer_get(scratch);
}

bool json_next_name(struct json_reader *r, struct slice *ret_name)
{
	struct json_string key;

	if (!json_next_key(r, &key))
		return false;
	*ret_name = key.raw;
	if (__builtin_expect(key.escaped && key.raw.n <= JSON_NAME_MAX, 0))
		*ret_name = slice_of(r->name, unescape_into(key.raw, r->name));
	return true;
}
