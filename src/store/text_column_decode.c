/* store/text_column_decode.c - reading a column of texts. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/block_io.h"
#include "store/text_column_int.h"

struct decoding {
	const uint8_t (*uuids)[UUID_BYTES];
	size_t uuid_n, limit;
	struct text_column *c;
	uint32_t *kinds;
	int64_t *refs, *numbers;
	size_t template_n, ref_n, number_n, ref_at, number_at;
	int64_t expected;
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
	return d->ref_at == d->ref_n && d->number_at == d->number_n ? 0 : -EBADMSG;
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

static int decode(struct decoding *d, struct block_reader *r, size_t n)
{
	struct text_column *c = d->c;
	struct slice block;
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
	block_get_codes(r, c->codes, n, (uint32_t)d->template_n);
	if (d->ref_n)
		block_get_i64(r, d->refs, d->ref_n);
	if (d->number_n)
		block_get_i64(r, d->numbers, d->number_n);
	if (r->failed || r->rest.n)
		return r->failed ? r->failed : -EBADMSG;
	for (size_t i = 0; i < d->template_n; i++)
		if (d->kinds[i] > TEMPLATE_DECIMAL)
			return -EBADMSG;
	return fill_all(d, n);
}

int text_column_codes(struct column_codec *codec, struct slice block, size_t n, uint32_t below,
		      struct text_column *column)
{
	struct block_reader r = {.codec = codec, .rest = block};

	if (!vec_reserve(&column->codes, &column->code_capacity, n + 1, sizeof(*column->codes)))
		return -ENOMEM;
	if (block_get_number(&r) != 0)
		block_fail(&r, -EBADMSG);
	block_get_codes(&r, column->codes, n, below);
	return r.failed ? r.failed : r.rest.n ? -EBADMSG : 0;
}

int text_column_decode(struct column_codec *codec, struct slice block, size_t n,
		       const uint8_t (*uuids)[UUID_BYTES], size_t uuid_n, size_t limit,
		       struct text_column *column)
{
	struct decoding d = {.uuids = uuids, .uuid_n = uuid_n, .limit = limit, .c = column};
	struct block_reader r = {.codec = codec, .rest = block};
	int e = decode(&d, &r, n);

	decoding_done(&d);
	return e;
}

void text_column_done(struct text_column *column)
{
	free(column->codes);
	free(column->offset);
	buffer_done(&column->text);
	*column = (struct text_column){0};
}
