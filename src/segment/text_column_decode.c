/* segment/text_column_decode.c - reading a column of texts. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/block_io.h"
#include "segment/text_column_int.h"

struct decoding {
	const uint8_t (*uuids)[UUID_BYTES];
	size_t uuid_n, limit;
	struct text_column *c;
	uint32_t *kinds;
	int64_t *refs, *numbers;
	size_t template_n, ref_n, number_n, ref_at, number_at;
	int64_t expected;
	size_t n, first, count; /* of the block; what is asked for */
};

static void decoding_done(struct decoding *d)
{
	free(d->kinds);
	free(d->refs);
	free(d->numbers);
}

static void uuid_format(const uint8_t id[UUID_BYTES], char *out)
{
	static const char hex[] = "0123456789abcdef";

	for (unsigned i = 0; i < UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = hex[id[i] >> 4];
		*out++ = hex[id[i] & 15];
	}
}

static const uint8_t *next_uuid(struct decoding *d)
{
	int64_t number;

	if (d->ref_at == d->ref_n)
		return NULL;
	if (__builtin_add_overflow(d->refs[d->ref_at++], d->expected, &number) || number < 0 ||
	    (uint64_t)number >= d->uuid_n)
		return NULL;
	d->expected = number + 1;
	return d->uuids[number];
}

/* Fills the holes of template `t` behind the last text. */
static int fill(struct decoding *d, uint32_t t)
{
	struct text_column *c = d->c;
	size_t n = c->offset[t + 1] - c->offset[t], whole = n + d->kinds[t] * (UUID_TEXT - 1),
	       at = 0;
	uint32_t holes = 0;
	char *out;

	if (whole > d->limit - MIN(c->text.n, d->limit))
		return -EBADMSG;
	out = buffer_reserve(&c->text, whole);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		char byte = c->text.p[c->offset[t] + i];
		const uint8_t *id;

		if (byte != TEMPLATE_HOLE) {
			out[at++] = byte;
			continue;
		}
		if (++holes > d->kinds[t] || !(id = next_uuid(d)))
			return -EBADMSG;
		uuid_format(id, out + at);
		at += UUID_TEXT;
	}
	if (holes != d->kinds[t])
		return -EBADMSG;
	c->text.n += at;
	return 0;
}

static int fill_number(struct decoding *d)
{
	struct buffer *text = &d->c->text;
	char digits[24];
	size_t n = 0;
	uint64_t number;

	if (d->number_at == d->number_n || d->numbers[d->number_at] < 0 ||
	    text->n + sizeof(digits) > d->limit)
		return -EBADMSG;
	number = (uint64_t)d->numbers[d->number_at++];
	do
		digits[n++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (n > 0)
		buffer_byte(text, digits[--n]);
	return text->failed ? -ENOMEM : 0;
}

/* Values whose template has something cut out get a text of their own. */
static int fill_all(struct decoding *d, size_t n)
{
	struct text_column *c = d->c;

	for (size_t i = 0; i < n; i++) {
		uint32_t t = c->codes[i];
		int r;

		if (d->kinds[t] == 0)
			continue;
		r = d->kinds[t] == TEMPLATE_DECIMAL ? fill_number(d) : fill(d, t);
		if (r < 0)
			return r;
		if (!vec_reserve(&c->offset, &c->offset_capacity, (size_t)c->text_n + 2,
				 sizeof(*c->offset)))
			return -ENOMEM;
		c->codes[i] = c->text_n++;
		c->offset[c->text_n] = (uint32_t)c->text.n;
	}
	if (d->first + d->count < d->n)
		return 0; /* the rest belongs to others */
	return d->ref_at == d->ref_n && d->number_at == d->number_n ? 0 : -EBADMSG;
}

/* Goes past what was cut out of the first values, whose templates these are. */
static int skip(struct decoding *d, const uint32_t *codes, size_t n)
{
	size_t refs = 0, numbers = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t kind = d->kinds[codes[i]];

		numbers += kind == TEMPLATE_DECIMAL;
		refs += kind == TEMPLATE_DECIMAL ? 0 : kind;
	}
	if (refs > d->ref_n || numbers > d->number_n)
		return -EBADMSG;
	for (; d->ref_at < refs; d->ref_at++)
		d->expected = (int64_t)((uint64_t)d->expected + (uint64_t)d->refs[d->ref_at] + 1);
	d->number_at = numbers;
	return 0;
}

/* The templates of the values asked for, and where what was cut out of them stands. */
static int get_codes(struct decoding *d, struct block_reader *r, struct slice block)
{
	/* Only who knows all values before one knows what was cut out of it. */
	bool all = d->ref_n || d->number_n;
	size_t first = all ? 0 : d->first, n = d->first + d->count - first;
	int e = column_decode_codes_range(r->codec, block, d->n, first, n, (uint32_t)d->template_n,
					  d->c->codes);

	if (e < 0 || !all || d->first == 0)
		return e;
	e = skip(d, d->c->codes, d->first);
	memmove(d->c->codes, d->c->codes + d->first, d->count * sizeof(*d->c->codes));
	return e;
}

