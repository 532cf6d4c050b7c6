/* segment/column.c - the codec, and the blocks of integers and codes as callers see them.
 *
 * The forms and their bytes are in segment/column_int.h. */
#include "segment/column.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/bitpack.h"
#include "segment/column_int.h"

#define DEFAULT_LEVEL 3

/* --- the codec --- */

struct column_codec *column_codec_new(void)
{
	_cleanup_(column_codec_freep)
	struct column_codec *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->compressor = ZSTD_createCCtx();
	c->decompressor = ZSTD_createDCtx();
	if (!c->compressor || !c->decompressor)
		return NULL;
	ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_checksumFlag, 0);
	column_codec_level(c, DEFAULT_LEVEL);
	column_log_init(c);
	return TAKE_PTR(c);
}

struct column_codec *column_codec_free(struct column_codec *c)
{
	if (!c)
		return NULL;
	ZSTD_freeCCtx(c->compressor);
	ZSTD_freeDCtx(c->decompressor);
	for (int i = 0; i < SLOTS; i++)
		buffer_done(&c->scratch[i]);
	for (int i = 0; i < MODEL_SLOTS; i++)
		free(c->model_slots[i].slots);
	free(c);
	return NULL;
}

size_t column_codec_bytes(const struct column_codec *c)
{
	size_t n = sizeof(*c) + ZSTD_sizeof_DCtx(c->decompressor);

	for (int i = 0; i < SLOTS; i++)
		n += c->scratch[i].capacity;
	for (int i = 0; i < MODEL_SLOTS; i++)
		n += c->model_slots[i].capacity * sizeof(*c->model_slots[i].slots);
	return n;
}

void column_codec_level(struct column_codec *c, int level)
{
	ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_compressionLevel, level);
}

void column_codec_hints(struct column_codec *c, struct column_hints *hints)
{
	c->hints = hints;
	c->hint_n = 0;
}

void column_codec_learner(struct column_codec *c, struct column_learner *l, const uint32_t *names)
{
	c->learner = l;
	c->names = names;
}

void column_codec_models(struct column_codec *c, const struct column_models *m,
			 const uint32_t *names)
{
	c->models = m;
	c->names = names;
}

void *column_scratch(struct column_codec *c, enum column_slot slot, size_t size)
{
	struct buffer *b = &c->scratch[slot];

	buffer_clear(b);
	return buffer_reserve(b, size ? size : 1);
}

bool column_read_block(struct column_reader *r, uint64_t size, struct column_reader *ret_block)
{
	if (size > column_left(r))
		return false;
	*ret_block = (struct column_reader){r->p, r->p + size};
	r->p += size;
	return true;
}

void column_write_varint(struct buffer *out, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buffer_append(out, bytes, varint_encode(value, bytes));
}

size_t column_open_block(struct buffer *out)
{
	return out->n;
}

/* The size goes before the block, which moves up. */
void column_close_block(struct buffer *out, size_t place)
{
	uint8_t bytes[VARINT_MAX];
	size_t size = out->n - place, n = varint_encode(size, bytes);

	if (out->failed || !buffer_reserve(out, n))
		return;
	memmove(out->p + place + n, out->p + place, size);
	memcpy(out->p + place, bytes, n);
	out->n += n;
}

/* --- integers --- */

int column_encode_u64(struct column_codec *c, const uint64_t *values, size_t n, struct buffer *out)
{
	return column_integers_encode(c, values, n, 0, DEPTH_TOP, NULL, out);
}

int column_encode_i64(struct column_codec *c, const int64_t *values, size_t n, struct buffer *out)
{
	return column_integers_encode(c, (const uint64_t *)values, n, COLUMN_SIGNED, DEPTH_TOP,
				      NULL, out);
}

int column_encode_i64_apart(struct column_codec *c, const int64_t *values, size_t n,
			    struct buffer *out)
{
	return column_integers_encode(c, (const uint64_t *)values, n, COLUMN_SIGNED | COLUMN_APART,
				      DEPTH_TOP, NULL, out);
}

int column_encode_i64_in(struct column_codec *c, const int64_t *values, size_t n,
			 const uint32_t *contexts, uint32_t context_n, struct buffer *out)
{
	const struct column_context context = {contexts, context_n};

	return column_integers_encode(c, (const uint64_t *)values, n, COLUMN_SIGNED, DEPTH_TOP,
				      &context, out);
}

/* Codes that were packed as bits the last time: without the way through 64 bits.  1 if it was done.
 */
static int codes_as_before(struct column_codec *c, const uint32_t *codes, size_t n,
			   struct buffer *out)
{
	uint32_t least = UINT32_MAX, most = 0;
	unsigned width;
	size_t size;
	char *room;

