/* segment/text_column.c - writing a column of texts: repeated ones once, UUIDs and numbers cut out.
 */
#include "segment/text_column_int.h"

#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/wide.h"
#include "segment/block_io.h"

#define AHEAD 12 /* texts fetched before they are looked at */

void uuid_table_init(struct uuid_table *t)
{
	*t = (struct uuid_table){0};
	map_init(&t->by_id);
}

void uuid_table_clear(struct uuid_table *t)
{
	t->n = 0;
	map_clear(&t->by_id);
}

void uuid_table_done(struct uuid_table *t)
{
	free(t->ids);
	map_done(&t->by_id);
	*t = (struct uuid_table){0};
}

static bool uuid_is(const void *context, uint32_t value, const void *key)
{
	return memcmp(((const struct uuid_table *)context)->ids[value], key, UUID_BYTES) == 0;
}

/* Its number in the table, added if new; MAP_NONE when out of memory. */
static uint32_t uuid_number(struct uuid_table *t, const uint8_t id[UUID_BYTES])
{
	uint64_t hash = wide_hash_bytes((const char *)id, UUID_BYTES, t->by_id.seed);
	uint32_t at = map_find(&t->by_id, hash, uuid_is, t, id);

	if (at != MAP_NONE)
		return at;
	if (!vec_reserve(&t->ids, &t->capacity, t->n + 1, sizeof(*t->ids)) ||
	    !map_put(&t->by_id, hash, (uint32_t)t->n))
		return MAP_NONE;
	memcpy(t->ids[t->n], id, UUID_BYTES);
	return (uint32_t)t->n++;
}

/* --- finding UUIDs --- */

#ifdef __SSE2__
/* 16 lower-case hex digits to 8 bytes; false if one is none. */
static inline bool hex16(__m128i c, uint8_t out[8])
{
	const __m128i zero = _mm_set1_epi8('0'), a = _mm_set1_epi8('a');
	__m128i digit = _mm_sub_epi8(c, zero), letter = _mm_sub_epi8(c, a);
	/* Below 10 or 6, without a sign. */
	__m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit),
		is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
	__m128i value =
		_mm_or_si128(_mm_and_si128(is_digit, digit),
			     _mm_and_si128(is_letter, _mm_add_epi8(letter, _mm_set1_epi8(10))));
	__m128i pairs = _mm_or_si128(_mm_slli_epi16(value, 4), _mm_srli_epi16(value, 8));

	pairs = _mm_and_si128(pairs, _mm_set1_epi16(0xff));
	_mm_storel_epi64((__m128i *)(void *)out, _mm_packus_epi16(pairs, pairs));
	return _mm_movemask_epi8(_mm_or_si128(is_digit, is_letter)) == 0xffff;
}

/* 8-4-4-4-12 lower-case hex digits at p. */
static bool uuid_parse(const char *p, uint8_t out[UUID_BYTES])
{
	char hex[2 * UUID_BYTES];

	if (p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-')
		return false;
	memcpy(hex, p, 8);
	memcpy(hex + 8, p + 9, 4);
	memcpy(hex + 12, p + 14, 4);
	memcpy(hex + 16, p + 19, 4);
	memcpy(hex + 20, p + 24, 12);
	return hex16(_mm_loadu_si128((const __m128i *)(const void *)hex), out) &&
	       hex16(_mm_loadu_si128((const __m128i *)(const void *)(hex + 16)), out + 8);
}

static inline __m128i dashes(const char *p)
{
	return _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p),
			      _mm_set1_epi8('-'));
}

#define SCAN      16          /* places looked at together */
#define SCAN_TEXT (23 + SCAN) /* and so many bytes from the first of them on */

/* At which of the SCAN places from p on all four dashes of a UUID are. */
static inline unsigned dash_places(const char *p)
{
	__m128i all = _mm_and_si128(_mm_and_si128(dashes(p + 8), dashes(p + 13)),
				    _mm_and_si128(dashes(p + 18), dashes(p + 23)));

	return (unsigned)_mm_movemask_epi8(all);
}