static int allocate(struct decoding *d, size_t n)
{
	struct text_column *c = d->c;

	if (!vec_reserve(&c->codes, &c->code_capacity, n + 1, sizeof(*c->codes)) ||
	    !vec_reserve(&c->offset, &c->offset_capacity, d->template_n + 2, sizeof(*c->offset)))
		return -ENOMEM;
	d->kinds = malloc((d->template_n + 1) * sizeof(*d->kinds));
	d->refs = malloc((d->ref_n + 1) * sizeof(*d->refs));
	d->numbers = malloc((d->number_n + 1) * sizeof(*d->numbers));
	return d->kinds && d->refs && d->numbers ? 0 : -ENOMEM;
}

/* Blocks behind the templates. */
struct later {
	struct slice codes, refs, numbers;
};

/* Templates and their kinds; where the rest stands. */
static int begin(struct decoding *d, struct block_reader *r, struct later *ret_later)
{
	struct later later = {0};
	struct text_column *c = d->c;
	struct slice block;
	size_t n = d->n;
	uint64_t base;
	int e;

	d->template_n = block_get_number(r);
	d->ref_n = block_get_number(r);
	d->number_n = block_get_number(r);
	base = block_get_number(r);
	/* Whatever is cut out belongs to a value, a UUID to one of at most so many of its holes. */
	if (r->failed || d->template_n == 0 || d->template_n > n || d->number_n > n ||
	    d->ref_n > n * TEMPLATE_MOST_UUIDS || d->ref_n > COLUMN_MAX_VALUES || base > d->uuid_n)
		return -EBADMSG;
	d->expected = (int64_t)base;
	e = allocate(d, n);
	if (e < 0)
		return e;
	buffer_clear(&c->text);
	if (!block_next(r, &block))
		return r->failed;
	e = column_decode_text(r->codec, block, d->template_n, d->limit, c->offset, &c->text);
	if (e < 0)
		return e;
	c->text_n = (uint32_t)d->template_n;
	if (c->text_n == 0)
		c->offset[0] = 0;
	block_get_u32(r, d->kinds, d->template_n);
	block_next(r, &later.codes);
	if (d->ref_n)
		block_next(r, &later.refs);
	if (d->number_n)
		block_next(r, &later.numbers);
	if (r->failed || r->rest.n)
		return r->failed ? r->failed : -EBADMSG;
	for (size_t i = 0; i < d->template_n; i++)
		if (d->kinds[i] > TEMPLATE_DECIMAL)
			return -EBADMSG;
	*ret_later = later;
	return 0;
}

/* What was cut out. */
static int get_cut(struct decoding *d, struct column_codec *codec, const struct later *later)
{
	int e = d->ref_n ? column_decode_i64(codec, later->refs, d->ref_n, d->refs) : 0;

	return e == 0 && d->number_n
		       ? column_decode_i64(codec, later->numbers, d->number_n, d->numbers)
		       : e;
}

static int decode(struct decoding *d, struct block_reader *r)
{
	struct later later;
	int e = begin(d, r, &later);

	if (e == 0)
		e = get_cut(d, r->codec, &later);
	if (e == 0)
		e = get_codes(d, r, later.codes);
	return e == 0 ? fill_all(d, d->count) : e;
}

int text_column_codes(struct column_codec *codec, struct slice block, size_t n, size_t first,
		      size_t count, uint32_t below, struct text_column *column)
{
	struct block_reader r = {.codec = codec, .rest = block};
	struct slice codes;

	if (!vec_reserve(&column->codes, &column->code_capacity, count + 1, sizeof(*column->codes)))
		return -ENOMEM;
	if (block_get_number(&r) != 0)
		block_fail(&r, -EBADMSG);
	if (!block_next(&r, &codes))
		return r.failed;
	return r.rest.n ? -EBADMSG
			: column_decode_codes_range(codec, codes, n, first, count, below,
						    column->codes);
}

int text_column_decode(struct column_codec *codec, struct slice block, size_t n, size_t first,
		       size_t count, const uint8_t (*uuids)[UUID_BYTES], size_t uuid_n,
		       size_t limit, struct text_column *column)
{
	struct decoding d = {.uuids = uuids,
			     .uuid_n = uuid_n,
			     .limit = limit,
			     .c = column,
			     .n = n,
			     .first = first,
			     .count = count};
	struct block_reader r = {.codec = codec, .rest = block};
	int e = decode(&d, &r);

	decoding_done(&d);
	return e;
}

/* --- finding --- */

#define NO_TEMPLATE UINT32_MAX

