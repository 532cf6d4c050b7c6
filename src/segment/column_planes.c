/* segment/column_planes.c - numbers and codes as bytes for zstd.
 *
 * PLANES puts the lowest bytes of all values first, then the next, and so on: the high ones, which
 * hardly change, compress to nothing, and the low ones, where nothing repeats, stay as they are.
 * LZ keeps each code together, as 1, 2 or 4 bytes, so that zstd finds repeated sequences of codes.
 */
#include <errno.h>

#include "segment/column_int.h"

int column_planes_write(struct column_codec *c, const uint64_t *values, size_t n, uint64_t base,
			uint64_t range, size_t most, struct buffer *out)
{
	unsigned bytes = range ? (71 - (unsigned)__builtin_clzll(range)) / 8 : 0;
	uint8_t *plane = column_scratch(c, SLOT_PLANES, n);
	size_t before = out->n;
	int r = 0;

	if (!plane)
		return -ENOMEM;
	buffer_byte(out, COLUMN_PLANES);
	buffer_byte(out, (char)bytes);
	column_write_varint(out, base);
	for (unsigned b = 0; r == 0 && b < bytes && out->n - before < most; b++) {
		for (size_t i = 0; i < n; i++)
			plane[i] = (uint8_t)((values[i] - base) >> b * 8);
		r = column_write_stream(c, plane, n, out);
	}
	return r;
}

int column_planes_read(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out)
{
	uint8_t *room = column_scratch(c, SLOT_CLASSES, n), bytes;
	uint64_t base;

	if (!room)
		return -ENOMEM;
	if (!column_read_byte(r, &bytes) || bytes > 8 || !column_read_varint(r, &base))
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		out[i] = base;
	for (unsigned b = 0; b < bytes; b++) {
		const uint8_t *plane = column_read_stream(c, r, n, room);

		if (!plane)
			return -EBADMSG;
		for (size_t i = 0; i < n; i++)
			out[i] += (uint64_t)plane[i] << b * 8;
	}
	return 0;
}

int column_lz_write(struct column_codec *c, const uint64_t *values, size_t n, unsigned bytes,
		    struct buffer *out)
{
	uint8_t *room = column_scratch(c, SLOT_CLASSES, n * bytes);

	if (!room)
		return -ENOMEM;
	if (bytes == 1)
		for (size_t i = 0; i < n; i++)
			room[i] = (uint8_t)values[i];
	else if (bytes == 2)
		for (size_t i = 0; i < n; i++)
			memcpy(room + i * 2, &(uint16_t){(uint16_t)values[i]}, 2);
	else
		for (size_t i = 0; i < n; i++)
			memcpy(room + i * 4, &(uint32_t){(uint32_t)values[i]}, 4);
	buffer_byte(out, COLUMN_LZ);
	buffer_byte(out, (char)bytes);
	return column_write_stream(c, room, n * bytes, out);
}

int column_lz_read(struct column_codec *c, struct column_reader *r, size_t n, uint32_t *out)
{
	const uint8_t *at;
	uint8_t *room, bytes;

	if (!column_read_byte(r, &bytes) || (bytes != 1 && bytes != 2 && bytes != 4))
		return -EBADMSG;
	room = column_scratch(c, SLOT_CLASSES, n * bytes);
	if (!room)
		return -ENOMEM;
	at = column_read_stream(c, r, n * bytes, room);
	if (!at)
		return -EBADMSG;
	if (bytes == 1)
		for (size_t i = 0; i < n; i++)
			out[i] = at[i];
	else if (bytes == 2)
		for (size_t i = 0; i < n; i++) {
			uint16_t v;

			memcpy(&v, at + i * 2, 2);
			out[i] = v;
		}
	else
		memcpy(out, at, n * 4);
	return 0;
}
