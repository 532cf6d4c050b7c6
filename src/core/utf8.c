/* core/utf8.c - is this text, and where does it stop being text? */
#include "core/utf8.h"

static bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t utf8_sequence(struct slice s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2)
		return 0;
	if (p[0] < 0xe0)
		return s.n >= 2 && continues(p[1]) ? 2 : 0;
	if (p[0] < 0xf0) {
		if (s.n < 3 || !continues(p[1]) || !continues(p[2]))
			return 0;
		if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0))
			return 0;
		return 3;
	}
	if (p[0] < 0xf5) {
		if (s.n < 4 || !continues(p[1]) || !continues(p[2]) || !continues(p[3]))
			return 0;
		if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
			return 0;
		return 4;
	}
	return 0;
}

size_t utf8_valid_prefix(struct slice s)
{
	size_t at = 0;

	while (at < s.n) {
		uint64_t word;
		size_t n;

		/* Nearly all text is ASCII: eight bytes at a time. */
		while (s.n - at >= 8) {
			memcpy(&word, s.p + at, 8);
			if (word & 0x8080808080808080ULL)
				break;
			at += 8;
		}
		n = utf8_sequence(slice_from(s, at));
		if (n == 0)
			break;
		at += n;
	}
	return at;
}

size_t utf8_encode(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}
