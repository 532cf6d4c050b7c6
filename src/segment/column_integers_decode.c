/* segment/column_integers_decode.c - blocks of integers back into values, whole or a part. */
#include <errno.h>

#include "segment/bitpack.h"
#include "segment/column_int.h"

static int read_const(struct column_reader *r, size_t count, uint64_t *out)
{
	uint64_t value;

	if (!column_read_varint(r, &value))
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		out[i] = value;
	return 0;
}

static int read_for(struct column_reader *r, size_t n, size_t first, size_t count, uint64_t *out)
{
	uint64_t base;
	uint8_t width;

	if (!column_read_byte(r, &width) || !column_read_varint(r, &base) ||
	    !bitpack_width_valid(width) || column_left(r) < bitpack_size(n, width))
		return -EBADMSG;
	bitpack_decode(r->p, column_left(r), width, base, first, count, out);
	return 0;
}

/* Values 0 … count - 1. */
static int read_delta(struct column_reader *r, size_t n, size_t count, uint64_t *out)
{
	uint64_t value, least;
	uint8_t width;

	if (!column_read_byte(r, &width) || !column_read_varint(r, &value) ||
	    !column_read_varint(r, &least) || !bitpack_width_valid(width) ||
	    column_left(r) < bitpack_size(n - 1, width))
		return -EBADMSG;
	bitpack_decode(r->p, column_left(r), width, least, 0, count - 1, out + 1);
	out[0] = value;
	for (size_t i = 1; i < count; i++)
		out[i] += out[i - 1];
	return 0;
}

static int read_runs(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out)
{
	uint64_t runs, size, *parts, *lengths;
	struct column_reader values;
	size_t at = 0;
	int e;

	if (!column_read_varint(r, &runs) || runs == 0 || runs > n ||
	    !column_read_varint(r, &size) || !column_read_block(r, size, &values))
		return -EBADMSG;
	parts = column_scratch(c, SLOT_PARTS, 2 * runs * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	lengths = parts + runs;
	e = column_integers_decode(c, values, runs, 0, runs, DEPTH_PART, NULL, parts);
	if (e == 0)
		e = column_integers_decode(c, *r, runs, 0, runs, DEPTH_PART, NULL, lengths);
	if (e < 0)
		return e;
	for (size_t k = 0; k < runs; k++) {
		if (lengths[k] > n - at)
			return -EBADMSG;
		for (size_t end = at + lengths[k]; at < end; at++)
			out[at] = parts[k];
	}
	return at == n ? 0 : -EBADMSG;
}

static int read_scaled(struct column_codec *c, struct column_reader *r, size_t n, size_t first,
		       size_t count, const struct column_context *context, uint64_t *out)
{
	uint64_t factor;
	int e;

	if (!column_read_varint(r, &factor))
		return -EBADMSG;
	e = column_integers_decode(c, *r, n, first, count, DEPTH_SCALED, context, out);
	if (e < 0)
		return e;
	for (size_t i = 0; i < count; i++)
		out[i] *= factor;
	return 0;
}

static int read_lz(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out)
{
	uint32_t *codes = column_scratch(c, SLOT_CODES, n * sizeof(*codes));
	int e = codes ? column_lz_read(c, r, n, codes) : -ENOMEM;

	for (size_t i = 0; e == 0 && i < n; i++)
		out[i] = codes[i];
	return e;
}

/* The forms that must be decoded from their start to their end. */
static int read_whole(struct column_codec *c, enum column_form form, struct column_reader *r,
		      size_t n, enum column_depth depth, uint64_t *out)
{
	switch (form) {
	case COLUMN_LZ:
		return read_lz(c, r, n, out);
	case COLUMN_RUNS:
		return depth == DEPTH_PART ? -EBADMSG : read_runs(c, r, n, out);
	case COLUMN_DICT:
		return depth == DEPTH_PART ? -EBADMSG : column_dict_read(c, r, n, out);
	case COLUMN_PLANES:
		return column_planes_read(c, r, n, out);
	default:
		return -EBADMSG;
	}
}

int column_integers_decode(struct column_codec *c, struct column_reader r, size_t n, size_t first,
			   size_t count, enum column_depth depth,
			   const struct column_context *context, uint64_t *out)
{
	uint64_t *whole = out;
	uint8_t form;
	int e;

	if (n > COLUMN_MAX_VALUES || first > n || count > n - first)
		return -EINVAL;
	if (n == 0 || count == 0)
		return 0;
	if (!column_read_byte(&r, &form))
		return -EBADMSG;
	if (form == COLUMN_CONST)
		return read_const(&r, count, out);
	if (form == COLUMN_FOR)
		return read_for(&r, n, first, count, out);
	if (form == COLUMN_DELTA && first == 0)
		return read_delta(&r, n, count, out);
	if (form == COLUMN_LOG || form_by_context(form))
		return column_log_read(c, &r, n, first, count, context, out);
	if (form == COLUMN_SCALED)
		return depth != DEPTH_TOP ? -EBADMSG
					  : read_scaled(c, &r, n, first, count, context, out);
	/* Blocks inside others are asked for whole, so one slot is enough. */
	if (first > 0 || count < n) {
		whole = column_scratch(c, SLOT_WHOLE, n * sizeof(*whole));
		if (!whole)
			return -ENOMEM;
	}
	e = form == COLUMN_DELTA ? read_delta(&r, n, first + count, whole)
				 : read_whole(c, form, &r, n, depth, whole);
	if (e == 0 && whole != out)
		memcpy(out, whole + first, count * sizeof(*out));
	return e;
}

/* --- several parts --- */

/* Classes by context: all that stands before the bits, and the bits from one restart to another. */
static bool log_bytes(struct column_reader r, const uint8_t *block, size_t n,
		      struct column_range part, struct column_need *ret_need)
{
	struct column_restarts restarts;
	struct column_symbols symbols;
	struct column_reader escapes;
	uint64_t model, escaped;
	uint32_t last;
	size_t at;

	if (column_restarts_read(&r, COLUMN_LOGM_AT, n, &restarts) < 0 ||
	    !column_read_varint(&r, &model) || !column_read_varint(&r, &escaped) ||
	    !column_read_block(&r, escaped, &escapes) || column_symbols_open(&r, n, &symbols) < 0)
		return false;
	last = column_restarts_find(&restarts, part.first + part.count - 1) + 1;
	at = (size_t)(r.p - block);
	ret_need->from = at + restarts.rows[column_restarts_find(&restarts, part.first)].bits / 8;
	ret_need->to = last == restarts.n
			       ? SIZE_MAX
			       : at + restarts.rows[last].bits / 8 + 1 + sizeof(uint64_t);
	return true;
}

bool column_part_bytes(struct slice head, size_t n, struct column_range part,
		       struct column_need *ret_need)
{
	struct column_reader r = column_reader_of(head);
	const uint8_t *block = r.p;
	uint64_t base;
	uint8_t form, bits;
	size_t at;

	if (part.count == 0 || part.first > n || part.count > n - part.first ||
	    n > COLUMN_MAX_VALUES || !column_read_byte(&r, &form))
		return false;
	*ret_need = (struct column_need){0};
	if (form == COLUMN_CONST)
		return true;
	if (form == COLUMN_LOGM_AT)
		return log_bytes(r, block, n, part, ret_need);
	if (form != COLUMN_FOR || !column_read_byte(&r, &bits) || !column_read_varint(&r, &base))
		return false;
	/* Bits are taken out of whole words, a part of which may be of others. */
	at = (size_t)(r.p - block);
	*ret_need = (struct column_need){.from = at + part.first * bits / 8,
					 .to = at + ((part.first + part.count) * bits + 7) / 8 +
					       sizeof(uint64_t)};
	return true;
}

bool column_gives_parts(struct slice block)
{
	return block.n > 0 && (block.p[0] == COLUMN_CONST || block.p[0] == COLUMN_FOR);
}

bool column_has_contexts(struct slice block)
{
	return block.n > 0 && (form_by_context((uint8_t)block.p[0]) || block.p[0] == COLUMN_SCALED);
}

/* One behind the other, each by itself. */
static int read_apart(struct column_codec *c, struct slice block, size_t n,
		      const struct column_context *context, const struct column_range *ranges,
		      size_t range_n, uint64_t *out)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < range_n; out += ranges[i++].count)
		e = column_integers_decode(c, column_reader_of(block), n, ranges[i].first,
					   ranges[i].count, DEPTH_TOP, context, out);
	return e;
}

