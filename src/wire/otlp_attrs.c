/* wire/otlp_attrs.c - a run of OTLP's attributes: the hot path of the server.
 *
 * A span has ten attributes and every one comes through here.  Most have come before in the same
 * request, byte by byte: a table of them, by their first and last bytes, says where, and what was
 * made of them.  It is given up where most do not.
 *
 * Others of the usual shape are read in one straight line: key, then value, together shorter than
 * 128 bytes, the value a string, a number or a boolean, and far enough from the end of the input
 * that words may be loaded without asking. All others take the long way, otlp_pair_decode(), which
 * gives the same for any input. */
#include "wire/otlp_text_int.h"

/* Attributes that did not come before, until it is asked whether others do. */
#define PAIRS_EARLY    64
#define PAIRS_LATE     512
#define NEW_TURNS      8 /* one in so many of them takes the place of another */

#define PAIR_PER_BYTES 64

#define STRING_HEAD    (PB_TAG(2, PB_BYTES) | PB_TAG(1, PB_BYTES) << 16)

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

static inline void attr_put(struct attr *out, uint32_t key, enum value_type type, uint32_t word)
{
	*out = (struct attr){.key = key, .type = type, .word = word};
}

/* An AnyValue of n bytes that holds one number or boolean and nothing else. */
static inline bool decode_number(struct batch *b, const uint8_t *p, size_t n, uint32_t key,
				 struct attr *out)
{
	uint64_t bits;

	if (p[0] == PB_TAG(3, PB_VARINT) && n - 2 < 8 && wide_varint(p + 1, n - 1, &bits)) {
		attr_put(out, key, VALUE_INT, batch_word(b, bits));
		return true;
	}
	if (p[0] == PB_TAG(2, PB_VARINT) && n == 2 && p[1] < 2) {
		attr_put(out, key, VALUE_BOOL, p[1]);
		return true;
	}
	if (p[0] == PB_TAG(4, PB_FIXED64) && n == 9) {
		memcpy(&bits, p + 1, sizeof(bits));
		attr_put(out, key, VALUE_DOUBLE, batch_word(b, bits));
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
	    !decode_number(d->batch, p + 2, n, g->code, out))
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

/* Where an attribute of the usual size stands in the table, if it came before.  Its last bytes are
 * of the value, its first are of the key. */
static inline struct otlp_pair *pair_entry(struct otlp_decoder *d, const uint8_t *at, size_t n)
{
	uint64_t key = hash_load64((const char *)at);

	return &d->pairs[otlp_text_mix(hash_load64((const char *)at + n - 16) ^
					       (key << 47 | key >> 17),
				       hash_load64((const char *)at + n - 8)) >>
			 d->pair_shift];
}

/* The same n bytes, length included?  Of `a`, which is in the table, so many can be read, or n is
 * more than OTLP_PAIR_MAX and the length differs. */
static inline bool pair_same(const uint8_t *a, const uint8_t *b, size_t n)
{
	const char *x = (const char *)a, *y = (const char *)b;

	if (n <= WIDE)
		return n >= WIDE / 2 ? wide_ends_equal(x, y, n) : wide_equal(x, y, wide_mask(n));
	if (!wide_ends_equal(x, y, WIDE) || !wide_ends_equal(x + n - WIDE, y + n - WIDE, WIDE))
		return false;
	for (size_t i = WIDE; i + WIDE < n; i += WIDE)
		if (!wide_ends_equal(x + i, y + i, WIDE))
			return false;
	return true;
}

/* So many attributes were new.  The first ones are new anywhere, and tell only whether it is worth
 * to begin: with a table that is large enough, which takes time to clear. */
static void pairs_judge(struct otlp_decoder *d)
{
	size_t all = d->batch->attr_n;

	if (d->pairs_missed == PAIRS_EARLY && all >= PAIRS_EARLY + PAIRS_EARLY / 4)
		otlp_pairs_clear(d, d->body.n / PAIR_PER_BYTES);
	else if (d->pairs_missed == PAIRS_EARLY || all < PAIRS_LATE * 2)
		d->pairs_pay = false;
}

/* Remembers an attribute.  What is new may be new every time, and so may a number: they seldom
 * drive something out. */
static inline void pair_learn(struct otlp_decoder *d, struct otlp_pair *entry, const uint8_t *at,
			      const struct attr *a, bool seen)
{
	if (entry->at == 0 || seen || d->pairs_missed % NEW_TURNS == 0)
		*entry = (struct otlp_pair){(uint32_t)(at - (const uint8_t *)d->body.p), *a};
	d->pairs_missed++;
	if (d->pairs_missed == PAIRS_EARLY || d->pairs_missed == PAIRS_LATE)
		pairs_judge(d);
}

static struct otlp_guess **behind(struct otlp_decoder *d, uint32_t key)
{
	uint32_t i = key & (OTLP_GUESSES - 1);

