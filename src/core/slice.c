/* core/slice.c - a borrowed run of bytes. */
#include "core/slice.h"

#include <errno.h>

int slice_cmp(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c != 0)
		return c;
	return a.n < b.n ? -1 : a.n > b.n;
}

static inline char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool slice_eq_nocase(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	return true;
}

static inline bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct slice slice_trim(struct slice s)
{
	while (s.n && blank(s.p[0]))
		s.p++, s.n--;
	while (s.n && blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct slice slice_cut(struct slice *rest, char sep)
{
	struct slice all = *rest;
	const char *at = all.n ? memchr(all.p, sep, all.n) : NULL;

	if (!at) {
		*rest = slice_of(NULL, 0);
		return all;
	}
	*rest = slice_of(at + 1, all.n - (size_t)(at - all.p) - 1);
	return slice_of(all.p, (size_t)(at - all.p));
}

int slice_parse_u64(struct slice s, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (s.n == 0)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned char)s.p[i] - '0';

		if (digit > 9)
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	*ret_value = value;
	return 0;
}
