/* base/pages.c - memory that is shared and counted.
 *
 * A large one is a mapping of its own: aligned for reads past the page cache, and given back to the
 * system when its last owner goes.  Huge pages were tried, and were up to five times slower to fill
 * in virtual machines that give free memory back to their host. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"

#define PAGE       ((size_t)4096)
#define MAPPED_MIN ((size_t)1 << 20) /* below, the allocator does as well */

struct pages *pages_new(size_t n)
{
	size_t mapped = n >= MAPPED_MIN ? (n + PAGE - 1) & ~(PAGE - 1) : 0;
	struct pages *p;

	if (n > SIZE_MAX / 2)
		return NULL;
	p = malloc(sizeof(*p) + (mapped ? 0 : n));
	if (!p)
		return NULL;
	*p = (struct pages){.n = n, .bytes = (char *)(p + 1), .mapped = mapped};
	atomic_init(&p->refs, 1);
	if (mapped) {
		p->bytes = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		if (p->bytes == MAP_FAILED) {
			free(p);
			return NULL;
		}
	}
	return p;
}

struct pages *pages_ref(struct pages *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

struct pages *pages_unref(struct pages *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	if (p->mapped)
		munmap(p->bytes, p->mapped);
	free(p);
	return NULL;
}
