/* http/coding.c - content codings: gzip, deflate and zstd, whole bodies, within a limit.
 *
 * A gzip body of one member whose trailer tells its length truly, which is what every client sends,
 * goes through libdeflate (about twice zlib's speed).  Everything else that is legal (several
 * members, a length modulo 2^32, zlib and raw deflate) goes through zlib, piece by piece. */
#include "http/coding.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/cleanup.h"

#define PIECE            ((size_t)64 << 10)
#define GZIP_LEAST       18   /* header and trailer */
#define DEFLATE_MAX_GAIN 1032 /* no deflate stream expands more */
#define ZSTD_WINDOW_LOG  23   /* 8 MiB, what RFC 9659 asks of a receiver */

struct coder {
	struct libdeflate_decompressor *inflater;
	struct libdeflate_compressor *deflater;
	int deflater_level;
	ZSTD_DCtx *zstd;
	z_stream zlib;
	bool zlib_ready;
};

enum coding coding_parse(struct slice name)
{
	name = slice_trim(name);
	if (name.n == 0 || slice_eq_nocase(name, SLICE("identity")))
		return CODING_IDENTITY;
	if (slice_eq_nocase(name, SLICE("gzip")) || slice_eq_nocase(name, SLICE("x-gzip")))
		return CODING_GZIP;
	if (slice_eq_nocase(name, SLICE("deflate")))
		return CODING_DEFLATE;
	if (slice_eq_nocase(name, SLICE("zstd")))
		return CODING_ZSTD;
	return CODING_UNKNOWN;
}

struct coder *coder_new(void)
{
	return calloc(1, sizeof(struct coder));
}

struct coder *coder_free(struct coder *c)
{
	if (c) {
		if (c->inflater)
			libdeflate_free_decompressor(c->inflater);
		if (c->deflater)
			libdeflate_free_compressor(c->deflater);
		ZSTD_freeDCtx(c->zstd);
		if (c->zlib_ready)
			inflateEnd(&c->zlib);
		free(c);
	}
	return NULL;
}

/* 1 done, 0 not for this path, negative errno. */
static int gzip_fast(struct coder *c, struct slice in, size_t limit, struct buffer *out)
{
	const unsigned char *t;
	size_t claimed, used, made;
	char *to;

	if (in.n < GZIP_LEAST)
		return 0;
	t = (const unsigned char *)in.p + in.n - 4;
	claimed = (size_t)t[0] | (size_t)t[1] << 8 | (size_t)t[2] << 16 | (size_t)t[3] << 24;
	if (claimed > limit || claimed > in.n * DEFLATE_MAX_GAIN)
		return 0;
	if (!c->inflater && !(c->inflater = libdeflate_alloc_decompressor()))
		return -ENOMEM;
	to = buffer_reserve(out, claimed ? claimed : 1);
	if (!to)
		return -ENOMEM;
	if (libdeflate_gzip_decompress_ex(c->inflater, in.p, in.n, to, claimed, &used, &made) !=
		    LIBDEFLATE_SUCCESS ||
	    used != in.n)
		return 0;
	out->n += made;
	return 1;
}

/* Inflates one stream from the front of *in. */
static int inflate_one(struct coder *c, struct slice *in, int window, size_t limit,
		       struct buffer *out)
{
	int r;

	r = c->zlib_ready ? inflateReset2(&c->zlib, window) : inflateInit2(&c->zlib, window);
	if (r != Z_OK)
		return -ENOMEM;
	c->zlib_ready = true;
	do {
		size_t room = MIN(PIECE, limit - out->n + 1); /* one more, to notice */
		size_t give = MIN(in->n, (size_t)1 << 30);
		char *to = buffer_reserve(out, room);

		if (!to)
			return -ENOMEM;
		c->zlib.next_in = (Bytef *)(uintptr_t)in->p;
		c->zlib.avail_in = (uInt)give;
		c->zlib.next_out = (Bytef *)to;
		c->zlib.avail_out = (uInt)room;
		r = inflate(&c->zlib, Z_NO_FLUSH);
		*in = slice_from(*in, give - c->zlib.avail_in);
		out->n += room - c->zlib.avail_out;
		if (out->n > limit)
			return -EFBIG;
		if (r == Z_MEM_ERROR)
			return -ENOMEM;
		if (r != Z_OK && r != Z_STREAM_END)
			return -EBADMSG; /* damaged, or Z_BUF_ERROR: cut off */
	} while (r != Z_STREAM_END);
	return 0;
}

