#include "t.h"

#include <errno.h>

#include "base/buffer.h"
#include "wire/protobuf.h"
#include "wire/split.h"

/* Cuts `file` as a reader would who gets `step` bytes at a time, and writes the pieces with |
 * between them. */
static void cut(enum codec_frame frame, struct slice file, size_t step, struct buffer *out)
{
	struct split s = {.frame = frame};
	size_t at = 0, have = 0;

	for (;;) {
		struct error error;
		ssize_t n =
			split_next(&s, slice_of(file.p + at, have - at), have == file.n, &error);

		assert_true(n >= 0);
		assert_true((size_t)n <= have - at);
		if (n == 0 && have == file.n)
			break;
		if (n == 0) {
			have = MIN(have + step, file.n);
			continue;
		}
		if (at > 0)
			buffer_byte(out, '|');
		buffer_slice(out, slice_trim(slice_of(file.p + at, (size_t)n)));
		at += (size_t)n;
	}
}

static void json_is_cut_behind_each_value(void **state)
{
	static const struct {
		const char *file, *pieces;
	} rows[] = {
		{"", ""},
		{" \n\t\r\n", ""},
		{"{}", "{}"},
		{"{}\n{}\n", "{}|{}"},
		{"{}{}[]", "{}|{}|[]"},
		{"{\"a\": [1, {}],\n \"b\": 2\n}\n[3]\n", "{\"a\": [1, {}],\n \"b\": 2\n}|[3]"},
		{"{\"}\": \"\\\"}{\\\\\"}\n{}", "{\"}\": \"\\\"}{\\\\\"}|{}"},
		{"nonsense\n{}", "nonsense|{}"},
		{"\"text\"\n7\n", "\"text\"|7"},
		{"}{}", "}|{}"},
		{"{\"cut\": ", "{\"cut\":"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t step = 1; step < 20; step += 3) {
			_cleanup_(buffer_done)
			struct buffer out = {0};

			cut(FRAME_VALUES, slice_cstr(rows[i].file), step, &out);
			assert_string_equal(buffer_cstr(&out), rows[i].pieces);
		}
}

static void protobuf_is_cut_between_fields(void **state)
{
	const size_t sizes[] = {
		10, SPLIT_FIELDS_AIM / 2, SPLIT_FIELDS_AIM / 2, 10, 10, 3 * SPLIT_FIELDS_AIM, 10};
	_cleanup_(buffer_done)
	struct buffer file = {0};
	struct split s = {.frame = FRAME_FIELDS};
	size_t at = 0, have = 0, pieces = 0, fields = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t begun = pb_begin(&file, 1);

		assert_non_null(buffer_reserve(&file, sizes[i]));
		memset(file.p + file.n, 'x', sizes[i]);
		file.n += sizes[i];
		pb_end(&file, begun);
	}
	while (at < file.n) {
		struct slice window = slice_of(file.p + at, have - at);
		ssize_t n = split_next(&s, window, have == file.n, NULL);
		struct pb_reader r;
		struct pb_field f;

		assert_true(n >= 0);
		if (n == 0) {
			assert_true(have < file.n);
			have = MIN(have + 100000, file.n);
			continue;
		}
		r = pb_open(slice_first(window, (size_t)n));
		while (pb_next(&r, &f))
			fields++;
		assert_null(r.bad);
		assert_true((size_t)n < 4 * SPLIT_FIELDS_AIM);
		at += (size_t)n;
		pieces++;
	}
	assert_int_equal(fields, ARRAY_SIZE(sizes));
	assert_in_range(pieces, 3, 5);
}

static void what_is_no_protobuf_goes_to_the_decoder_at_once(void **state)
{
	static const struct slice files[] = {
		{"\x00", 1},
		{"\x0b", 1},
		{"\x0c", 1},
		{"\x0f", 1},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11},
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct split s = {.frame = FRAME_FIELDS};

		assert_int_equal(split_next(&s, files[i], false, NULL), files[i].n);
	}
}

static void a_field_that_promises_too_much_is_refused_before_it_is_read(void **state)
{
	struct split s = {.frame = FRAME_FIELDS};
	struct error error = {0};

	assert_int_equal(split_next(&s, SLICE("\x0a\xff\xff\xff\xff\x7f"), false, &error), -E2BIG);
	assert_true(error.text[0] != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_cut_behind_each_value),
		cmocka_unit_test(protobuf_is_cut_between_fields),
		cmocka_unit_test(what_is_no_protobuf_goes_to_the_decoder_at_once),
		cmocka_unit_test(a_field_that_promises_too_much_is_refused_before_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
