/* segment/bitpack.h - integers of the same few bits one behind the other, lowest bits first.
 *
 * Value i occupies bits i * width … of the stream, bit b being bit b % 8 of byte b / 8.  Widths are
 * 0 … BITPACK_MAX and 64: a value of at most 57 bits is read with one unaligned 64-bit load
 * wherever it lies, so any value can be had without the ones before it and the loops stay free of
 * branches. */
#ifndef CAUSET_SEGMENT_BITPACK_H
#define CAUSET_SEGMENT_BITPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITPACK_MAX 57

/* The width to use for values up to `largest`. */
static inline unsigned bitpack_width(uint64_t largest)
{
	unsigned bits = largest ? 64 - (unsigned)__builtin_clzll(largest) : 0;

	return bits > BITPACK_MAX ? 64 : bits;
}

static inline bool bitpack_width_valid(unsigned width)
{
	return width <= BITPACK_MAX || width == 64;
}

/* Bytes of n values. */
static inline size_t bitpack_size(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

/* Writes values[i] - base, each of which fits `width`.  out has room for bitpack_size() + 8 bytes;
 * the last 8 may be touched and mean nothing. */
void bitpack_encode(const uint64_t *values, size_t n, uint64_t base, unsigned width, uint8_t *out);
void bitpack_encode_u32(const uint32_t *values, size_t n, uint32_t base, unsigned width,
			uint8_t *out);

/* Reads values first … first + count - 1 and adds base.  `bytes` holds exactly `size` readable
 * bytes; the caller has checked that they cover the values. */
void bitpack_decode(const uint8_t *bytes, size_t size, unsigned width, uint64_t base, size_t first,
		    size_t count, uint64_t *out);
/* The same for width <= 32; sums wrap around at 32 bits. */
void bitpack_decode_u32(const uint8_t *bytes, size_t size, unsigned width, uint32_t base,
			size_t first, size_t count, uint32_t *out);

#endif