static int decode_gzip(struct coder *c, struct slice in, size_t limit, struct buffer *out)
{
	int r = gzip_fast(c, in, limit - out->n, out);

	if (r != 0)
		return MIN(r, 0);
	while (in.n) {
		r = inflate_one(c, &in, 15 + 16, limit, out);
		if (r < 0)
			return r;
	}
	return 0;
}

static int decode_deflate(struct coder *c, struct slice in, size_t limit, struct buffer *out)
{
	const unsigned char *p = (const unsigned char *)in.p;
	bool wrapped = in.n >= 2 && (p[0] & 15) == 8 && (p[0] << 8 | p[1]) % 31 == 0;
	int r = inflate_one(c, &in, wrapped ? 15 : -15, limit, out);

	return r < 0 ? r : in.n ? -EBADMSG : 0;
}

static int decode_zstd(struct coder *c, struct slice in, size_t limit, struct buffer *out)
{
	ZSTD_inBuffer from = {in.p, in.n, 0};
	unsigned long long claimed = ZSTD_getFrameContentSize(in.p, in.n);
	size_t hint = PIECE, r;

	if (!c->zstd) {
		c->zstd = ZSTD_createDCtx();
		if (!c->zstd)
			return -ENOMEM;
		ZSTD_DCtx_setParameter(c->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	}
	ZSTD_DCtx_reset(c->zstd, ZSTD_reset_session_only);
	if (claimed == ZSTD_CONTENTSIZE_ERROR)
		return -EBADMSG;
	if (claimed != ZSTD_CONTENTSIZE_UNKNOWN) {
		if (claimed > limit - out->n)
			return -EFBIG;
		/* The whole frame at once when memory for it is not a bomb's claim. */
		if (claimed < in.n * 64 + PIECE)
			hint = (size_t)claimed + 1;
	}
	do {
		size_t room = MIN(hint, limit - out->n + 1);
		char *to = buffer_reserve(out, room);
		ZSTD_outBuffer into = {to, room, 0};
		size_t before = from.pos;

		if (!to)
			return -ENOMEM;
		r = ZSTD_decompressStream(c->zstd, &into, &from);
		if (ZSTD_isError(r))
			return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM
										    : -EBADMSG;
		out->n += into.pos;
		if (out->n > limit)
			return -EFBIG;
		if (into.pos == 0 && from.pos == before && r != 0)
			return -EBADMSG; /* cut off */
		hint = PIECE;
	} while (r != 0 || from.pos < from.size);
	return 0;
}

int coder_decode(struct coder *c, enum coding coding, struct slice in, size_t limit,
		 struct buffer *out)
{
	if (in.n == 0)
		return 0;
	if (out->n > limit)
		return -EFBIG;
	switch (coding) {
	case CODING_IDENTITY:
		if (in.n > limit - out->n)
			return -EFBIG;
		buffer_slice(out, in);
		return out->failed ? -ENOMEM : 0;
	case CODING_GZIP:
		return decode_gzip(c, in, limit, out);
	case CODING_DEFLATE:
		return decode_deflate(c, in, limit, out);
	case CODING_ZSTD:
		return decode_zstd(c, in, limit, out);
	case CODING_UNKNOWN:
		break;
	}
	return -EINVAL;
}

int coder_gzip(struct coder *c, struct slice in, int level, struct buffer *out)
{
	size_t room;
	char *to;

	if (c->deflater && c->deflater_level != level) {
		libdeflate_free_compressor(c->deflater);
		c->deflater = NULL;
	}
	if (!c->deflater && !(c->deflater = libdeflate_alloc_compressor(level)))
		return -ENOMEM;
	c->deflater_level = level;
	room = libdeflate_gzip_compress_bound(c->deflater, in.n);
	to = buffer_reserve(out, room);
	if (!to)
		return -ENOMEM;
	out->n += libdeflate_gzip_compress(c->deflater, in.p ? in.p : "", in.n, to, room);
	return 0;
}
