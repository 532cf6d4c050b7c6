/* The requests in a file: compressed or not, one a line or not, damaged or not. */
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/reader.h"

#define LINE                                                                                       \
	"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"0102030405060708090a0b0c0d0e0f10\",\"spanId\":\"0000000000000001\",\"name\":\"x\"}]}]}]}\n"

struct file {
	char path[64];
};

static void file_write(struct file *f, const void *bytes, size_t n)
{
	int fd;

	strcpy(f->path, "/tmp/causet-reader-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

/* How many spans the file holds, or the error. */
static int64_t spans_of(const char *path, char *text, size_t room)
{
	struct decode_tally tally = {0};
	struct error error = {0};
	struct batch *batch;
	struct reader reader;
	int64_t n = 0;
	int r = reader_open(&reader, path, NULL, &error);

	if (r == 0) {
		while ((r = reader_next_batch(&reader, &batch, &tally, &error)) > 0) {
			n += (int64_t)batch->event_n;
			batch_unref(batch);
		}
		reader_done(&reader);
	}
	snprintf(text, room, "%s", error.text);
	return r < 0 ? r : n;
}

static size_t gzip_of(struct slice in, char *out, size_t room)
{
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)in.p,
		      .avail_in = (unsigned)in.n,
		      .next_out = (unsigned char *)out,
		      .avail_out = (unsigned)room};

	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static void files_of_every_packing_are_read(void **state)
{
	static char packed[65536], text[240];
	struct slice plain = SLICE(LINE LINE LINE);
	size_t n;
	struct file f;

	file_write(&f, plain.p, plain.n);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), 3);
	unlink(f.path);
	n = gzip_of(plain, packed, sizeof(packed));
	n += gzip_of(plain, packed + n, sizeof(packed) - n); /* members one behind the other */
	file_write(&f, packed, n);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), 6);
	unlink(f.path);
	n = ZSTD_compress(packed, sizeof(packed), plain.p, plain.n, 3);
	file_write(&f, packed, n);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), 3);
	unlink(f.path);
}

static void what_is_cut_off_or_damaged_is_named(void **state)
{
	static char packed[65536], text[240];
	struct slice plain = SLICE(LINE LINE);
	size_t n = gzip_of(plain, packed, sizeof(packed));
	struct file f;

	file_write(&f, packed, n - 5);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), -EBADMSG);
	assert_non_null(strstr(text, "cut off"));
	unlink(f.path);
	packed[n / 2] ^= 0x55;
	file_write(&f, packed, n);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), -EBADMSG);
	unlink(f.path);
	file_write(&f, LINE "{\"resourceSpans\":[", sizeof(LINE) + 16);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), -EBADMSG);
	assert_non_null(strstr(text, "request 2"));
	unlink(f.path);
	file_write(&f, "hello, world", 12);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), -ENOTSUP);
	assert_non_null(strstr(text, "--format"));
	unlink(f.path);
	assert_int_equal(spans_of("/nonexistent", text, sizeof(text)), -ENOENT);
	assert_int_equal(spans_of("/tmp", text, sizeof(text)), -EISDIR);
}

static void an_empty_file_holds_nothing(void **state)
{
	static char text[240];
	struct file f;

	file_write(&f, "", 0);
	assert_int_equal(spans_of(f.path, text, sizeof(text)), 0);
	unlink(f.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_every_packing_are_read),
		cmocka_unit_test(what_is_cut_off_or_damaged_is_named),
		cmocka_unit_test(an_empty_file_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
