/* segment/bitpack_wide.h - unpacks eight values at a time, on processors that can.
 *
 * Eight values of w bits take w whole bytes, so from every eighth value on they lie in the same
 * places: one shuffle brings the bytes of each into its lane, one shift and one mask make the
 * value. */
#ifndef CAUSET_SEGMENT_BITPACK_WIDE_H
#define CAUSET_SEGMENT_BITPACK_WIDE_H

#include <stddef.h>
#include <stdint.h>

#define BITPACK_WIDE_MAX 25 /* a value and the bits before it in its first byte fit 32 bits */

/* As bitpack_decode() and bitpack_decode_u32(), of some of the values, from the first on; returns
 * how many: 0 where the processor cannot, where width is 0 or above BITPACK_WIDE_MAX, or where
 * `first` is not a multiple of eight. */
size_t bitpack_wide(const uint8_t *bytes, size_t size, unsigned width, uint64_t base, size_t first,
		    size_t count, uint64_t *out);
size_t bitpack_wide_u32(const uint8_t *bytes, size_t size, unsigned width, uint32_t base,
			size_t first, size_t count, uint32_t *out);

#endif
