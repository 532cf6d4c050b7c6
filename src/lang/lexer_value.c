/* lang/lexer_value.c - what numbers, durations and strings are worth. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/quantity.h"
#include "core/utf8.h"
#include "lang/lexer.h"

#define FLOAT_MAX_CHARS 400 /* of a number with a point; longer ones are refused */

int64_t token_int(const struct tokens *t, const struct token *token, struct diags *diags)
{
	struct slice text = token_text(t, token);
	uint64_t value = 0;
	bool fits = true;

	if (text.n > 2 && (text.p[1] | 0x20) == 'x') {
		for (size_t i = 2; i < text.n; i++) {
			char c = text.p[i];

			fits = fits && value >> 60 == 0;
			value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
		}
	} else {
		fits = slice_parse_u64(text, &value) == 0;
	}
	if (fits && value <= INT64_MAX)
		return (int64_t)value;
	diag_add(diags, DIAG_BAD_NUMBER, token->begin, token->end,
		 "an integer is at most 9223372036854775807; write 1e19 for a number that large");
	return 0;
}

double token_float(const struct tokens *t, const struct token *token, struct diags *diags)
{
	struct slice text = token_text(t, token);
	char copy[FLOAT_MAX_CHARS];
	double value = INFINITY;

	if (text.n < sizeof(copy)) {
		memcpy(copy, text.p, text.n);
		copy[text.n] = 0;
		value = strtod(copy, NULL);
	}
	if (isfinite(value))
		return value;
	diag_add(diags, DIAG_BAD_NUMBER, token->begin, token->end, "this number is too large");
	return 0;
}

int64_t token_duration(const struct tokens *t, const struct token *token, struct diags *diags)
{
	int64_t ns;

	if (duration_parse(token_text(t, token), &ns) == 0)
		return ns;
	diag_add(diags, DIAG_BAD_NUMBER, token->begin, token->end,
		 "a duration is at most 292 years");
	return 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* `digits` hexadecimal digits at s, or -1. */
static int64_t hex_read(struct slice s, size_t digits)
{
	int64_t value = 0;

	if (s.n < digits)
		return -1;
	for (size_t i = 0; i < digits; i++) {
		if (hex_value(s.p[i]) < 0)
			return -1;
		value = value << 4 | hex_value(s.p[i]);
	}
	return value;
}

/* One escape, behind its backslash.  How many bytes it has, 0 for an unknown one; what it means
 * goes to *out. */
static size_t escape_read(struct slice s, char **out)
{
	static const char plain[] = "nrtabfv0\\\"'`/", means[] = "\n\r\t\a\b\f\v\0\\\"'`/";
	size_t digits = s.p[0] == 'x' ? 2 : s.p[0] == 'u' ? 4 : s.p[0] == 'U' ? 8 : 0;
	const char *found;
	int64_t value;

	if (digits) {
		value = hex_read(slice_from(s, 1), digits);
		if (value < 0 || value >= 0x110000 || (value >= 0xd800 && value < 0xe000))
			return 0;
		*out += utf8_encode((uint32_t)value, *out);
		return 1 + digits;
	}
	found = memchr(plain, s.p[0], sizeof(plain) - 1);
	if (!found)
		return 0;
	*(*out)++ = means[found - plain];
	return 1;
}

struct slice token_string(const struct tokens *t, const struct token *token, struct arena *arena,
			  struct diags *diags)
{
	struct slice text = token_text(t, token), body = slice_of(text.p + 1, text.n - 2);
	char *copy, *out;

	if (text.p[0] == '`' || !memchr(body.p, '\\', body.n))
		return body;
	/* No escape is longer than what it is written as. */
	copy = out = arena_alloc(arena, body.n + 1);
	if (!copy) {
		diags->no_memory = true;
		return SLICE("");
	}
	for (size_t i = 0; i < body.n;) {
		uint32_t at = token->begin + 1 + (uint32_t)i;
		size_t used;

		if (body.p[i] != '\\') {
			*out++ = body.p[i++];
			continue;
		}
		used = escape_read(slice_from(body, i + 1), &out);
		if (used == 0) {
			size_t bytes = utf8_sequence(slice_from(body, i + 1));

			bytes = bytes ? bytes : 1;
			diag_add(diags, DIAG_BAD_ESCAPE, at, at + 1 + (uint32_t)bytes,
				 "\\%.*s is no escape; write \\\\ for a backslash, or use `…`",
				 (int)bytes, body.p + i + 1);
			diag_fix(diags, at, at + 1, SLICE("\\\\"));
			*out++ = '\\';
		}
		i += 1 + used;
	}
	return slice_of(copy, (size_t)(out - copy));
}
