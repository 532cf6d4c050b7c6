/* base/pages.h - a stretch of memory that several owners share, freed with the last of them. */
#ifndef CAUSET_BASE_PAGES_H
#define CAUSET_BASE_PAGES_H

#include <stdatomic.h>
#include <stddef.h>

struct pages {
	_Atomic size_t refs;
	size_t n;
	char *bytes;   /* aligned to 16 at least; contents are not defined at first */
	size_t mapped; /* n, rounded up to whole pages, and aligned so; 0: below a mebibyte */
};

/* n bytes with one reference; n may be 0.  NULL when out of memory. */
struct pages *pages_new(size_t n);

/* Any thread.  unref frees with the last reference; it accepts NULL and returns NULL. */
struct pages *pages_ref(struct pages *p);
struct pages *pages_unref(struct pages *p);

static inline void pages_unrefp(struct pages **p)
{
	pages_unref(*p);
}

#endif
