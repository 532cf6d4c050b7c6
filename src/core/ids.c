/* core/ids.c - trace and span ids: bytes inside, hex at the edges. */
#include "core/ids.h"

#include <errno.h>

/* Values of the digits, plus one; 0 for every other byte. */
static const uint8_t digits_of[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static inline int digit(char c)
{
	return digits_of[(unsigned char)c] - 1;
}

int hex_decode(struct slice hex, void *out, size_t n)
{
	uint8_t *to = out;

	if (hex.n != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int high = digit(hex.p[2 * i]), low = digit(hex.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

void hex_encode(const void *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[from[i] >> 4];
		out[2 * i + 1] = digits[from[i] & 15];
	}
}

int trace_id_parse(struct slice hex, struct trace_id *ret_id)
{
	char padded[TRACE_ID_HEX];
	struct trace_id id;

	if (hex.n == 0 || hex.n > sizeof(padded))
		return -EINVAL;
	memset(padded, '0', sizeof(padded));
	memcpy(padded + sizeof(padded) - hex.n, hex.p, hex.n);
	if (hex_decode(slice_of(padded, sizeof(padded)), id.b, sizeof(id.b)) < 0 ||
	    trace_id_is_zero(id))
		return -EINVAL;
	*ret_id = id;
	return 0;
}

int span_id_parse(struct slice hex, span_id_t *ret_id)
{
	span_id_t id = 0;

	if (hex.n == 0 || hex.n > SPAN_ID_HEX)
		return -EINVAL;
	for (size_t i = 0; i < hex.n; i++) {
		int d = digit(hex.p[i]);

		if (d < 0)
			return -EINVAL;
		id = id << 4 | (unsigned)d;
	}
	if (id == 0)
		return -EINVAL;
	*ret_id = id;
	return 0;
}

void trace_id_format(struct trace_id id, char out[TRACE_ID_HEX + 1])
{
	hex_encode(id.b, sizeof(id.b), out);
	out[TRACE_ID_HEX] = '\0';
}

void span_id_format(span_id_t id, char out[SPAN_ID_HEX + 1])
{
	uint8_t bytes[8];

	store_be64(bytes, id);
	hex_encode(bytes, sizeof(bytes), out);
	out[SPAN_ID_HEX] = '\0';
}
