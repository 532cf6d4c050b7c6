/* core/baggage_header.c - W3C's `baggage` header: what an application sends along with a request.
 */
#include "core/baggage_header.h"

#include <errno.h>

#include "core/ids.h"
#include "core/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool alnum(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* RFC 7230's token. */
static bool token_valid(struct slice s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.n; i++)
		if (!alnum(s.p[i]) && !memchr(others, s.p[i], sizeof(others) - 1))
			return false;
	return s.n > 0;
}

/* Printable ASCII without blank, quote, comma, semicolon and backslash. */
static bool octet(char c)
{
	return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

static bool value_valid(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!octet(s.p[i]))
			return false;
	return true;
}

bool baggage_property_next(struct slice *rest, struct slice *ret_key, struct slice *ret_value)
{
	struct slice value, key;

	if (!rest->p || rest->n == 0)
		return false;
	value = slice_cut(rest, ';');
	key = slice_cut(&value, '=');
	*ret_key = slice_trim(key);
	*ret_value = value.p ? slice_trim(value) : value;
	return true;
}

static bool properties_valid(struct slice properties)
{
	struct slice rest = properties, key, value;

	while (baggage_property_next(&rest, &key, &value))
		if (!token_valid(key) || !value_valid(value))
			return false;
	/* A trailing ';' would announce a property that is not there. */
	return properties.n == 0 || properties.p[properties.n - 1] != ';';
}

static bool member_valid(const struct baggage_member *m)
{
	return token_valid(m->key) && value_valid(m->value) && properties_valid(m->properties);
}

static bool member_parse(struct slice text, struct baggage_member *ret_member)
{
	struct slice properties = text, value = slice_cut(&properties, ';');
	struct slice key = slice_cut(&value, '=');

	if (!value.p)
		return false;
	ret_member->key = slice_trim(key);
	ret_member->value = slice_trim(value);
	if (properties.p && properties.n == 0)
		return false;
	ret_member->properties = slice_trim(properties);
	return member_valid(ret_member);
}

/* As sent, with the comma before it. */
static size_t member_bytes(const struct baggage_member *m)
{
	return 1 + m->key.n + 1 + m->value.n + (m->properties.n ? 1 + m->properties.n : 0);
}

static bool fits(const struct baggage_header *b, const struct baggage_member *m)
{
	/* One comma less than members. */
	return b->n < BAGGAGE_MAX_MEMBERS && b->bytes + member_bytes(m) - 1 <= BAGGAGE_MAX_BYTES;
}

static void append(struct baggage_header *b, const struct baggage_member *m)
{
	b->bytes += member_bytes(m);
	b->members[b->n++] = *m;
}

void baggage_parse(struct baggage_header *b, struct slice header)
{
	struct slice rest = header;

	while (rest.p) {
		struct slice text = slice_trim(slice_cut(&rest, ','));
		struct baggage_member m;

		if (text.n == 0)
			continue;
		if (!member_parse(text, &m))
			b->malformed++;
		else if (!fits(b, &m))
			b->dropped++;
		else
			append(b, &m);
	}
}

const struct baggage_member *baggage_get(const struct baggage_header *b, struct slice key)
{
	for (size_t i = b->n; i-- > 0;)
		if (slice_eq(b->members[i].key, key))
			return &b->members[i];
	return NULL;
}

void baggage_remove(struct baggage_header *b, struct slice key)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (slice_eq(b->members[i].key, key))
			b->bytes -= member_bytes(&b->members[i]);
		else
			b->members[kept++] = b->members[i];
	}
	b->n = kept;
}

int baggage_set(struct baggage_header *b, const struct baggage_member *member)
{
	size_t at = b->n, bytes = b->bytes, same = 0;

	if (!member_valid(member))
		return -EINVAL;
	for (size_t i = b->n; i-- > 0;)
		if (slice_eq(b->members[i].key, member->key)) {
			bytes -= member_bytes(&b->members[i]);
			at = i;
			same++;
		}
	if (b->n - same >= BAGGAGE_MAX_MEMBERS ||
	    bytes + member_bytes(member) - 1 > BAGGAGE_MAX_BYTES)
		return -ENOSPC;
	baggage_remove(b, member->key);
	/* `at` is where the first of them stood, so nothing before it has moved. */
	memmove(&b->members[at + 1], &b->members[at], (b->n - at) * sizeof(b->members[0]));
	b->members[at] = *member;
	b->n++;
	b->bytes += member_bytes(member);
	return 0;
}

static char *put(char *to, struct slice s)
{
	if (s.n)
		memcpy(to, s.p, s.n);
	return to + s.n;
}

size_t baggage_format(const struct baggage_header *b, char *out, size_t capacity)
{
	char *to = out;

	for (size_t i = 0; i < b->n; i++) {
		const struct baggage_member *m = &b->members[i];

		if ((size_t)(to - out) + member_bytes(m) - (to == out) > capacity)
			break;
		if (to != out)
			*to++ = ',';
		to = put(to, m->key);
		*to++ = '=';
		to = put(to, m->value);
		if (m->properties.n) {
			*to++ = ';';
			to = put(to, m->properties);
		}
	}
	return (size_t)(to - out);
}

/* The byte at the start of `raw`, undone; how many characters stand for it in *ret_used. */
static uint8_t decode_byte(struct slice raw, size_t *ret_used)
{
	uint8_t byte;

	if (raw.p[0] == '%' && raw.n >= 3 && hex_decode(slice_of(raw.p + 1, 2), &byte, 1) == 0) {
		*ret_used = 3;
		return byte;
	}
	*ret_used = 1;
	return (uint8_t)raw.p[0];
}

/* Up to four bytes ahead are undone to see one UTF-8 sequence; so decoding needs no second buffer.
 */
static size_t decode_sequence(struct slice raw, char bytes[4], size_t *ret_used)
{
	size_t used[4] = {0}, have = 0, at = 0, n;

	while (have < 4 && at < raw.n) {
		bytes[have] = (char)decode_byte(slice_from(raw, at), &used[have]);
		at += used[have++];
	}
	n = utf8_sequence(slice_of(bytes, have));
	*ret_used = used[0];
	for (size_t i = 1; i < n; i++)
		*ret_used += used[i];
	return n;
}

int baggage_value_decode(struct slice raw, char *out, size_t capacity, size_t *ret_n)
{
	size_t n = 0;

	for (size_t at = 0, used; at < raw.n; at += used) {
		char bytes[4];
		size_t length = decode_sequence(slice_from(raw, at), bytes, &used);
		const char *from = length ? bytes : replacement;

		if (length == 0)
			length = sizeof(replacement) - 1;
		if (capacity - n < length)
			return -ENOBUFS;
		memcpy(out + n, from, length);
		n += length;
	}
	*ret_n = n;
	return 0;
}

int baggage_value_encode(struct slice text, char *out, size_t capacity, size_t *ret_n)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = (uint8_t)text.p[i];
		bool plain = octet(text.p[i]) && c != '%';

		if (capacity - n < (plain ? 1u : 3u))
			return -ENOBUFS;
		if (plain) {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = digits[c >> 4];
			out[n++] = digits[c & 15];
		}
	}
	*ret_n = n;
	return 0;
}
