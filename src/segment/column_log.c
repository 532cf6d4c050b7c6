/* segment/column_log.c - numbers of very different sizes: durations, distances in time.
 *
 * A number is cut into its class (its sign and how many bits its magnitude has) and the bits below
 * the highest one.  Classes are few and repeat, so they are a stream of bytes for zstd; the bits
 * are as good as random and are packed as they are, class by class width.  A sum of sizes like 2^10
 * … 2^30 then costs what each needs and not what the largest needs.
 *
 *   class   0 for 0, b for 2^(b-1) … 2^b - 1, and 256 - b for the same below zero: 0 … 64, 192 …
 * 255 bits    b - 1 of each magnitude, lowest first
 *
 * Where something is known about each value (its operation, say), its class is counted from the one
 * that prevails in that context: values of one context resemble each other.  The prevailing class
 * is found by majority vote in one pass, which is right whenever there is a majority and good
 * enough otherwise. */
#include "segment/column_int.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"

#define MAX_BITS        64
#define CONTEXT_DENSITY 4  /* values per context at least, on average */
#define MIN_VALUES      64 /* below, the classes cost more than they save */

/* A number cut in two.  No branches: classes of neighbours are not predictable. */
struct cut {
	uint64_t low;  /* the bits below the highest */
	unsigned bits; /* how many they are */
	uint8_t class;
};

static inline struct cut cut_of(uint64_t value)
{
	uint64_t sign = -(value >> 63), magnitude = (value ^ sign) - sign;
	unsigned bits = 63 - (unsigned)__builtin_clzll(magnitude | 1);
	unsigned width = bits + (magnitude != 0);

	return (struct cut){.low = magnitude & ~((uint64_t)1 << bits),
			    .bits = bits,
			    .class = (uint8_t)((width ^ (unsigned)sign) - (unsigned)sign)};
}

void column_log_init(struct column_codec *c)
{
	for (unsigned i = 0; i < 256; i++) {
		unsigned width = i < 128 ? i : 256 - i, bits = width ? width - 1 : 0;
		bool bad = width > MAX_BITS;

		c->classes[i] = (struct class_facts){
			.mask = bad ? 0 : ((uint64_t)1 << bits) - 1,
			.top = bad ? 0 : (uint64_t)(width != 0) << bits,
			.sign = i < 128 ? 0 : UINT64_MAX,
			.bits = bad ? 0 : bits,
			.bad = bad,
		};
	}
}

static bool context_pays(const struct column_context *context, size_t n)
{
	return context && context->count > 1 && context->count <= n / CONTEXT_DENSITY;
}

static double entropy(const uint8_t *bytes, size_t n)
{
	uint32_t count[4][256] = {{0}};
	double bits = 0;
	size_t i = 0;

	/* Four tables, so that equal neighbours do not wait for each other. */
	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			count[k][bytes[i + (size_t)k]]++;
	for (; i < n; i++)
		count[0][bytes[i]]++;
	for (int k = 0; k < 256; k++) {
		double of = count[0][k] + count[1][k] + count[2][k] + count[3][k];

		if (of > 0)
			bits += of * log2((double)n / of);
	}
	return bits;
}

static inline void store64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Fills SLOT_CLASSES, and SLOT_BITS with the bits below the highest of each magnitude, one behind
 * the other, so many bits; returns the classes, or NULL.  A whole word is stored each time and the
 * next begins in its last byte that is not full. */
static uint8_t *classes_of(struct column_codec *c, const uint64_t *values, size_t n,
			   size_t *ret_bits)
{
	uint8_t *classes = n < MIN_VALUES ? NULL : column_scratch(c, SLOT_CLASSES, n);
	uint8_t *from = classes ? column_scratch(c, SLOT_BITS, n * 8 + 16) : NULL, *to = from;
	uint64_t word = 0;
	unsigned fill = 0;

	if (!to)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct cut cut = cut_of(values[i]);

		classes[i] = cut.class;
		if (__builtin_expect(cut.bits > 56, 0)) {
			word |= (cut.low & 0xffffffff) << fill;
			store64(to, word);
			to += 4;
			word >>= 32;
			cut.low >>= 32;
			cut.bits -= 32;
		}
		word |= cut.low << fill;
		fill += cut.bits;
		store64(to, word);
		to += fill >> 3;
		word >>= fill & 0x38;
		fill &= 7;
	}
	*ret_bits = (size_t)(to - from) * 8 + fill;
	c->scratch[SLOT_BITS].n = (*ret_bits + 7) / 8;
	return classes;
}

bool column_log_prepare(struct column_codec *c, const uint64_t *values, size_t n,
			const struct column_context *context)
{
	size_t bits;
	uint8_t *classes = classes_of(c, values, n, &bits);

	return classes && (!context_pays(context, n) || c->learner ||
			   isfinite(column_classes_cost(c, classes, n, context)));
}

