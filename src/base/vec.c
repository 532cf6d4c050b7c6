/* base/vec.c - growth of plain arrays. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define VEC_FIRST 8

bool vec_grow(void *array, size_t *capacity, size_t need, size_t size)
{
	/* The first wish is taken at its word: whoever knows how much will come says so. */
	size_t count = *capacity ? *capacity : need > VEC_FIRST ? need : VEC_FIRST, bytes;
	void *p;

	while (count < need)
		if (__builtin_mul_overflow(count, 2, &count))
			return false;
	if (__builtin_mul_overflow(count, size, &bytes))
		return false;
	memcpy(&p, array,
	       sizeof(p)); /* the caller's pointer type is unknown: no aliasing through void ** */
	p = realloc(p, bytes);
	if (!p)
		return false;
	memcpy(array, &p, sizeof(p));
	*capacity = count;
	return true;
}
