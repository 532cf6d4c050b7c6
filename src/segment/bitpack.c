/* segment/bitpack.c - packing and unpacking of bits. */
#include "segment/bitpack.h"

#include <string.h>

#include "segment/bitpack_wide.h"

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Bits that wait to fill a byte: fewer than 8 between two values. */
struct pack {
	uint64_t word;
	unsigned fill;
	uint8_t *out;
};

/* A whole word is stored each time, and the next begins in its last byte that is not full: no
 * branch depends on where a value falls.  A shift by 64 - that is, 57 bits behind 7 - is made in
 * two. */
static inline void pack_put(struct pack *p, uint64_t bits, unsigned width)
{
	p->word |= bits << p->fill;
	p->fill += width;
	store64(p->out, p->word);
	p->out += p->fill >> 3;
	p->word = p->word >> (p->fill & 0x78) / 2 >> (p->fill & 0x78) / 2;
	p->fill &= 7;
}

/* Narrow values go four or two at a time, as long as they and the bits that wait fit a word. */
#define PACK_FOUR 14
#define PACK_TWO  28

#define PACK(values, n, base, width, to)                                                           \
	do {                                                                                       \
		struct pack p = {.out = (to)};                                                     \
		unsigned w = (width);                                                              \
		size_t i = 0;                                                                      \
                                                                                                   \
		for (; w <= PACK_FOUR && i + 4 <= (n); i += 4)                                     \
			pack_put(&p,                                                               \
				 (uint64_t)((values)[i] - (base)) |                                \
					 (uint64_t)((values)[i + 1] - (base)) << w |               \
					 (uint64_t)((values)[i + 2] - (base)) << 2 * w |           \
					 (uint64_t)((values)[i + 3] - (base)) << 3 * w,            \
				 4 * w);                                                           \
		for (; w > PACK_FOUR && w <= PACK_TWO && i + 2 <= (n); i += 2)                     \
			pack_put(&p,                                                               \
				 (uint64_t)((values)[i] - (base)) |                                \
					 (uint64_t)((values)[i + 1] - (base)) << w,                \
				 2 * w);                                                           \
		for (; i < (n); i++)                                                               \
			pack_put(&p, (uint64_t)((values)[i] - (base)), w);                         \
	} while (0)

void bitpack_encode(const uint64_t *values, size_t n, uint64_t base, unsigned width, uint8_t *out)
{
	if (width == 0)
		return;
	if (width == 64) {
		for (size_t i = 0; i < n; i++)
			store64(out + i * 8, values[i] - base);
		return;
	}
	PACK(values, n, base, width, out);
}

void bitpack_encode_u32(const uint32_t *values, size_t n, uint32_t base, unsigned width,
			uint8_t *out)
{
	if (width == 0)
		return;
	PACK(values, n, base, width, out);
}

#undef PACK

/* How many of the values from `first` on can be read by a 64-bit load inside the bytes. */
static size_t whole_loads(size_t size, unsigned width, size_t first, size_t count)
{
	size_t last; /* one behind the last value whose first byte is at most size - 8 */

	if (size < 8)
		return 0;
	last = ((size - 8) * 8 + 7) / width + 1;
	return last <= first ? 0 : last - first < count ? last - first : count;
}

#define READ(p, bit, mask) ((load64((p) + ((bit) >> 3)) >> ((bit)&7)) & (mask))

/* The last values, through a copy with zeros behind it. */
struct tail {
	uint8_t bytes[32];
	size_t from; /* its first byte's place in the stream */
};

static struct tail tail_of(const uint8_t *bytes, size_t size)
{
	struct tail t = {.from = size > 16 ? size - 16 : 0};

	memcpy(t.bytes, bytes + t.from, size - t.from);
	return t;
}

void bitpack_decode(const uint8_t *bytes, size_t size, unsigned width, uint64_t base, size_t first,
		    size_t count, uint64_t *out)
{
	uint64_t mask = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
	size_t fast, wide, bit = first * width;
	struct tail t;

	if (width == 0) {
		for (size_t i = 0; i < count; i++)
			out[i] = base;
		return;
	}
	if (width == 64) {
		for (size_t i = 0; i < count; i++)
			out[i] = load64(bytes + (first + i) * 8) + base;
		return;
	}
	fast = whole_loads(size, width, first, count);
	wide = bitpack_wide(bytes, size, width, base, first, count, out);
	fast = wide > fast ? wide : fast;
	bit += wide * width;
	for (size_t i = wide; i < fast; i++, bit += width)
		out[i] = READ(bytes, bit, mask) + base;
	if (fast == count)
		return;
	t = tail_of(bytes, size);
	for (size_t i = fast; i < count; i++, bit += width)
		out[i] = READ(t.bytes, bit - t.from * 8, mask) + base;
}

static void widen8(const uint8_t *bytes, uint32_t base, size_t count, uint32_t *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = bytes[i] + base;
}

static void widen16(const uint8_t *bytes, uint32_t base, size_t count, uint32_t *out)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t v;

		memcpy(&v, bytes + i * 2, sizeof(v));
		out[i] = v + base;
	}
}

void bitpack_decode_u32(const uint8_t *bytes, size_t size, unsigned width, uint32_t base,
			size_t first, size_t count, uint32_t *out)
{
	uint64_t mask = ((uint64_t)1 << width) - 1;
	size_t fast, wide, bit = first * width;
	struct tail t;

	if (width == 0) {
		for (size_t i = 0; i < count; i++)
			out[i] = base;
		return;
	}
	/* These two the compiler turns into vector code. */
	if (width == 8) {
		widen8(bytes + first, base, count, out);
		return;
	}
	if (width == 16) {
		widen16(bytes + first * 2, base, count, out);
		return;
	}
	fast = whole_loads(size, width, first, count);
	wide = bitpack_wide_u32(bytes, size, width, base, first, count, out);
	fast = wide > fast ? wide : fast;
	bit += wide * width;
	for (size_t i = wide; i < fast; i++, bit += width)
		out[i] = (uint32_t)READ(bytes, bit, mask) + base;
	if (fast == count)
		return;
	t = tail_of(bytes, size);
	for (size_t i = fast; i < count; i++, bit += width)
		out[i] = (uint32_t)READ(t.bytes, bit - t.from * 8, mask) + base;
}

#undef READ
