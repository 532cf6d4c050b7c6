/* tests/unit/http/guarded.h - input that ends at a page nobody may touch. */
#ifndef CAUSET_TESTS_UNIT_HTTP_GUARDED_H
#define CAUSET_TESTS_UNIT_HTTP_GUARDED_H

#include <sys/mman.h>
#include <unistd.h>

#include "core/slice.h"

struct guarded {
	char *base;
	size_t size; /* without the forbidden page */
};

static inline struct slice guarded_put(struct guarded *g, struct slice s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	g->size = (s.n + page) / page * page;
	g->base = mmap(NULL, g->size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	mprotect(g->base + g->size, page, PROT_NONE);
	if (s.n)
		memcpy(g->base + g->size - s.n, s.p, s.n);
	return slice_of(g->base + g->size - s.n, s.n);
}

static inline void guarded_done(struct guarded *g)
{
	munmap(g->base, g->size + (size_t)sysconf(_SC_PAGESIZE));
}

#endif