double column_log_cost(struct column_codec *c, const uint64_t *values, size_t n,
		       const struct column_context *context)
{
	size_t bits;
	uint8_t *classes = classes_of(c, values, n, &bits);
	double total = (double)bits + 64;

	if (!classes)
		return INFINITY;
	if (context_pays(context, n)) {
		double learnt = column_learnt_cost(c, classes, n, context);

		return total + (double)n * 0.02 +
		       (learnt >= 0 ? learnt : column_classes_cost(c, classes, n, context));
	}
	/* What Huffman's codes of whole bits lose against the entropy, and so that FOR, which is
	 * faster, wins a draw. */
	return (total + entropy(classes, n)) * 1.01 + (double)n * 0.1;
}

int column_log_write(struct column_codec *c, size_t n, const struct column_context *context,
		     struct buffer *out)
{
	const uint8_t *classes = (const uint8_t *)c->scratch[SLOT_CLASSES].p;
	bool related = context_pays(context, n);
	enum column_form form;
	bool restarts;
	size_t place;
	int r;

	column_restarts_bits(c, classes, n);
	restarts = related && c->restart_n > 0;
	form = !related     ? COLUMN_LOG
	       : c->learner ? (restarts ? COLUMN_LOGM_AT : COLUMN_LOGM)
			    : (restarts ? COLUMN_LOGC_AT : COLUMN_LOGC);
	buffer_byte(out, (char)form);
	place = out->n;
	r = !related     ? column_write_stream(c, classes, n, out)
	    : c->learner ? column_learnt_write(c, classes, n, context, out)
			 : column_classes_write(c, classes, n, context, out);
	if (r < 0)
		return r;
	if (restarts)
		column_restarts_write(c, place, out);
	buffer_append(out, c->scratch[SLOT_BITS].p, c->scratch[SLOT_BITS].n);
	return out->failed ? -ENOMEM : 0;
}

/* Up to 63 bits at any place, without reading behind the end: for the last few values. */
static uint64_t read_slowly(const uint8_t *bytes, size_t size, size_t bit, unsigned width)
{
	uint8_t copy[16] = {0};
	size_t at = bit >> 3, there = size - at < 9 ? size - at : 9;
	__uint128_t v;

	memcpy(copy, bytes + at, there);
	memcpy(&v, copy, sizeof(v));
	return (uint64_t)(v >> (bit & 7)) & (((uint64_t)1 << width) - 1);
}

/* The numbers of n classes whose bits begin at *bit; moves it behind them. */
static int read_bits(const struct class_facts *facts, const uint8_t *bytes, size_t size,
		     const uint8_t *classes, size_t n, size_t *at_bit, uint64_t *out)
{
	size_t bit = *at_bit, i = 0;
	uint32_t bad = 0;

	for (; i < n && (bit >> 3) + 8 <= size; i++) {
		const struct class_facts *f = &facts[classes[i]];
		uint64_t word;

		memcpy(&word, bytes + (bit >> 3), 8);
		word = (word >> (bit & 7) & f->mask) | f->top;
		if (__builtin_expect(f->bits > 57, 0))
			word = read_slowly(bytes, size, bit, f->bits) | f->top;
		out[i] = (word ^ f->sign) - f->sign;
		bit += f->bits;
		bad |= f->bad;
	}
	for (; i < n; i++) {
		const struct class_facts *f = &facts[classes[i]];
		uint64_t word = f->top;

		if (f->bits > size * 8 - MIN(bit, size * 8))
			return -EBADMSG;
		if (f->bits)
			word |= read_slowly(bytes, size, bit, f->bits);
		out[i] = (word ^ f->sign) - f->sign;
		bit += f->bits;
		bad |= f->bad;
	}
	*at_bit = bit;
	return bad ? -EBADMSG : 0;
}

static size_t skip_bits(const struct class_facts *facts, const uint8_t *classes, size_t n)
{
	size_t bits = 0;

	for (size_t i = 0; i < n; i++)
		bits += facts[classes[i]].bits;
	return bits;
}

/* Classes without contexts: all of them, then the numbers. */
static int read_plain(struct column_codec *c, struct column_reader *r, size_t n,
		      const struct column_range *ranges, size_t range_n, uint64_t *out)
{
	uint8_t *room = column_scratch(c, SLOT_CLASSES, n);
	const uint8_t *classes = room ? column_read_stream(c, r, n, room) : NULL;
	size_t bit = 0, at = 0;
	int e = 0;

	if (!classes)
		return room ? -EBADMSG : -ENOMEM;
	for (size_t i = 0; e == 0 && i < range_n; i++) {
		bit += skip_bits(c->classes, classes + at, ranges[i].first - at);
		if (bit > column_left(r) * 8)
			return -EBADMSG;
		e = read_bits(c->classes, r->p, column_left(r), classes + ranges[i].first,
			      ranges[i].count, &bit, out);
		out += ranges[i].count;
		at = ranges[i].first + ranges[i].count;
	}
	return e == 0 && at == n && (bit + 7) / 8 != column_left(r) ? -EBADMSG : e;
}

