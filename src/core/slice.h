/* core/slice.h - a borrowed run of bytes.  Text from outside is never NUL-terminated in here. */
#ifndef CAUSET_CORE_SLICE_H
#define CAUSET_CORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *p; /* may be NULL when n is 0 */
	size_t n;
};

/* For literals only: SLICE("text"). */
#define SLICE(literal) ((struct slice){"" literal, sizeof(literal) - 1})

/* For printf: printf("%.*s", SLICE_ARG(s)). */
#define SLICE_ARG(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct slice slice_of(const void *p, size_t n)
{
	return (struct slice){p, n};
}

static inline struct slice slice_cstr(const char *text)
{
	return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_starts(struct slice s, struct slice prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool slice_ends(struct slice s, struct slice suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* Bytes from `from` on; empty when the slice is shorter. */
static inline struct slice slice_from(struct slice s, size_t from)
{
	return from < s.n ? slice_of(s.p + from, s.n - from) : slice_of(s.p, 0);
}

static inline struct slice slice_first(struct slice s, size_t n)
{
	return slice_of(s.p, n < s.n ? n : s.n);
}

/* Order by bytes, shorter first among equal prefixes. */
int slice_cmp(struct slice a, struct slice b);

/* ASCII letters compare without case. */
bool slice_eq_nocase(struct slice a, struct slice b);

/* Without ASCII blanks (space, tab, CR, LF) at both ends. */
struct slice slice_trim(struct slice s);

/* Splits `*rest` at the first `sep`: returns what stands before it and moves `*rest` behind it.
 * Without a separator the whole is returned and *rest is left with a NULL pointer. */
struct slice slice_cut(struct slice *rest, char sep);

/* Decimal, no sign, no blanks.  -EINVAL on anything else, -ERANGE above UINT64_MAX. */
int slice_parse_u64(struct slice s, uint64_t *ret_value);

#endif