	if (n > COLUMN_MAX_VALUES || !column_hint_packs(c, n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		least = MIN(least, codes[i]);
		most = MAX(most, codes[i]);
	}
	if (least == most)
		return 0;
	column_hint_used(c);
	width = bitpack_width(most - least);
	size = bitpack_size(n, width);
	buffer_byte(out, COLUMN_FOR);
	buffer_byte(out, (char)width);
	column_write_varint(out, least);
	room = buffer_reserve(out, size + 8);
	if (!room)
		return -ENOMEM;
	bitpack_encode_u32(codes, n, least, width, (uint8_t *)room);
	out->n += size;
	return out->failed ? -ENOMEM : 1;
}

static int encode_narrow(struct column_codec *c, const uint32_t *values, size_t n, unsigned flags,
			 struct buffer *out)
{
	uint64_t *wide;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	wide = column_scratch(c, SLOT_WIDE, n * sizeof(*wide));
	if (!wide)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		wide[i] = values[i];
	return column_integers_encode(c, wide, n, flags, DEPTH_TOP, NULL, out);
}

int column_encode_u32(struct column_codec *c, const uint32_t *values, size_t n, struct buffer *out)
{
	return encode_narrow(c, values, n, 0, out);
}

int column_encode_codes(struct column_codec *c, const uint32_t *codes, size_t n, struct buffer *out)
{
	int r = codes_as_before(c, codes, n, out);

	return r ? MIN(r, 0) : encode_narrow(c, codes, n, COLUMN_CODES, out);
}

int column_decode_u64_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, uint64_t *out)
{
	return column_integers_decode(c, column_reader_of(block), n, first, count, DEPTH_TOP, NULL,
				      out);
}

int column_decode_i64_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, int64_t *out)
{
	return column_decode_u64_range(c, block, n, first, count, (uint64_t *)out);
}

int column_decode_u64(struct column_codec *c, struct slice block, size_t n, uint64_t *out)
{
	return column_decode_u64_range(c, block, n, 0, n, out);
}

int column_decode_i64(struct column_codec *c, struct slice block, size_t n, int64_t *out)
{
	return column_decode_u64_range(c, block, n, 0, n, (uint64_t *)out);
}

int column_decode_i64_in_range(struct column_codec *c, struct slice block, size_t n,
			       const uint32_t *contexts, uint32_t context_n, size_t first,
			       size_t count, int64_t *out)
{
	const struct column_context context = {contexts, context_n};

	return column_integers_decode(c, column_reader_of(block), n, first, count, DEPTH_TOP,
				      &context, (uint64_t *)out);
}

int column_decode_i64_in(struct column_codec *c, struct slice block, size_t n,
			 const uint32_t *contexts, uint32_t context_n, int64_t *out)
{
	return column_decode_i64_in_range(c, block, n, contexts, context_n, 0, n, out);
}

/* The forms that hold 32-bit values most often, without the way through 64 bits; 1 if it was one.
 */
static int decode_narrow(struct column_codec *c, struct column_reader r, size_t n, size_t first,
			 size_t count, uint32_t *out)
{
	uint8_t form, width;
	uint64_t base;
	int e;

	if (!column_read_byte(&r, &form))
		return -EBADMSG;
	if (form == COLUMN_FOR) {
		if (!column_read_byte(&r, &width) || !column_read_varint(&r, &base) ||
		    !bitpack_width_valid(width) || column_left(&r) < bitpack_size(n, width))
			return -EBADMSG;
		if (width > 32 || base > UINT32_MAX ||
		    base + (((uint64_t)1 << width) - 1) > UINT32_MAX)
			return 0;
		bitpack_decode_u32(r.p, column_left(&r), width, (uint32_t)base, first, count, out);
		return 1;
	}
	if (form == COLUMN_LZ && count == n) {
		e = column_lz_read(c, &r, n, out);
		return e < 0 ? e : 1;
	}
	return 0;
}

int column_decode_u32_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, uint32_t *out)
{
	uint64_t *wide, all = 0;
	int e;

	if (n > COLUMN_MAX_VALUES || first > n || count > n - first)
		return -EINVAL;
	if (count == 0)
		return 0;
	e = decode_narrow(c, column_reader_of(block), n, first, count, out);
	if (e != 0)
		return e < 0 ? e : 0;
	wide = column_scratch(c, SLOT_DECODED, count * sizeof(*wide));
	if (!wide)
		return -ENOMEM;
	e = column_decode_u64_range(c, block, n, first, count, wide);
	if (e < 0)
		return e;
	for (size_t i = 0; i < count; i++) {
		all |= wide[i];
		out[i] = (uint32_t)wide[i];
	}
	return all > UINT32_MAX ? -EBADMSG : 0;
}

int column_decode_u32(struct column_codec *c, struct slice block, size_t n, uint32_t *out)
{
	return column_decode_u32_range(c, block, n, 0, n, out);
}

int column_decode_codes_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			      size_t count, uint32_t below, uint32_t *out)
{
	int e = column_decode_u32_range(c, block, n, first, count, out);
	uint32_t bad = 0;

	if (e < 0)
		return e;
	for (size_t i = 0; i < count; i++)
		bad |= (uint32_t)(out[i] >= below);
	return bad ? -EBADMSG : 0;
}

int column_decode_codes(struct column_codec *c, struct slice block, size_t n, uint32_t below,
			uint32_t *out)
{
	return column_decode_codes_range(c, block, n, 0, n, below, out);
}
