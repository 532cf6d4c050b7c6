/* segment/column_bits.c - yes or no per row: all the same, where the few are, or one bit each. */
#include <errno.h>

#include "segment/column_int.h"

#define SPARSE 16 /* one in this many or fewer: positions take less than a bitmap */

static size_t words_of(size_t n)
{
	return (n + 63) / 64;
}

/* The bits of a word that lie before n. */
static uint64_t mask_of(size_t n, size_t word)
{
	size_t left = n - word * 64;

	return left >= 64 ? UINT64_MAX : ((uint64_t)1 << left) - 1;
}

static int write_positions(struct column_codec *c, const uint64_t *words, size_t n, size_t count,
			   uint64_t flip, struct buffer *out)
{
	uint64_t *positions = column_scratch(c, SLOT_POSITIONS, count * sizeof(*positions));
	size_t at = 0;

	if (!positions)
		return -ENOMEM;
	for (size_t w = 0; w < words_of(n); w++)
		for (uint64_t bits = (words[w] ^ flip) & mask_of(n, w); bits; bits &= bits - 1)
			positions[at++] = w * 64 + (size_t)__builtin_ctzll(bits);
	buffer_byte(out, flip ? COLUMN_ZEROS : COLUMN_ONES);
	column_write_varint(out, count);
	return column_integers_encode(c, positions, count, 0, DEPTH_PART, NULL, out);
}

int column_encode_bits(struct column_codec *c, const uint64_t *words, size_t n, struct buffer *out)
{
	size_t ones = 0, bytes = (n + 7) / 8;
	uint8_t *map;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	if (n == 0)
		return 0;
	for (size_t w = 0; w < words_of(n); w++)
		ones += (size_t)__builtin_popcountll(words[w] & mask_of(n, w));
	if (ones == 0 || ones == n) {
		buffer_byte(out, ones ? COLUMN_FULL : COLUMN_EMPTY);
		return out->failed ? -ENOMEM : 0;
	}
	if (n > 64 && ones < n / SPARSE)
		return write_positions(c, words, n, ones, 0, out);
	if (n > 64 && n - ones < n / SPARSE)
		return write_positions(c, words, n, n - ones, UINT64_MAX, out);
	map = column_scratch(c, SLOT_CLASSES, words_of(n) * 8);
	if (!map)
		return -ENOMEM;
	for (size_t w = 0; w < words_of(n); w++)
		memcpy(map + w * 8, &(uint64_t){words[w] & mask_of(n, w)}, 8);
	buffer_byte(out, COLUMN_BITMAP);
	return column_write_stream(c, map, bytes, out);
}

static int read_positions(struct column_codec *c, struct column_reader *r, size_t n, uint64_t flip,
			  uint64_t *out)
{
	uint64_t count, *positions;
	int e;

	if (!column_read_varint(r, &count) || count > n)
		return -EBADMSG;
	positions = column_scratch(c, SLOT_POSITIONS, count * sizeof(*positions));
	if (!positions)
		return -ENOMEM;
	e = column_integers_decode(c, *r, count, 0, count, DEPTH_PART, NULL, positions);
	if (e < 0)
		return e;
	memset(out, 0, words_of(n) * 8);
	for (size_t i = 0; i < count; i++) {
		if (positions[i] >= n)
			return -EBADMSG;
		out[positions[i] / 64] |= (uint64_t)1 << positions[i] % 64;
	}
	for (size_t w = 0; w < words_of(n); w++)
		out[w] ^= flip;
	return 0;
}

static int read_map(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out)
{
	size_t bytes = (n + 7) / 8;
	uint8_t *room = column_scratch(c, SLOT_CLASSES, bytes);
	const uint8_t *map;

	if (!room)
		return -ENOMEM;
	map = column_read_stream(c, r, bytes, room);
	if (!map)
		return -EBADMSG;
	out[words_of(n) - 1] = 0;
	memcpy(out, map, bytes);
	return 0;
}

int column_decode_bits(struct column_codec *c, struct slice block, size_t n, uint64_t *out)
{
	struct column_reader r = column_reader_of(block);
	uint8_t form;
	int e = 0;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	if (n == 0)
		return 0;
	if (!column_read_byte(&r, &form))
		return -EBADMSG;
	switch (form) {
	case COLUMN_EMPTY:
	case COLUMN_FULL:
		memset(out, form == COLUMN_FULL ? 0xff : 0, words_of(n) * 8);
		break;
	case COLUMN_ONES:
	case COLUMN_ZEROS:
		e = read_positions(c, &r, n, form == COLUMN_ZEROS ? UINT64_MAX : 0, out);
		break;
	case COLUMN_BITMAP:
		e = read_map(c, &r, n, out);
		break;
	default:
		return -EBADMSG;
	}
	if (e == 0)
		out[words_of(n) - 1] &= mask_of(n, words_of(n) - 1);
	return e;
}
