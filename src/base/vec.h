/* base/vec.h - growth of plain arrays.  The array, its length and capacity are ordinary fields of
 * the caller's struct, so loops over it stay ordinary loops. */
#ifndef CAUSET_BASE_VEC_H
#define CAUSET_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

bool vec_grow(void *array, size_t *capacity, size_t need, size_t size);

/* Makes room for `need` elements of `size` bytes in *array (doubling).  False when out of memory;
 * the array is then unchanged.  `array` points to the caller's pointer, whatever its type. */
static inline bool vec_reserve(void *array, size_t *capacity, size_t need, size_t size)
{
	return need <= *capacity || vec_grow(array, capacity, need, size);
}

#endif
