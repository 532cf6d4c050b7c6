#include "t.h"

#include "base/buffer.h"
#include "http/chunked.h"
#include "http/guarded.h"

/* Decodes in pieces of `step` bytes; the result of the last call. */
static enum chunked_result decode(const char *text, size_t step, struct buffer *out, size_t *rest)
{
	struct chunked c = {0};
	size_t n = strlen(text), at = 0;
	enum chunked_result r = CHUNKED_MORE;

	while (at < n && r == CHUNKED_MORE) {
		struct guarded g;
		struct slice in = guarded_put(&g, slice_of(text + at, MIN(step, n - at)));
		size_t before = in.n;
		const char *why = NULL;
		struct slice data;

		while ((r = chunked_next(&c, &in, &data, &why)) == CHUNKED_DATA)
			buffer_slice(out, data);
		assert_int_equal(r == CHUNKED_ERROR, why != NULL);
		at += before - in.n;
		guarded_done(&g);
		if (r == CHUNKED_MORE)
			assert_int_equal(in.n, 0);
	}
	*rest = n - at;
	return r;
}

static void chunks_come_out_whole_however_they_are_cut(void **state)
{
	static const char text[] = "5\r\nhello\r\n001;name=\"v\"\r\n,\r\nA  \r\n 123456789\r\n"
				   "0\r\nTrailer: x\r\nOther:\r\n\r\nnext";

	for (size_t step = 1; step < sizeof(text); step++) {
		struct buffer out = {0};
		size_t rest;

		assert_int_equal(decode(text, step, &out, &rest), CHUNKED_END);
		assert_text(buffer_get(&out), "hello, 123456789");
		assert_int_equal(rest, 4);
		buffer_done(&out);
	}
}

static void malformed_chunks_are_errors(void **state)
{
	static const char *const rows[] = {
		"\r\n",
		"g\r\n",
		"-1\r\n",
		"0x5\r\nhello\r\n",
		"5\nhello\r\n",
		"5\r\nhello!\r\n",
		"5\r\nhello\n",
		"5\r\nhello\rx",
		"1000000000000000\r\n",
		"5;a\x01\r\nhello\r\n",
		"0\r\nbad trailer\r\n\r\n",
		"0\r\n: x\r\n\r\n",
		"0\r\nx: y\n\r\n",
		"0\r\n x\r\n\r\n",
		"0\r\n\rx",
		"5 x\x7f",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t step = 1; step < 5; step++) {
			struct buffer out = {0};
			size_t rest;

			if (decode(rows[i], step, &out, &rest) != CHUNKED_ERROR)
				fail_msg("row %zu was accepted", i);
			buffer_done(&out);
		}
	}
}

static void endless_lines_hit_a_limit(void **state)
{
	static const char *const starts[] = {"1;", "0\r\nName: "};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct buffer text = {0}, out = {0};
		size_t rest;

		buffer_text(&text, starts[i]);
		for (int k = 0; k < 10000; k++)
			buffer_byte(&text, 'a');
		assert_int_equal(decode(buffer_cstr(&text), 100, &out, &rest), CHUNKED_ERROR);
		buffer_done(&text);
		buffer_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_come_out_whole_however_they_are_cut),
		cmocka_unit_test(malformed_chunks_are_errors),
		cmocka_unit_test(endless_lines_hit_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
