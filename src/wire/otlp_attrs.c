/* wire/otlp_attrs.c - a run of OTLP's attributes: the hot path of the server.
 *
 * A span has ten attributes and every one comes through here.  Those of the usual shape are read in
 * one straight line: key, then value, together shorter than 128 bytes, the value a string, a number
 * or a boolean, and far enough from the end of the input that words may be loaded without asking.
 * All others take the long way, otlp_pair_decode(), which gives the same for any input. */
#include "wire/otlp_text_int.h"

#define STRING_HEAD (PB_TAG(2, PB_BYTES) | PB_TAG(1, PB_BYTES) << 16)

/* A key that was not the last one behind the one whose `next` is `link`.  NULL: the pair does not
 * start like the usual one.  Out of line, or it takes the registers of the loop. */
static __attribute__((noinline)) struct otlp_guess *learn_key(struct otlp_decoder *d,
							      struct otlp_guess **link,
							      const uint8_t *pair, size_t size)
{
	size_t n = pair[0] == PB_TAG(1, PB_BYTES) ? pair[1] : 0;
	struct otlp_guess *g = link[1];
	uint32_t code;

	link[1] = link[0];
	/* Spans of two kinds take turns. */
	if (size - g->n - 2 < 0x80 && otlp_text_same(pair, g->pair, g->n, g->mask)) {
		link[0] = g;
		return g;
	}
	if (n == 0 || n + 4 > size)
		return NULL;
	code = otlp_text(d, pair + 2, n);
	if (code == 0)
		return NULL; /* out of memory */
	g = &d->guesses[code & (OTLP_GUESSES - 1)];
	if (d->known[code & (OTLP_GUESSES - 1)] != code) {
		d->known[code & (OTLP_GUESSES - 1)] = code;
		*g = (struct otlp_guess){.next = {&d->nothing, &d->nothing},
					 .pair = pair,
					 .mask = wide_mask(2 + n),
					 .code = code,
					 .n = (uint8_t)(2 + n)};
	}
	*link = g;
	return g;
}

/* A varint of 1 to 8 bytes, all of which must belong to it. */
static inline bool wide_varint(const uint8_t *p, size_t n, uint64_t *ret_value)
{
	const uint64_t tops = 0x8080808080808080ULL;
	unsigned spare = (unsigned)(8 - n) * 8;
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	x <<= spare; /* its last byte on top */
	if ((x & tops) != (tops << spare & tops >> 8))
		return false;
	x = (x & ~tops) >> spare;
	x = (x & 0x007f007f007f007fULL) | (x & 0x7f007f007f007f00ULL) >> 1;
	x = (x & 0x00003fff00003fffULL) | (x & 0x3fff00003fff0000ULL) >> 2;
	*ret_value = (x & 0x0fffffff) | x >> 32 << 28;
	return true;
}

/* In two words: fields that are set one by one cost as many stores, and clearing. */
static inline void attr_put(struct attr *out, uint32_t key, enum value_type type, uint64_t bits)
{
	uint64_t head = (uint64_t)type << 32 | key;

	memcpy(out, &head, sizeof(head));
	out->bits = bits;
}

/* An AnyValue of n bytes that holds one number or boolean and nothing else. */
static inline bool decode_number(const uint8_t *p, size_t n, uint32_t key, struct attr *out)
{
	uint64_t bits;

	if (p[0] == PB_TAG(3, PB_VARINT) && n - 2 < 8 && wide_varint(p + 1, n - 1, &bits)) {
		attr_put(out, key, VALUE_INT, bits);
		return true;
	}
	if (p[0] == PB_TAG(2, PB_VARINT) && n == 2 && p[1] < 2) {
		attr_put(out, key, VALUE_BOOL, p[1]);
		return true;
	}
	if (p[0] == PB_TAG(4, PB_FIXED64) && n == 9) {
		memcpy(&bits, p + 1, sizeof(bits));
		attr_put(out, key, VALUE_DOUBLE, bits);
		return true;
	}
	return false;
}

/* A pair of the usual shape, from its length at `at` on.  *link is where the guess is, and then
 * where the next one will be.  Returns the byte behind the pair, which may lie behind its message;
 * NULL if the pair is not usual. */
static inline const uint8_t *decode_usual(struct otlp_decoder *d, const uint8_t *at,
					  struct otlp_guess ***link, struct attr *out)
{
	const uint8_t *pair = at + 1, *p;
	size_t size = at[0], n;
	struct otlp_guess *g = **link;
	uint32_t head;

	if (size >= 0x80)
		return NULL;
	n = size - g->n - 2; /* of the value, if the rest is as it should be */
	if (n >= 0x80 || !otlp_text_same(pair, g->pair, g->n, g->mask)) {
		g = learn_key(d, *link, pair, size);
		if (!g)
			return NULL;
		n = size - g->n - 2;
	}
	*link = g->next;
	p = pair + g->n;
	/* Tag and length of the value and of the string in it, in one comparison.  When n < 2 the
	 * right side wraps around and is no number of 32 bits. */
	memcpy(&head, p, sizeof(head));
	if (head == STRING_HEAD + ((uint64_t)n << 8) + ((uint64_t)(n - 2) << 24)) {
		attr_put(out, g->code, VALUE_STRING, otlp_text_value(d, p + 4, n - 2));
		return pair + size;
	}
	if (pb_load16(p) != pb_head(PB_TAG(2, PB_BYTES), n) ||
	    !decode_number(p + 2, n, g->code, out))
		return NULL;
	return pair + size;
}

static const uint8_t *decode_any(struct otlp_decoder *d, const uint8_t *at, const uint8_t *end,
				 struct attr *out)
{
	const uint8_t *start = at;
	uint64_t size;

	at = varint_decode(at, end, &size);
	if (!at || size > (uint64_t)(end - at)) {
		d->failed = otlp_malformed(d, start, "an attribute");
		return NULL;
	}
	*out = (struct attr){0};
	d->failed = otlp_pair_decode(d, slice_of(at, size), out, 0);
	return d->failed < 0 ? NULL : at + size;
}

const uint8_t *otlp_attrs_decode(struct otlp_decoder *d, const uint8_t *at, const uint8_t *end,
				 uint32_t *count)
{
	/* otlp_text() looks at bytes before the string. */
	const uint8_t *wide_end = at - (const uint8_t *)d->body.p < 16 ? at : d->wide_end, *start;
	struct batch *b = d->batch;
	size_t before = b->attr_n;
	struct otlp_guess **link;
	uint64_t tag;

	/* The first tag may be longer than it need be; further ones may not. */
	at = varint_decode(at, end, &tag);
	link = d->starts[tag >> 3 & (OTLP_STARTS - 1)];
	do {
		struct attr *out = batch_attr_room(b);

		start = at;
		at = start < wide_end ? decode_usual(d, start, &link, out) : NULL;
		if (!at) {
			at = decode_any(d, start, end, out);
			if (!at)
				return NULL;
		}
	} while (at < end && *at == tag && at++);
	if (at > end) {
		d->failed = otlp_malformed(d, start, "an attribute");
		return NULL;
	}
	*count += (uint32_t)(b->attr_n - before);
	return at;
}
