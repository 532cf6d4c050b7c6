/* segment/column_stream.c - runs of bytes inside a block: zstd where it gains something.
 *
 *   stream = 0, bytes | 1, varint size, zstd frame | 2, the byte that all of them are
 *
 * Random bytes (ids, low bits of times) make up most of what is stored, and asking zstd about them
 * costs more than storing them: a sample's histogram is looked at first.  The frame carries neither
 * a checksum nor its content's size: the segment has the one and the block implies the other. */
#include "segment/column_int.h"

#include <errno.h>

#define SAMPLE   1024 /* bytes looked at */
#define SMALLEST 24   /* bytes that zstd could gain something on */
#define GAIN_DIVIDE                                                                                \
	64 /* zstd must win at least this part, or decoding costs more than it saves               \
	    */

enum stream_mode { STREAM_PLAIN, STREAM_ZSTD, STREAM_SAME };

bool column_looks_packable(const uint8_t *bytes, size_t n)
{
	uint16_t count[256] = {0};
	size_t taken = n < SAMPLE ? n : SAMPLE, step;
	uint64_t squares = 0, random;

	if (n < SMALLEST)
		return false;
	step = n / taken;
	for (size_t i = 0; i < taken; i++)
		count[bytes[i * step]]++;
	for (int i = 0; i < 256; i++)
		squares += (uint64_t)count[i] * count[i];
	/* What equally likely bytes would give, and a little for chance. */
	random = taken + taken * taken / 256;
	return squares > random + random / 16 + 32;
}

static bool all_same(const uint8_t *bytes, size_t n)
{
	return n > 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static size_t compress(struct column_codec *c, const uint8_t *bytes, size_t n, const char **ret_at)
{
	size_t room = ZSTD_compressBound(n), size;
	char *to = column_scratch(c, SLOT_PACKED, room);

	if (!to)
		return 0;
	size = ZSTD_compress2(c->compressor, to, room, bytes, n);
	*ret_at = to;
	return ZSTD_isError(size) ? 0 : size;
}

int column_write_stream(struct column_codec *c, const uint8_t *bytes, size_t n, struct buffer *out)
{
	if (all_same(bytes, n)) {
		buffer_byte(out, STREAM_SAME);
		buffer_byte(out, (char)bytes[0]);
		return out->failed ? -ENOMEM : 0;
	}
	if (column_looks_packable(bytes, n)) {
		const char *packed;
		size_t size = compress(c, bytes, n, &packed);

		if (size > 0 && size + 4 + n / GAIN_DIVIDE < n) {
			buffer_byte(out, STREAM_ZSTD);
			column_write_varint(out, size);
			buffer_append(out, packed, size);
			return out->failed ? -ENOMEM : 0;
		}
	}
	buffer_byte(out, STREAM_PLAIN);
	buffer_append(out, bytes, n);
	return out->failed ? -ENOMEM : 0;
}

const uint8_t *column_read_stream(struct column_codec *c, struct column_reader *r, size_t n,
				  uint8_t *room)
{
	const uint8_t *at;
	uint64_t size;
	uint8_t mode;

	if (!column_read_byte(r, &mode))
		return NULL;
	switch (mode) {
	case STREAM_PLAIN:
		if (column_left(r) < n)
			return NULL;
		at = r->p;
		r->p += n;
		return at;
	case STREAM_ZSTD:
		if (!column_read_varint(r, &size) || size > column_left(r))
			return NULL;
		at = r->p;
		r->p += size;
		return ZSTD_decompressDCtx(c->decompressor, room, n, at, size) == n ? room : NULL;
	case STREAM_SAME:
		if (!column_read_byte(r, &mode))
			return NULL;
		memset(room, mode, n);
		return room;
	default:
		return NULL;
	}
}
