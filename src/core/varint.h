/* core/varint.h - protobuf's base-128 numbers. */
#ifndef CAUSET_CORE_VARINT_H
#define CAUSET_CORE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes of the longest 64-bit number */

/* Reads one number from [p, end).  Returns the byte behind it, or NULL when it is cut off or longer
 * than ten bytes. */
static inline const uint8_t *varint_decode(const uint8_t *p, const uint8_t *end,
					   uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
		uint8_t byte = *p++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return p;
		}
	}
	return NULL;
}

static inline size_t varint_size(uint64_t value)
{
	return ((size_t)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* Writes at most VARINT_MAX bytes; returns how many. */
static inline size_t varint_encode(uint64_t value, uint8_t *out)
{
	size_t n = 0;

	while (value >= 0x80) {
		out[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[n++] = (uint8_t)value;
	return n;
}

static inline uint64_t zigzag_encode(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t zigzag_decode(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
