/* segment/column_text.c - strings: their lengths as a block of integers, then their bytes. */
#include <errno.h>

#include "segment/column_int.h"

#define MAX_TEXT UINT32_MAX /* bytes of one block: offsets have 32 bits */

static int write_text(struct column_codec *c, const uint64_t *lengths, size_t n, const char *text,
		      size_t size, struct buffer *out)
{
	size_t place;
	int r;

	buffer_byte(out, COLUMN_TEXT);
	place = column_open_block(out);
	r = column_integers_encode(c, lengths, n, COLUMN_CODES, DEPTH_PART, NULL, out);
	if (r < 0)
		return r;
	column_close_block(out, place);
	return column_write_stream(c, (const uint8_t *)text, size, out);
}

int column_encode_bytes(struct column_codec *c, const struct slice *values, size_t n,
			struct buffer *out)
{
	uint64_t *lengths, total = 0;
	char *text;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	if (n == 0)
		return 0;
	lengths = column_scratch(c, SLOT_LENGTHS, n * sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		lengths[i] = values[i].n;
		total += values[i].n;
	}
	if (total > MAX_TEXT)
		return -EINVAL;
	text = column_scratch(c, SLOT_TEXT, total);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < n; at += values[i++].n)
		if (values[i].n)
			memcpy(text + at, values[i].p, values[i].n);
	return write_text(c, lengths, n, text, total, out);
}

int column_encode_text(struct column_codec *c, const char *text, const uint32_t *offset, size_t n,
		       struct buffer *out)
{
	uint64_t *lengths;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	if (n == 0)
		return 0;
	lengths = column_scratch(c, SLOT_LENGTHS, n * sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		lengths[i] = offset[i + 1] - offset[i];
	return write_text(c, lengths, n, text + offset[0], offset[n] - offset[0], out);
}

int column_decode_text(struct column_codec *c, struct slice block, size_t n, size_t limit,
		       uint32_t *offset, struct buffer *text)
{
	struct column_reader r = column_reader_of(block), part;
	uint64_t size, total = 0, *lengths;
	const uint8_t *bytes;
	uint8_t form;
	char *room;
	int e;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	offset[0] = 0;
	if (n == 0)
		return 0;
	if (!column_read_byte(&r, &form) || form != COLUMN_TEXT || !column_read_varint(&r, &size) ||
	    !column_read_block(&r, size, &part))
		return -EBADMSG;
	lengths = column_scratch(c, SLOT_LENGTHS, n * sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	e = column_integers_decode(c, part, n, 0, n, DEPTH_PART, NULL, lengths);
	if (e < 0)
		return e;
	limit = limit < MAX_TEXT ? limit : MAX_TEXT;
	for (size_t i = 0; i < n; i++) {
		if (lengths[i] > limit - total)
			return -EBADMSG;
		total += lengths[i];
		offset[i + 1] = (uint32_t)total;
	}
	room = buffer_reserve(text, total ? total : 1);
	if (!room)
		return -ENOMEM;
	bytes = column_read_stream(c, &r, total, (uint8_t *)room);
	if (!bytes)
		return -EBADMSG;
	if (bytes != (const uint8_t *)room && total)
		memcpy(room, bytes, total);
	text->n += total;
	return 0;
}
