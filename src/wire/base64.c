/* wire/base64.c - bytes as text, RFC 4648. */
#include "wire/base64.h"

#include <errno.h>

void base64_encode(struct slice bytes, char *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)bytes.p;

	for (size_t left = bytes.n; left > 0; p += 3, out += 4) {
		uint32_t v = (uint32_t)p[0] << 16 | (left > 1 ? (uint32_t)p[1] << 8 : 0) |
			     (left > 2 ? p[2] : 0u);

		out[0] = alphabet[v >> 18];
		out[1] = alphabet[v >> 12 & 63];
		out[2] = left > 1 ? alphabet[v >> 6 & 63] : '=';
		out[3] = left > 2 ? alphabet[v & 63] : '=';
		left -= left < 3 ? left : 3;
	}
}

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	if (c == '/' || c == '_')
		return 63;
	return -1;
}

int base64_decode(struct slice text, struct buffer *out)
{
	size_t padding = 0, at = 0;
	uint32_t bits = 0;
	char *to;

	while (padding < 2 && text.n > 0 && text.p[text.n - 1] == '=') {
		text.n--;
		padding++;
	}
	if (text.n % 4 == 1 || (padding > 0 && (text.n + padding) % 4 != 0))
		return -EINVAL;
	to = buffer_reserve(out, text.n / 4 * 3 + 3);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < text.n; i++) {
		int v = value_of(text.p[i]);

		if (v < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4 == 0)
			continue;
		to[at++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	out->n += at;
	return 0;
}
