/* segment/block_io.h - column blocks one behind the other, each with its length in front.
 *
 * What tables and columns of text are made of: u32 length, block (empty without values).  Writers
 * collect the first error and say it at the end; readers stop at the end of the bytes with
 * -EBADMSG. */
#ifndef CAUSET_SEGMENT_BLOCK_IO_H
#define CAUSET_SEGMENT_BLOCK_IO_H

#include <errno.h>

#include "core/varint.h"
#include "segment/column.h"

struct block_writer {
	struct column_codec *codec;
	struct buffer *out;
	int failed;
};

static inline void block_begin(struct block_writer *w, size_t *at)
{
	*at = w->out->n;
	buffer_append(w->out, "\0\0\0", 4);
}

static inline void block_end(struct block_writer *w, size_t at, int r)
{
	uint32_t n;

	if (r < 0 || w->out->failed) {
		if (w->failed == 0)
			w->failed = r < 0 ? r : -ENOMEM;
		return;
	}
	n = (uint32_t)(w->out->n - at - 4);
	memcpy(w->out->p + at, &n, 4);
}

static inline void block_put_u32(struct block_writer *w, const uint32_t *v, size_t n)
{
	size_t at;

	block_begin(w, &at);
	block_end(w, at, n == 0 ? 0 : column_encode_u32(w->codec, v, n, w->out));
}

static inline void block_put_u64(struct block_writer *w, const uint64_t *v, size_t n)
{
	size_t at;

	block_begin(w, &at);
	block_end(w, at, n == 0 ? 0 : column_encode_u64(w->codec, v, n, w->out));
}

static inline void block_put_i64(struct block_writer *w, const int64_t *v, size_t n)
{
	size_t at;

	block_begin(w, &at);
	block_end(w, at, n == 0 ? 0 : column_encode_i64(w->codec, v, n, w->out));
}

static inline void block_put_codes(struct block_writer *w, const uint32_t *v, size_t n)
{
	size_t at;

	block_begin(w, &at);
	block_end(w, at, n == 0 ? 0 : column_encode_codes(w->codec, v, n, w->out));
}

static inline void block_put_text(struct block_writer *w, const char *text, const uint32_t *offset,
				  size_t n)
{
	size_t at;

	block_begin(w, &at);
	block_end(w, at, n == 0 ? 0 : column_encode_text(w->codec, text, offset, n, w->out));
}

static inline void block_put_number(struct block_writer *w, uint64_t value)
{
	char *p = buffer_reserve(w->out, VARINT_MAX);

	if (p)
		w->out->n += varint_encode(value, (uint8_t *)p);
	else if (w->failed == 0)
		w->failed = -ENOMEM;
}

struct block_reader {
	struct column_codec *codec;
	struct slice rest;
	int failed; /* the first error; values are then not to be used */
};

static inline bool block_fail(struct block_reader *r, int error)
{
	if (r->failed == 0)
		r->failed = error;
	return false;
}

static inline bool block_next(struct block_reader *r, struct slice *ret_block)
{
	uint32_t n;

	if (r->failed)
		return false;
	if (r->rest.n < 4)
		return block_fail(r, -EBADMSG);
	memcpy(&n, r->rest.p, 4);
	if (n > r->rest.n - 4)
		return block_fail(r, -EBADMSG);
	*ret_block = slice_of(r->rest.p + 4, n);
	r->rest = slice_of(r->rest.p + 4 + n, r->rest.n - 4 - n);
	return true;
}

/* The next block, of n values; false also when n is 0: nothing is to be decoded. */
static inline bool block_next_of(struct block_reader *r, size_t n, struct slice *ret_block)
{
	if (!block_next(r, ret_block))
		return false;
	if (n == 0 && ret_block->n > 0)
		return block_fail(r, -EBADMSG);
	return n > 0;
}

static inline uint64_t block_get_number(struct block_reader *r)
{
	const uint8_t *from = (const uint8_t *)r->rest.p, *p;
	uint64_t value = 0;

	if (r->failed)
		return 0;
	p = varint_decode(from, from + r->rest.n, &value);
	if (!p) {
		block_fail(r, -EBADMSG);
		return 0;
	}
	r->rest = slice_of(p, r->rest.n - (size_t)(p - from));
	return value;
}

static inline void block_get_u32(struct block_reader *r, uint32_t *out, size_t n)
{
	struct slice block;
	int e;

	if (block_next_of(r, n, &block) && (e = column_decode_u32(r->codec, block, n, out)) < 0)
		block_fail(r, e);
}

static inline void block_get_u64(struct block_reader *r, uint64_t *out, size_t n)
{
	struct slice block;
	int e;

	if (block_next_of(r, n, &block) && (e = column_decode_u64(r->codec, block, n, out)) < 0)
		block_fail(r, e);
}

static inline void block_get_i64(struct block_reader *r, int64_t *out, size_t n)
{
	struct slice block;
	int e;

	if (block_next_of(r, n, &block) && (e = column_decode_i64(r->codec, block, n, out)) < 0)
		block_fail(r, e);
}

static inline void block_get_codes(struct block_reader *r, uint32_t *out, size_t n, uint32_t below)
{
	struct slice block;
	int e;

	if (block_next_of(r, n, &block) &&
	    (e = column_decode_codes(r->codec, block, n, below, out)) < 0)
		block_fail(r, e);
}

#endif
