/* base/u64.h - the order of numbers. */
#ifndef CAUSET_BASE_U64_H
#define CAUSET_BASE_U64_H

#include <stdint.h>

/* Of two uint64_t, for qsort() and bsearch(). */
static inline int u64_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#endif
