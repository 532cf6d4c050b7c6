#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/rng.h"
#include "http/coding.h"

static struct buffer compress_zlib(struct slice in, int window)
{
	struct buffer out = {0};
	z_stream z = {0};
	size_t room;

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	room = deflateBound(&z, in.n);
	z.next_out = (Bytef *)buffer_reserve(&out, room);
	z.avail_out = (uInt)room;
	z.next_in = (Bytef *)(uintptr_t)in.p;
	z.avail_in = (uInt)in.n;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.n = z.total_out;
	deflateEnd(&z);
	return out;
}

static struct buffer compress_zstd(struct slice in, bool with_size)
{
	struct buffer out = {0};
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(in.n) + 64;
	ZSTD_inBuffer from = {in.p, in.n, 0};
	ZSTD_outBuffer to = {buffer_reserve(&out, room), room, 0};

	ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, with_size);
	if (with_size)
		ZSTD_CCtx_setPledgedSrcSize(z, in.n);
	assert_int_equal(ZSTD_compressStream2(z, &to, &from, ZSTD_e_end), 0);
	out.n = to.pos;
	ZSTD_freeCCtx(z);
	return out;
}

static struct buffer sample(size_t n)
{
	struct rng r = {n};
	struct buffer b = {0};

	while (b.n < n)
		buffer_printf(&b, "{\"key\":\"value %u\"},", (unsigned)rng_below(&r, 1000));
	b.n = n;
	return b;
}

struct form {
	const char *name;
	enum coding coding;
	int window; /* zlib's, or 1 / 2 for zstd without and with its size */
};

static const struct form forms[] = {
	{"gzip", CODING_GZIP, 31}, {"zlib", CODING_DEFLATE, 15},   {"raw", CODING_DEFLATE, -15},
	{"zstd", CODING_ZSTD, 1},  {"zstd sized", CODING_ZSTD, 2},
};

static struct buffer encode(const struct form *f, struct slice in)
{
	return f->coding == CODING_ZSTD ? compress_zstd(in, f->window == 2)
					: compress_zlib(in, f->window);
}

static void every_form_comes_back(void **state)
{
	static const size_t sizes[] = {0, 1, 100, 65536, 65537, 1000000};
	struct coder *c = coder_new();

	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			struct buffer plain = sample(sizes[s]), out = {0};
			struct buffer packed = encode(&forms[f], buffer_get(&plain));

			/* exactly at the limit, and one byte over it */
			assert_int_equal(coder_decode(c, forms[f].coding, buffer_get(&packed),
						      sizes[s], &out),
					 0);
			assert_slice_equal(buffer_get(&out), buffer_get(&plain));
			buffer_clear(&out);
			if (sizes[s] > 0)
				assert_int_equal(coder_decode(c, forms[f].coding,
							      buffer_get(&packed), sizes[s] - 1,
							      &out),
						 -EFBIG);
			buffer_done(&plain);
			buffer_done(&packed);
			buffer_done(&out);
		}
	}
	coder_free(c);
}

static void truncated_and_damaged_bodies_are_refused(void **state)
{
	struct coder *c = coder_new();
	struct buffer plain = sample(5000);

	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		struct buffer packed = encode(&forms[f], buffer_get(&plain)), out = {0};

		for (size_t n = 1; n < packed.n; n += 1 + n / 50) {
			char *exact = malloc(n); /* so that asan sees a read too far */

			memcpy(exact, packed.p, n);
			buffer_clear(&out);
			assert_int_equal(
				coder_decode(c, forms[f].coding, slice_of(exact, n), 1 << 20, &out),
				-EBADMSG);
			free(exact);
		}
		buffer_text(&packed, "garbage");
		buffer_clear(&out);
		assert_int_equal(
			coder_decode(c, forms[f].coding, buffer_get(&packed), 1 << 20, &out),
			-EBADMSG);
		buffer_done(&packed);
		buffer_done(&out);
	}
	buffer_done(&plain);
	coder_free(c);
}

static void several_gzip_members_are_one_body(void **state)
{
	struct coder *c = coder_new();
	struct buffer two = {0}, out = {0};

	assert_int_equal(coder_gzip(c, SLICE("first,"), 6, &two), 0);
	assert_int_equal(coder_gzip(c, SLICE("second"), 1, &two), 0);
	assert_int_equal(coder_decode(c, CODING_GZIP, buffer_get(&two), 100, &out), 0);
	assert_text(buffer_get(&out), "first,second");
	buffer_clear(&out);
	assert_int_equal(coder_decode(c, CODING_GZIP, buffer_get(&two), 11, &out), -EFBIG);
	buffer_done(&two);
	buffer_done(&out);
	coder_free(c);
}

static void a_bomb_stops_at_the_limit(void **state)
{
	struct coder *c = coder_new();
	struct buffer zeros = {0};
	size_t n = (size_t)64 << 20, limit = (size_t)1 << 20;

	memset(buffer_reserve(&zeros, n), 0, n);
	zeros.n = n;
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		struct buffer packed = encode(&forms[f], buffer_get(&zeros)), out = {0};

		assert_true(packed.n < 100000);
		/* a lying trailer does not help */
		if (forms[f].window == 31)
			memset(packed.p + packed.n - 4, 0, 4);
		assert_int_equal(coder_decode(c, forms[f].coding, buffer_get(&packed), limit, &out),
				 -EFBIG);
		assert_true(out.capacity <= 4 * limit);
		buffer_done(&packed);
		buffer_done(&out);
	}
	buffer_done(&zeros);
	coder_free(c);
}

static void names_of_codings(void **state)
{
	assert_int_equal(coding_parse(SLICE("")), CODING_IDENTITY);
	assert_int_equal(coding_parse(SLICE("identity")), CODING_IDENTITY);
	assert_int_equal(coding_parse(SLICE(" GZip ")), CODING_GZIP);
	assert_int_equal(coding_parse(SLICE("x-gzip")), CODING_GZIP);
	assert_int_equal(coding_parse(SLICE("deflate")), CODING_DEFLATE);
	assert_int_equal(coding_parse(SLICE("zstd")), CODING_ZSTD);
	assert_int_equal(coding_parse(SLICE("gzip, zstd")), CODING_UNKNOWN);
	assert_int_equal(coding_parse(SLICE("br")), CODING_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_comes_back),
		cmocka_unit_test(truncated_and_damaged_bodies_are_refused),
		cmocka_unit_test(several_gzip_members_are_one_body),
		cmocka_unit_test(a_bomb_stops_at_the_limit),
		cmocka_unit_test(names_of_codings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