/* Where the first text like a UUID at or behind `from` may begin, or -1. */
static inline ptrdiff_t dashes_find(struct slice s, size_t from)
{
	size_t last = s.n - UUID_TEXT;

	for (size_t at = from; s.n >= SCAN_TEXT && at <= last; at += SCAN) {
		/* The last look goes back a little, over places that were looked at. */
		size_t first = MIN(at, s.n - SCAN_TEXT);
		unsigned places = dash_places(s.p + first) >> (at - first);

		if (places) {
			at += (unsigned)__builtin_ctz(places);
			return at <= last ? (ptrdiff_t)at : -1;
		}
	}
	for (size_t at = from; s.n < SCAN_TEXT && at <= last; at++)
		if (s.p[at + 8] == '-' && s.p[at + 13] == '-')
			return (ptrdiff_t)at;
	return -1;
}
#else
static const int8_t digits[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* 8-4-4-4-12 lower-case hex digits at p. */
static bool uuid_parse(const char *p, uint8_t out[UUID_BYTES])
{
	static const uint8_t at[UUID_BYTES] = {0,  2,  4,  6,  9,  11, 14, 16,
					       19, 21, 24, 26, 28, 30, 32, 34};

	if (p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-')
		return false;
	for (unsigned i = 0; i < UUID_BYTES; i++) {
		uint8_t high = (uint8_t)digits[(uint8_t)p[at[i]]],
			low = (uint8_t)digits[(uint8_t)p[at[i] + 1]];

		if (!high || !low)
			return false;
		out[i] = (uint8_t)((high - 1) << 4 | (low - 1));
	}
	return true;
}

/* Where the first text like a UUID at or behind `from` may begin, or -1. */
static inline ptrdiff_t dashes_find(struct slice s, size_t from)
{
	const char *dash = memchr(s.p + from + 8, '-', s.n - UUID_TEXT - from + 1);

	return dash ? dash - s.p - 8 : -1;
}
#endif

/* Where the first UUID at or behind `from` begins, or -1. */
ptrdiff_t uuid_find(struct slice s, size_t from, uint8_t out[UUID_BYTES])
{
	while (s.n >= UUID_TEXT && from <= s.n - UUID_TEXT) {
		ptrdiff_t at = dashes_find(s, from);

		if (at < 0 || uuid_parse(s.p + at, out))
			return at;
		from = (size_t)at + 1;
	}
	return -1;
}

bool text_has_uuid(struct slice text)
{
	uint8_t id[UUID_BYTES];

	return uuid_find(text, 0, id) >= 0;
}

/* --- writing --- */

struct encoding {
	struct text_encoder *e;
	struct uuid_table *uuids;
	size_t template_n, code_n, ref_n, number_n;
	int64_t expected; /* number of the UUID that would be no surprise */
	uint32_t decimal; /* template of numbers, once there is one */
	uint32_t hole;    /* + 1: template of texts that are a UUID, once there is one */
	uint32_t last;    /* template of the text before: often the same again */
};

struct template_key {
	struct slice text;
	uint32_t kind;
};

static bool template_is(const void *context, uint32_t value, const void *key)
{
	const struct text_encoder *e = context;
	const struct template_key *k = key;

	return e->kinds[value] == k->kind && slice_eq(text_template(e, value), k->text);
}

static bool code_add(struct encoding *g, uint32_t code)
{
	g->e->codes[g->code_n++] = code;
	return true;
}

static inline uint64_t template_hash(const struct text_encoder *e, const struct template_key *k)
{
	return wide_hash_bytes(k->text.p, k->text.n, e->by_text.seed ^ k->kind);
}

/* A template that is there already. */
static inline bool template_again(struct encoding *g, const struct template_key *key, uint64_t hash)
{
	struct text_encoder *e = g->e;
	uint32_t at = map_find(&e->by_text, hash, template_is, e, key);

	if (at == MAP_NONE)
		return false;
	g->last = at;
	return code_add(g, at);
}

/* `text` is borrowed from the caller, or, with `placed`, already stands behind the last template.
 */
static bool template_new(struct encoding *g, const struct template_key *key, uint64_t hash,
			 bool placed)
{
	struct text_encoder *e = g->e;
	struct slice text = key->text;
	size_t n = g->template_n;

	if (!vec_reserve(&e->offset, &e->offset_capacity, n + 2, sizeof(*e->offset)) ||
	    !vec_reserve(&e->kinds, &e->kind_capacity, n + 1, sizeof(*e->kinds)) ||
	    !map_put(&e->by_text, hash, (uint32_t)n))
		return false;
	if (placed)
		e->templates.n += text.n;
	else
		buffer_slice(&e->templates, text);
	if (e->templates.failed || e->templates.n > UINT32_MAX)
		return false;
	e->kinds[n] = key->kind;
	e->offset[n] = (uint32_t)(e->templates.n - text.n);
	e->offset[n + 1] = (uint32_t)e->templates.n;
	g->template_n++;
	g->last = (uint32_t)n;
	return code_add(g, (uint32_t)n);
}

static bool template_add(struct encoding *g, struct slice text, uint32_t kind, bool placed)
{
	const struct template_key key = {text, kind};
	uint64_t hash;

	if (g->template_n > 0 && template_is(g->e, g->last, &key))
		return code_add(g, g->last);
	hash = template_hash(g->e, &key);
	return template_again(g, &key, hash) || template_new(g, &key, hash, placed);
}

static bool ref_add(struct encoding *g, const uint8_t id[UUID_BYTES])
{
	struct text_encoder *e = g->e;
	uint32_t number = uuid_number(g->uuids, id);

	if (number == MAP_NONE ||
	    (g->ref_n == e->ref_capacity &&
	     !vec_reserve(&e->refs, &e->ref_capacity, g->ref_n + 1, sizeof(*e->refs))))
		return false;
	e->refs[g->ref_n++] = (int64_t)number - g->expected;
	g->expected = (int64_t)number + 1;
	return true;
}

/* A text with a UUID at `at`: cuts all of them.  With too many, or with the placeholder itself in
 * the text, it is left whole. */
static bool uuid_text_add(struct encoding *g, struct slice text, ptrdiff_t at,
			  uint8_t id[UUID_BYTES])
{
	struct text_encoder *e = g->e;
	size_t from = 0, refs = g->ref_n, n = 0;
	int64_t expected = g->expected;
	uint32_t kind = 0;
	char *out;

	if (memchr(text.p, TEMPLATE_HOLE, text.n))
		return template_add(g, text, 0, false);
	out = buffer_reserve(&e->templates, text.n);
	if (!out)
		return false;
	for (; at >= 0; at = uuid_find(text, from, id)) {
		if (kind == TEMPLATE_MOST_UUIDS) {
			g->ref_n = refs;
			g->expected = expected;
			return template_add(g, text, 0, false);
		}
		memcpy(out + n, text.p + from, (size_t)at - from);
		n += (size_t)at - from;
		out[n++] = TEMPLATE_HOLE;
		from = (size_t)at + UUID_TEXT;
		kind++;
		if (!ref_add(g, id))
			return false;
	}
	memcpy(out + n, text.p + from, text.n - from);
	return template_add(g, slice_of(out, n + text.n - from), kind, true);
}

/* "0", or digits that do not begin with 0. */
bool text_decimal(struct slice s, int64_t *ret_number)
{
	int64_t number = 0;

	if (s.n == 0 || s.n > TEMPLATE_MOST_DIGITS || (s.p[0] == '0' && s.n > 1))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		number = number * 10 + (s.p[i] - '0');
	}
	*ret_number = number;
	return true;
}

/* A text that is a UUID. */
static bool uuid_add(struct encoding *g, const uint8_t id[UUID_BYTES])
{
	const char hole = TEMPLATE_HOLE;

	if (!ref_add(g, id))
		return false;
	if (g->hole)
		return code_add(g, g->hole - 1);
	if (!template_add(g, slice_of(&hole, 1), 1, false))
		return false;
	g->hole = g->e->codes[g->code_n - 1] + 1;
	return true;
}

static bool text_add(struct encoding *g, struct slice text)
{
	const struct template_key plain = {text, 0};
	struct text_encoder *e = g->e;
	uint8_t id[UUID_BYTES];
	uint64_t hash;
	ptrdiff_t at;
	int64_t number;

	if (text.n == UUID_TEXT && uuid_parse(text.p, id))
		return uuid_add(g, id);
	if (text_decimal(text, &number)) {
		if (g->number_n == e->number_capacity &&
		    !vec_reserve(&e->numbers, &e->number_capacity, g->number_n + 1,
				 sizeof(*e->numbers)))
			return false;
		e->numbers[g->number_n++] = number;
		if (g->number_n > 1)
			return code_add(g, g->decimal);
		if (!template_add(g, slice_of(NULL, 0), TEMPLATE_DECIMAL, false))
			return false;
		g->decimal = e->codes[g->code_n - 1];
		return true;
	}
	/* A text that was left whole once always is: that is asked before it is searched. */
	hash = template_hash(e, &plain);
	if (template_again(g, &plain, hash))
		return true;
	at = uuid_find(text, 0, id);
	return at >= 0 ? uuid_text_add(g, text, at, id) : template_new(g, &plain, hash, false);
}

int text_column_cut(struct text_encoder *e, struct uuid_table *uuids, const struct slice *texts,
		    size_t n, struct text_column_facts *ret_facts)
{
	struct encoding g = {.e = e, .uuids = uuids, .expected = (int64_t)uuids->n};

	e->base = uuids->n;
	if (!e->started)
		map_init(&e->by_text);
	e->started = true;
	map_clear(&e->by_text);
	buffer_clear(&e->templates);
	if (!vec_reserve(&e->codes, &e->code_capacity, n, sizeof(*e->codes)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		/* They lie all over the batches. */
		if (i + AHEAD < n)
			__builtin_prefetch(texts[i + AHEAD].p);
		if (!text_add(&g, texts[i]))
			return -ENOMEM;
	}
	e->template_n = g.template_n;
	e->ref_n = g.ref_n;
	e->number_n = g.number_n;
	*ret_facts = (struct text_column_facts){g.template_n, g.ref_n || g.number_n};
	return 0;
}

int text_column_write(struct text_encoder *e, struct column_codec *codec, size_t n,
		      struct buffer *out)
{
	struct block_writer w = {.codec = codec, .out = out};

	block_put_number(&w, e->template_n);
	block_put_number(&w, e->ref_n);
	block_put_number(&w, e->number_n);
	block_put_number(&w, e->base);
	block_put_text(&w, e->templates.p, e->offset, e->template_n);
	block_put_u32(&w, e->kinds, e->template_n);
	block_put_codes(&w, e->codes, n);
	if (e->ref_n)
		block_put_i64(&w, e->refs, e->ref_n);
	if (e->number_n)
		block_put_i64(&w, e->numbers, e->number_n);
	return w.failed;
}

void text_encoder_done(struct text_encoder *e)
{
	buffer_done(&e->templates);
	free(e->offset);
	free(e->codes);
	free(e->kinds);
	free(e->refs);
	free(e->numbers);
	if (e->started)
		map_done(&e->by_text);
	*e = (struct text_encoder){0};
}