	return d->known[i] == key ? d->guesses[i].next : d->lost;
}

/* An attribute that did not come before.  What did has left no guess behind it. */
static __attribute__((noinline)) const uint8_t *decode_new(struct otlp_decoder *d,
							   const uint8_t *at,
							   struct otlp_pair *entry,
							   struct otlp_guess ***link,
							   struct attr *out)
{
	size_t strings = d->batch->strings;
	const uint8_t *end;

	if (!*link)
		*link = behind(d, out[-1].key);
	end = decode_usual(d, at, link, out);
	if (end)
		pair_learn(d, entry, at, out,
			   out->type == VALUE_STRING && d->batch->strings == strings);
	return end;
}

/* More room behind the last attribute, or NULL with d->failed set. */
static __attribute__((noinline)) struct attr *more_room(struct otlp_decoder *d)
{
	struct batch *b = d->batch;

	if (batch_grow_attrs(b))
		return b->attrs + b->attr_n;
	d->failed = b->failed;
	return NULL;
}

/* An attribute whose length takes two bytes: a long text, which may have come before. */
static __attribute__((noinline)) const uint8_t *decode_long(struct otlp_decoder *d,
							    const uint8_t *at, const uint8_t *end,
							    struct attr *out)
{
	size_t n = 2 + (size_t)(at[0] & 0x7f) + ((size_t)at[1] << 7);
	struct otlp_pair *entry;

	/* A length that takes two bytes and need not is not one that is compared. */
	if (at[1] >= 0x80 || n > (size_t)(end - at) || n < OTLP_PAIR_MAX)
		return NULL;
	entry = pair_entry(d, at, n);
	if (entry->at != 0 && pair_same((const uint8_t *)d->body.p + entry->at, at, n)) {
		*out = entry->attr;
		return at + n;
	}
	at = decode_any(d, at, end, out);
	if (at && out->type == VALUE_STRING)
		pair_learn(d, entry, at - n, out, false);
	return at;
}

/* One attribute, which may be one that came before. */
static inline const uint8_t *decode_pair(struct otlp_decoder *d, const uint8_t *at,
					 const uint8_t *end, struct otlp_guess ***link,
					 struct attr *out)
{
	size_t n = 1 + (size_t)at[0];
	struct otlp_pair *entry;

	if (n > 0x80)
		return decode_long(d, at, end, out);
	entry = pair_entry(d, at, n);
	if (entry->at == 0 || !pair_same((const uint8_t *)d->body.p + entry->at, at, n))
		return decode_new(d, at, entry, link, out);
	*out = entry->attr;
	*link = NULL;
	return at + n;
}

/* A run of attributes from the length of the first on, compiled twice: `pairs` is d->pairs_pay.
 * Returns the byte behind it. */
static inline __attribute__((always_inline)) const uint8_t *decode_run(struct otlp_decoder *d,
								       const uint8_t *at,
								       const uint8_t *end,
								       const uint8_t *wide_end,
								       uint64_t tag, bool pairs)
{
	struct batch *b = d->batch;
	struct attr *out = b->attrs + b->attr_n, *room = b->attrs + b->attr_capacity;
	struct otlp_guess **link = d->starts[tag >> 3 & (OTLP_STARTS - 1)];
	const uint8_t *start;

	do {
		if (__builtin_expect(out == room, 0)) {
			b->attr_n = b->attr_capacity;
			out = more_room(d);
			if (!out)
				return NULL;
			room = b->attrs + b->attr_capacity;
		}
		start = at;
		if (start >= wide_end)
			at = NULL;
		else
			at = pairs ? decode_pair(d, start, end, &link, out)
				   : decode_usual(d, start, &link, out);
		if (!at) {
			at = decode_any(d, start, end, out);
			if (!at)
				return NULL;
		}
		out++;
	} while (at < end && *at == tag && at++);
	if (at > end) {
		d->failed = otlp_malformed(d, start, "an attribute");
		return NULL;
	}
	b->attr_n = (size_t)(out - b->attrs);
	return at;
}

const uint8_t *otlp_attrs_decode(struct otlp_decoder *d, const uint8_t *at, const uint8_t *end,
				 uint32_t *count)
{
	/* Bytes before a string are looked at, too. */
	const uint8_t *wide_end = at - (const uint8_t *)d->body.p < 16 ? at : d->wide_end;
	size_t before = d->batch->attr_n;
	uint64_t tag;

	/* The first tag may be longer than it need be; further ones may not. */
	at = varint_decode(at, end, &tag);
	at = d->pairs_pay ? decode_run(d, at, end, wide_end, tag, true)
			  : decode_run(d, at, end, wide_end, tag, false);
	if (at)
		*count += (uint32_t)(d->batch->attr_n - before);
	return at;
}