/* A block of classes by context that is being read, stretch by stretch: from one restart to the
 * next. */
struct stretches {
	struct column_symbols symbols;
	struct column_restarts restarts;
	bool learnt;
	size_t n;
	uint8_t *classes; /* by value, where they are decoded */
	struct column_reader bits;
};

static int open_stretches(struct column_codec *c, struct column_reader *r, size_t n,
			  const struct column_context *context, struct stretches *s)
{
	enum column_form form = r->p[-1];
	int e;

	s->learnt = form_is_learnt(form);
	s->n = n;
	s->classes = column_scratch(c, SLOT_CLASSES, n);
	if (!s->classes)
		return -ENOMEM;
	e = column_restarts_read(r, form, n, &s->restarts);
	if (e == 0)
		e = s->learnt ? column_learnt_open(c, r, n, context, &s->symbols)
			      : column_classes_open(c, r, n, context, &s->symbols);
	s->bits = *r;
	return e;
}

static int read_classes(struct column_codec *c, struct stretches *s, uint32_t stretch, size_t end,
			const struct column_context *context)
{
	size_t first = s->restarts.rows[stretch].at;
	int e = s->learnt ? column_learnt_tables(c, &s->symbols, first, end, context) : 0;

	if (e == 0)
		e = column_symbols_read(&s->symbols, &s->restarts, stretch, s->n, end, context->of,
					s->classes);
	if (e == 0 && s->learnt)
		e = column_learnt_escapes(&s->symbols, &s->restarts, stretch, s->n, end,
					  s->classes);
	return e;
}

/* The numbers of those parts of ranges that lie in a stretch; *range and *out move behind them.
 * `left`: what the first of them begins with. */
static int read_stretch(struct column_codec *c, struct stretches *s, uint32_t stretch,
			const struct column_range **range, const struct column_range *range_end,
			size_t *left, const struct column_context *context, uint64_t **out)
{
	const struct column_restart *from = &s->restarts.rows[stretch];
	bool last = stretch + 1 == s->restarts.n;
	size_t end = last ? s->n : from[1].at, wanted = 0, at = from->at, bit = from->bits;
	int e;

	for (const struct column_range *k = *range; k < range_end && k->first < end; k++)
		if (k->count > 0) /* of others not even the contexts are known */
			wanted = MIN(k->first + k->count, end);
	e = read_classes(c, s, stretch, wanted, context);
	while (e == 0 && *range < range_end && (*range)->first < end) {
		size_t first = MAX((*range)->first, *left),
		       to = MIN((*range)->first + (*range)->count, end);

		if (first == to) {
			++*range;
			continue;
		}
		bit += skip_bits(c->classes, s->classes + at, first - at);
		if (bit > column_left(&s->bits) * 8)
			return -EBADMSG;
		e = read_bits(c->classes, s->bits.p, column_left(&s->bits), s->classes + first,
			      to - first, &bit, *out);
		*out += to - first;
		at = *left = to;
		if (to < (*range)->first + (*range)->count)
			break; /* it goes on in the next */
		++*range;
	}
	if (e < 0)
		return e;
	/* Who has a part of the block alone has no more of its bits than up to the next restart. */
	if (!last && bit > from[1].bits)
		return -EBADMSG;
	if (at == end && (last ? (bit + 7) / 8 != column_left(&s->bits) : bit != from[1].bits))
		return -EBADMSG;
	return 0;
}

int column_log_ranges(struct column_codec *c, struct column_reader *r, size_t n,
		      const struct column_range *ranges, size_t range_n,
		      const struct column_context *context, uint64_t *out)
{
	const struct column_range *end = ranges + range_n;
	struct stretches s;
	size_t left = 0;
	int e;

	if (r->p[-1] == COLUMN_LOG)
		return read_plain(c, r, n, ranges, range_n, out);
	e = open_stretches(c, r, n, context, &s);
	while (e == 0 && ranges < end) {
		if (ranges->count == 0) {
			ranges++;
			continue;
		}
		e = read_stretch(c, &s, column_restarts_find(&s.restarts, MAX(ranges->first, left)),
				 &ranges, end, &left, context, &out);
	}
	return e;
}

int column_log_read(struct column_codec *c, struct column_reader *r, size_t n, size_t first,
		    size_t count, const struct column_context *context, uint64_t *out)
{
	const struct column_range range = {first, count};

	return column_log_ranges(c, r, n, &range, 1, context, out);
}
