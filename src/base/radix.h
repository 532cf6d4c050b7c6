/* base/radix.h - sorts many numbered 64-bit keys without comparing them. */
#ifndef CAUSET_BASE_RADIX_H
#define CAUSET_BASE_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct radix_item {
	uint64_t key;
	uint32_t value;
	uint32_t more; /* goes along, in room that is there anyway */
};

/* Sorts by key; equal keys keep their order.  `spare` has room for n items and is overwritten.
 * One pass per byte in which keys differ, or of many keys two, unless their highest bits are mostly
 * the same. */
void radix_sort(struct radix_item *items, struct radix_item *spare, size_t n);

#endif
