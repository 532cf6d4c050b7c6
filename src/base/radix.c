/* base/radix.c - sorts many numbered 64-bit keys without comparing them.
 *
 * From the lowest byte to the highest, each pass a stable distribution into 256 bins; the bins of
 * all eight bytes are counted in one pass over the keys, and bytes all keys share are skipped (for
 * times of one trace that is half of them).
 *
 * Of many keys the highest bits in which they differ nearly decide: two passes over 22 of these,
 * and what is still equal then lies together and is sorted by itself. */
#include "base/radix.h"

#include <string.h>

#define BYTES      8
#define BINS       256
#define SMALL_MOST 48

#define MANY       4096
#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

static void insertion_sort(struct radix_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct radix_item item = items[i];
		size_t at = i;

		for (; at > 0 && items[at - 1].key > item.key; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

static void distribute(const struct radix_item *from, struct radix_item *to, size_t n,
		       unsigned shift, const size_t count[BINS])
{
	size_t start[BINS], sum = 0;

	for (size_t i = 0; i < BINS; i++) {
		start[i] = sum;
		sum += count[i];
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i].key >> shift & (BINS - 1)]++] = from[i];
}

static void sort_bytes(struct radix_item *items, struct radix_item *spare, size_t n)
{
	size_t count[BYTES][BINS];
	struct radix_item *from = items, *to = spare;

	if (n <= SMALL_MOST) {
		insertion_sort(items, n);
		return;
	}
	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < n; i++)
		for (unsigned byte = 0; byte < BYTES; byte++)
			count[byte][items[i].key >> (8 * byte) & (BINS - 1)]++;
	for (unsigned byte = 0; byte < BYTES; byte++) {
		struct radix_item *swap = from;

		if (count[byte][items[0].key >> (8 * byte) & (BINS - 1)] == n)
			continue;
		distribute(from, to, n, 8 * byte, count[byte]);
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
}

/* One pass of DIGIT_BITS bits. */
static void pass(const struct radix_item *from, struct radix_item *to, size_t n, unsigned shift)
{
	size_t start[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[from[i].key >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t count = start[i];

		start[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

void radix_sort(struct radix_item *items, struct radix_item *spare, size_t n)
{
	uint64_t differ = 0;
	unsigned top, shift;

	if (n < MANY) {
		sort_bytes(items, spare, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		differ |= items[i].key ^ items[0].key;
	top = differ ? 64 - (unsigned)__builtin_clzll(differ) : 0;
	shift = top > 2 * DIGIT_BITS ? top - 2 * DIGIT_BITS : 0;
	pass(items, spare, n, shift);
	pass(spare, items, n, shift + DIGIT_BITS);
	for (size_t i = 0, end; i < n && shift > 0; i = end) {
		for (end = i + 1; end < n && items[end].key >> shift == items[i].key >> shift;
		     end++)
			;
		if (end - i > 1)
			sort_bytes(items + i, spare, end - i);
	}
}
