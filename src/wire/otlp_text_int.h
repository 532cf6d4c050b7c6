/* wire/otlp_text_int.h - the code of a short string of the input, without hashing if it came
 * before.
 *
 * The strings of a batch are a few that come again and again and many that come once.  The former
 * are found in a small table by their last bytes; a wrong entry costs one comparison. */
#ifndef CAUSET_WIRE_OTLP_TEXT_INT_H
#define CAUSET_WIRE_OTLP_TEXT_INT_H

#include "wire/otlp_value.h"

/* Are n bytes equal?  WIDE of them must be readable on both sides. */
static inline bool otlp_text_same(const uint8_t *a, const uint8_t *b, size_t n, uint32_t mask)
{
	return wide_equal((const char *)a, (const char *)b, mask) &&
	       (n <= WIDE || bytes_equal((const char *)a + WIDE, (const char *)b + WIDE, n - WIDE));
}

/* The entry that stands for the string, if any does. */
static inline struct otlp_recent *otlp_text_recent(struct otlp_decoder *d, const uint8_t *p,
						   size_t n)
{
	uint64_t last = hash_load64((const char *)p + n - 8),
		 before = hash_load64((const char *)p + n - 16);

	return &d->recent[(last ^ (before << 29 | before >> 35)) * 0xa0761d6478bd642fULL >> 56];
}

/* Out of line, or it takes the registers of its callers. */
uint32_t otlp_text_learn(struct batch *b, struct otlp_recent *r, const uint8_t *p, size_t n);

/* The code of a string of 0 to 127 bytes that begins before d->wide_end + 2, and behind the 16th
 * byte of the body. */
static inline uint32_t otlp_text(struct otlp_decoder *d, const uint8_t *p, size_t n)
{
	struct otlp_recent *r = otlp_text_recent(d, p, n);

	return r->length_1 == n + 1 && otlp_text_same(p, r->p, n, wide_mask(n))
		       ? r->code
		       : otlp_text_learn(d->batch, r, p, n);
}

/* The same where what stands before the string is different every time. */
static inline uint32_t otlp_text_alone(struct otlp_decoder *d, const uint8_t *p, size_t n)
{
	uint64_t first = hash_load64((const char *)p), last = hash_load64((const char *)p + n - 8);
	struct otlp_recent *r;

	if (n < 8) {
		first = n ? first << (8 - n) * 8 : 0;
		last = 0;
	}
	r = &d->recent[(last ^ (first << 29 | first >> 35)) * 0xa0761d6478bd642fULL >> 56];
	return r->length_1 == n + 1 && otlp_text_same(p, r->p, n, wide_mask(n))
		       ? r->code
		       : otlp_text_learn(d->batch, r, p, n);
}

_Static_assert(OTLP_RECENTS == 256, "otlp_text_recent() takes eight bits");

#endif
