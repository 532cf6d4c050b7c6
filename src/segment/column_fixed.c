/* segment/column_fixed.c - ids and other values of a fixed number of bytes.
 *
 * Ids are random and stay as they are, one behind the other, so that any of them can be had alone.
 * Where a sample shows a byte of the value that is not random (the upper half of 64-bit trace ids,
 * the version of a UUID), the block is written byte by byte, each as a stream of its own. */
#include <errno.h>

#include "segment/column_int.h"

#define SAMPLE 256
/* Of 256 random bytes about 162 are distinct, with one bit the same about 111: a bit saved in an id
 * is not worth what it takes to find it. */
#define DISTINCT   90
#define FEW_VALUES 64 /* too few to split */

static bool splits_well(const uint8_t *values, size_t width, size_t n)
{
	size_t step = n / SAMPLE ? n / SAMPLE : 1, taken = n < SAMPLE ? n : SAMPLE;

	if (n < FEW_VALUES)
		return false;
	for (size_t b = 0; b < width; b++) {
		bool seen[256] = {false};
		size_t distinct = 0;

		for (size_t i = 0; i < taken; i++) {
			uint8_t v = values[i * step * width + b];

			distinct += !seen[v];
			seen[v] = true;
		}
		if (distinct * SAMPLE < taken * DISTINCT)
			return true;
	}
	return false;
}

int column_encode_fixed(struct column_codec *c, const void *values, size_t width, size_t n,
			struct buffer *out)
{
	const uint8_t *from = values;
	uint8_t *plane;
	size_t before;
	int r = 0;

	if (n > COLUMN_MAX_VALUES || width == 0 || width > COLUMN_MAX_WIDTH)
		return -EINVAL;
	if (n == 0)
		return 0;
	if (!splits_well(from, width, n)) {
		buffer_byte(out, COLUMN_RAW);
		buffer_append(out, values, n * width);
		return out->failed ? -ENOMEM : 0;
	}
	plane = column_scratch(c, SLOT_CLASSES, n);
	if (!plane)
		return -ENOMEM;
	before = out->n;
	buffer_byte(out, COLUMN_COLUMNS);
	for (size_t b = 0; r == 0 && b < width; b++) {
		for (size_t i = 0; i < n; i++)
			plane[i] = from[i * width + b];
		r = column_write_stream(c, plane, n, out);
	}
	/* What is no smaller is raw: readers know a raw block by its size. */
	if (r == 0 && out->n - before >= column_raw_bytes(n, width)) {
		out->n = before;
		buffer_byte(out, COLUMN_RAW);
		buffer_append(out, values, n * width);
	}
	return r == 0 && out->failed ? -ENOMEM : r;
}

static bool ranges_valid(size_t n, const struct column_range *ranges, size_t range_n)
{
	for (size_t i = 0; i < range_n; i++)
		if (ranges[i].first > n || ranges[i].count > n - ranges[i].first)
			return false;
	return true;
}

/* The parts of one byte of each value. */
static void take_plane(const uint8_t *plane, const struct column_range *ranges, size_t range_n,
		       size_t width, uint8_t *to)
{
	for (size_t k = 0; k < range_n; k++)
		for (size_t i = 0; i < ranges[k].count; i++, to += width)
			*to = plane[ranges[k].first + i];
}

int column_decode_fixed_ranges(struct column_codec *c, struct slice block, size_t width, size_t n,
			       const struct column_range *ranges, size_t range_n, void *out)
{
	struct column_reader r = column_reader_of(block);
	uint8_t form, *room, *to = out;
	size_t count = 0;

	if (n > COLUMN_MAX_VALUES || width == 0 || width > COLUMN_MAX_WIDTH ||
	    !ranges_valid(n, ranges, range_n))
		return -EINVAL;
	for (size_t i = 0; i < range_n; i++)
		count += ranges[i].count;
	if (count == 0)
		return 0;
	if (!column_read_byte(&r, &form))
		return -EBADMSG;
	if (form == COLUMN_RAW) {
		if (column_left(&r) < n * width)
			return -EBADMSG;
		for (size_t i = 0; i < range_n; to += ranges[i++].count * width)
			memcpy(to, r.p + ranges[i].first * width, ranges[i].count * width);
		return 0;
	}
	if (form != COLUMN_COLUMNS)
		return -EBADMSG;
	room = column_scratch(c, SLOT_CLASSES, n);
	if (!room)
		return -ENOMEM;
	for (size_t b = 0; b < width; b++) {
		const uint8_t *plane = column_read_stream(c, &r, n, room);

		if (!plane)
			return -EBADMSG;
		take_plane(plane, ranges, range_n, width, to + b);
	}
	return 0;
}

int column_decode_fixed_range(struct column_codec *c, struct slice block, size_t width, size_t n,
			      size_t first, size_t count, void *out)
{
	const struct column_range range = {first, count};

	return column_decode_fixed_ranges(c, block, width, n, &range, 1, out);
}

int column_decode_fixed(struct column_codec *c, struct slice block, size_t width, size_t n,
			void *out)
{
	return column_decode_fixed_range(c, block, width, n, 0, n, out);
}
