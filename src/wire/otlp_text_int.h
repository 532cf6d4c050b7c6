/* wire/otlp_text_int.h - the code of a short string of the input, without hashing it properly if it
 * came before.
 *
 * The strings of a request come again and again, or once.  A table of codes tells, by the last
 * bytes of a string, which one of the batch it may be; a wrong entry costs one comparison.  0 is a
 * free entry, and stands for the empty string, whose code it is. */
#ifndef CAUSET_WIRE_OTLP_TEXT_INT_H
#define CAUSET_WIRE_OTLP_TEXT_INT_H

#include "wire/otlp_value.h"

/* Are n bytes equal?  WIDE of them must be readable on both sides. */
static inline bool otlp_text_same(const uint8_t *a, const uint8_t *b, size_t n, uint32_t mask)
{
	return wide_equal((const char *)a, (const char *)b, mask) &&
	       (n <= WIDE || bytes_equal((const char *)a + WIDE, (const char *)b + WIDE, n - WIDE));
}

static inline uint64_t otlp_text_mix(uint64_t first, uint64_t last)
{
	return (last ^ (first << 29 | first >> 35)) * 0xa0761d6478bd642fULL;
}

/* A hash of the last 16 bytes of a string, or all if it has less, in arithmetic, where conditions
 * would become branches.  Its upper bits are the best. */
static inline uint64_t otlp_text_hash(const uint8_t *p, size_t n)
{
	size_t more = n - 16, far = more & ~(size_t)((ptrdiff_t)more >> 63);
	uint64_t first = hash_load64((const char *)p + far),
		 last = hash_load64((const char *)p + n - 8);
	unsigned spare = (unsigned)((8 - n) * 8 & (size_t)((ptrdiff_t)(n - 8) >> 63)) & 63;

	first <<= spare;
	last >>= spare;
	return otlp_text_mix(first, last);
}

extern const uint8_t otlp_text_back[OTLP_PAIR_MAX];

/* Out of line, or it takes the registers of its callers. */
uint32_t otlp_text_learn(struct batch *b, uint32_t *entry, const uint8_t *p, size_t n);

static inline uint32_t otlp_text_find(struct otlp_decoder *d, uint64_t hash, const uint8_t *p,
				      size_t n)
{
	uint32_t *entry = &d->recent[hash >> d->recent_shift], code = *entry;
	struct batch *b = d->batch;
	uint32_t from = b->offset[code];

	return b->offset[code + 1] - from == n &&
			       otlp_text_same(p, (const uint8_t *)b->text + from, n, wide_mask(n))
		       ? code
		       : otlp_text_learn(b, entry, p, n);
}

/* The code of a string of 0 to 127 bytes that begins before d->wide_end + 2, and behind the 16th
 * byte of the body. */
static inline uint32_t otlp_text(struct otlp_decoder *d, const uint8_t *p, size_t n)
{
	return otlp_text_find(d, otlp_text_hash(p, n), p, n);
}

/* The same where the four bytes before the string tell no more than its length, as they do in an
 * AnyValue in a KeyValue.  They may be hashed then, which saves to leave them out: so many bytes
 * before the end of the string, by its length, the first word is loaded. */
static inline uint32_t otlp_text_value(struct otlp_decoder *d, const uint8_t *p, size_t n)
{
	uint64_t first = hash_load64((const char *)p + n - otlp_text_back[n]),
		 last = hash_load64((const char *)p + n - 8);

	return otlp_text_find(d, otlp_text_mix(first, last), p, n);
}

#endif