/* The templates a text may have been made from, and what would have been cut out. */
struct wanted {
	uint32_t plain, holes, decimal;
	int64_t number;
	uint8_t uuids[TEMPLATE_MOST_UUIDS][UUID_BYTES];
};

static bool has_uuid(const struct decoding *d, const uint8_t id[UUID_BYTES])
{
	for (size_t i = 0; i < d->uuid_n; i++)
		if (memcmp(d->uuids[i], id, UUID_BYTES) == 0)
			return true;
	return false;
}

/* Is `text` this template with UUIDs in its holes? */
static bool fits_holes(const struct decoding *d, uint32_t t, struct slice text, struct wanted *w)
{
	const char *p = d->c->text.p + d->c->offset[t];
	size_t n = d->c->offset[t + 1] - d->c->offset[t], at = 0;
	uint32_t holes = 0;

	if (n + d->kinds[t] * (UUID_TEXT - 1) != text.n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (p[i] != TEMPLATE_HOLE) {
			if (at >= text.n || text.p[at++] != p[i])
				return false;
			continue;
		}
		if (holes == d->kinds[t] || text.n - at < UUID_TEXT ||
		    uuid_find(slice_of(text.p + at, UUID_TEXT), 0, w->uuids[holes]) != 0)
			return false;
		at += UUID_TEXT;
		holes++;
	}
	return holes == d->kinds[t] && at == text.n;
}

static void want(const struct decoding *d, struct slice text, struct wanted *w)
{
	bool number = text_decimal(text, &w->number);

	w->plain = w->holes = w->decimal = NO_TEMPLATE;
	for (uint32_t t = 0; t < d->template_n; t++) {
		if (d->kinds[t] == TEMPLATE_DECIMAL) {
			w->decimal = number ? t : NO_TEMPLATE;
		} else if (d->kinds[t] == 0) {
			if (slice_eq(slice_of(d->c->text.p + d->c->offset[t],
					      d->c->offset[t + 1] - d->c->offset[t]),
				     text))
				w->plain = t;
		} else if (w->holes == NO_TEMPLATE && text.n >= UUID_TEXT &&
			   fits_holes(d, t, text, w)) {
			w->holes = t;
		}
	}
	if (w->holes != NO_TEMPLATE && !has_uuid(d, w->uuids[0]))
		w->holes = NO_TEMPLATE;
}

/* Takes the UUIDs of the next value, of template t: 1 if they are those wanted, negative errno. */
static int next_is(struct decoding *d, uint32_t t, const struct wanted *w)
{
	bool same = t == w->holes;

	for (uint32_t k = 0; k < d->kinds[t]; k++) {
		const uint8_t *id = next_uuid(d);

		if (!id)
			return -EBADMSG;
		same = same && memcmp(id, w->uuids[k], UUID_BYTES) == 0;
	}
	return same;
}

static int find_all(struct decoding *d, const struct wanted *w, uint32_t *found)
{
	const uint32_t *codes = d->c->codes;
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t kind = d->kinds[codes[i]];
		int r = codes[i] == w->plain;

		if (kind == TEMPLATE_DECIMAL) {
			if (d->number_at == d->number_n)
				return -EBADMSG;
			r = w->decimal != NO_TEMPLATE && d->numbers[d->number_at] == w->number;
			d->number_at++;
		} else if (kind > 0) {
			r = w->holes == NO_TEMPLATE ? 0 : next_is(d, codes[i], w);
		}
		if (r < 0)
			return r;
		found[n] = i;
		n += (uint32_t)r;
	}
	return (int)n;
}

int text_column_find(struct column_codec *codec, struct slice block, size_t n,
		     const uint8_t (*uuids)[UUID_BYTES], size_t uuid_n, size_t limit,
		     struct slice text, struct text_column *room, uint32_t *found)
{
	_cleanup_(decoding_done)
	struct decoding d = {
		.uuids = uuids, .uuid_n = uuid_n, .limit = limit, .c = room, .n = n, .count = n};
	struct block_reader r = {.codec = codec, .rest = block};
	struct wanted w;
	struct later later;
	int e = begin(&d, &r, &later);

	if (e < 0)
		return e;
	want(&d, text, &w);
	if (w.plain == NO_TEMPLATE && w.holes == NO_TEMPLATE && w.decimal == NO_TEMPLATE)
		return 0;
	if (d.ref_n && w.holes != NO_TEMPLATE)
		e = column_decode_i64(codec, later.refs, d.ref_n, d.refs);
	if (e == 0 && d.number_n && w.decimal != NO_TEMPLATE)
		e = column_decode_i64(codec, later.numbers, d.number_n, d.numbers);
	if (e == 0)
		e = column_decode_codes(codec, later.codes, n, (uint32_t)d.template_n, room->codes);
	return e == 0 ? find_all(&d, &w, found) : e;
}

void text_column_done(struct text_column *column)
{
	free(column->codes);
	free(column->offset);
	buffer_done(&column->text);
	*column = (struct text_column){0};
}