int column_decode_u64_ranges(struct column_codec *c, struct slice block, size_t n,
			     const uint32_t *contexts, uint32_t context_n,
			     const struct column_range *ranges, size_t range_n, uint64_t *out)
{
	const struct column_context context = {contexts, context_n};
	struct column_reader r = column_reader_of(block);
	uint64_t *whole;
	size_t at = 0;
	bool any = false;
	uint8_t form;
	int e;

	for (size_t i = 0; i < range_n; at = ranges[i].first + ranges[i].count, i++) {
		if (ranges[i].first < at || ranges[i].first > n ||
		    ranges[i].count > n - ranges[i].first || n > COLUMN_MAX_VALUES)
			return -EINVAL;
		any |= ranges[i].count > 0;
	}
	if (!any)
		return 0;
	if (!column_read_byte(&r, &form))
		return -EBADMSG;
	if (form == COLUMN_LOG || form_by_context(form))
		return column_log_ranges(c, &r, n, ranges, range_n, &context, out);
	if (range_n == 1 || form == COLUMN_CONST || form == COLUMN_FOR || form == COLUMN_SCALED)
		return read_apart(c, block, n, &context, ranges, range_n, out);
	whole = column_scratch(c, SLOT_WHOLE, n * sizeof(*whole));
	if (!whole)
		return -ENOMEM;
	e = form == COLUMN_DELTA ? read_delta(&r, n, at, whole)
				 : read_whole(c, form, &r, n, DEPTH_TOP, whole);
	for (size_t i = 0; e == 0 && i < range_n; out += ranges[i++].count)
		memcpy(out, whole + ranges[i].first, ranges[i].count * sizeof(*out));
	return e;
}
