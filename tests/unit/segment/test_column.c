/* Every kind of block gives back what it was given, for values of many characters; a block that is
 * cut or changed is an error or other values, and never a read outside it. */
#include "t.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "segment/column.h"

#define MOST 20000

static struct column_codec *codec;
static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 300, 1000, 4097, 16384, MOST};

/* --- values of many characters --- */

typedef uint64_t make_fn(struct rng *rng, size_t i);

static uint64_t zero(struct rng *rng, size_t i)
{
	return 0;
}

static uint64_t same(struct rng *rng, size_t i)
{
	return 0x123456789abcdefULL;
}

static uint64_t bits3(struct rng *rng, size_t i)
{
	return rng_below(rng, 8);
}

static uint64_t bits17(struct rng *rng, size_t i)
{
	return 1000000 + rng_below(rng, 1 << 17);
}

static uint64_t bits57(struct rng *rng, size_t i)
{
	return rng_next(rng) >> 7;
}

static uint64_t bits63(struct rng *rng, size_t i)
{
	return rng_next(rng) >> 1;
}

static uint64_t bits64(struct rng *rng, size_t i)
{
	return rng_next(rng);
}

static uint64_t rising(struct rng *rng, size_t i)
{
	return 1790000000000000000ULL + i * 1000 + rng_below(rng, 100);
}

static uint64_t falling(struct rng *rng, size_t i)
{
	return UINT64_MAX - i * 77;
}

static uint64_t runs(struct rng *rng, size_t i)
{
	return (i / 100) * 0x9e3779b97f4a7c15ULL;
}

static uint64_t few(struct rng *rng, size_t i)
{
	return rng_below(rng, 50) * rng_below(rng, 4) * 0x9e3779b97f4a7c15ULL;
}

static uint64_t sizes(struct rng *rng, size_t i)
{
	return rng_next(rng) >> rng_below(rng, 64);
}

static uint64_t both_signs(struct rng *rng, size_t i)
{
	uint64_t v = rng_next(rng) >> (20 + rng_below(rng, 40));

	return rng_below(rng, 3) ? v : -v;
}

static uint64_t milliseconds(struct rng *rng, size_t i)
{
	return (1790000000000ULL + rng_below(rng, 100000)) * 1000000;
}

static uint64_t negative_milliseconds(struct rng *rng, size_t i)
{
	return (uint64_t)(((int64_t)rng_below(rng, 100000) - 50000) * 1000000);
}

static uint64_t edges(struct rng *rng, size_t i)
{
	static const uint64_t at[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};

	return at[rng_below(rng, 5)];
}

static uint64_t outlier(struct rng *rng, size_t i)
{
	return i == 5 ? UINT64_MAX : i == 6 ? (uint64_t)1 << 63 : rng_below(rng, 100);
}

static uint64_t pattern(struct rng *rng, size_t i)
{
	static const uint16_t steps[] = {1, 2, 300, 4, 5, 6, 700, 2, 1};

	return rng_below(rng, 40) ? steps[i % 9] : rng_below(rng, 1000);
}

static const struct character {
	const char *name;
	make_fn *make;
} characters[] = {
	{"zero", zero},
	{"same", same},
	{"3 bits", bits3},
	{"17 bits", bits17},
	{"57 bits", bits57},
	{"63 bits", bits63},
	{"64 bits", bits64},
	{"rising", rising},
	{"falling", falling},
	{"runs", runs},
	{"few", few},
	{"sizes", sizes},
	{"both signs", both_signs},
	{"milliseconds", milliseconds},
	{"negative milliseconds", negative_milliseconds},
	{"edges", edges},
	{"outlier", outlier},
	{"pattern", pattern},
};

static uint64_t values[MOST], back[MOST];
static uint32_t narrow[MOST], narrow_back[MOST], contexts[MOST];

static void fill(const struct character *ch, size_t n)
{
	struct rng rng = {n + 1};

	for (size_t i = 0; i < n; i++)
		values[i] = ch->make(&rng, i);
}

/* A copy of its exact size, so that a sanitizer sees a read behind it. */
static struct slice exact(const struct buffer *b, size_t n)
{
	char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	if (n)
		memcpy(copy, b->p, n);
	return slice_of(copy, n);
}

static void let_go(struct slice s)
{
	free((char *)s.p);
}

static void integers_come_back(void **state)
{
	struct buffer out = {0};

	for (size_t k = 0; k < ARRAY_SIZE(characters); k++)
		for (size_t j = 0; j < ARRAY_SIZE(counts); j++)
			for (int is_signed = 0; is_signed < 2; is_signed++) {
				size_t n = counts[j];
				struct slice block;

				fill(&characters[k], n);
				buffer_clear(&out);
				assert_int_equal(
					is_signed ? column_encode_i64(
							    codec, (const int64_t *)values, n, &out)
						  : column_encode_u64(codec, values, n, &out),
					0);
				assert_true(out.n <= n * 8 + COLUMN_OVERHEAD);
				block = exact(&out, out.n);
				memset(back, 0xaa, sizeof(back));
				assert_int_equal(column_decode_u64(codec, block, n, back), 0);
				if (memcmp(back, values, n * 8) != 0)
					fail_msg("%s, %zu", characters[k].name, n);
				let_go(block);
			}
	buffer_done(&out);
}

static void a_part_is_the_same_as_in_the_whole(void **state)
{
	struct buffer out = {0};
	struct rng rng = {3};

	for (size_t k = 0; k < ARRAY_SIZE(characters); k++)
		for (size_t j = 1; j < ARRAY_SIZE(counts); j++) {
			size_t n = counts[j];
			struct slice block;

			fill(&characters[k], n);
			buffer_clear(&out);
			assert_int_equal(column_encode_u64(codec, values, n, &out), 0);
			block = exact(&out, out.n);
			for (int t = 0; t < 5; t++) {
				size_t first = rng_below(&rng, n),
				       count = rng_below(&rng, n - first + 1);

				assert_int_equal(column_decode_u64_range(codec, block, n, first,
									 count, back),
						 0);
				assert_memory_equal(back, values + first, count * 8);
			}
			let_go(block);
		}
	buffer_done(&out);
}

static void narrow_integers_and_codes_come_back(void **state)
{
	struct buffer out = {0};
	struct rng rng = {4};

	for (size_t k = 0; k < ARRAY_SIZE(characters); k++)
		for (size_t j = 0; j < ARRAY_SIZE(counts); j++)
			for (int codes = 0; codes < 2; codes++) {
				size_t n = counts[j], first, count;
				struct slice block;

				fill(&characters[k], n);
				for (size_t i = 0; i < n; i++)
					narrow[i] = (uint32_t)(values[i] ^ values[i] >> 32);
				buffer_clear(&out);
				assert_int_equal(codes ? column_encode_codes(codec, narrow, n, &out)
						       : column_encode_u32(codec, narrow, n, &out),
						 0);
				assert_true(out.n <= n * 4 + COLUMN_OVERHEAD);
				block = exact(&out, out.n);
				assert_int_equal(column_decode_u32(codec, block, n, narrow_back),
						 0);
				assert_memory_equal(narrow, narrow_back, n * 4);
				first = n ? rng_below(&rng, n) : 0;
				count = n ? rng_below(&rng, n - first + 1) : 0;
				assert_int_equal(column_decode_u32_range(codec, block, n, first,
									 count, narrow_back),
						 0);
				assert_memory_equal(narrow + first, narrow_back, count * 4);
				let_go(block);
			}
	buffer_done(&out);
}

static void a_code_above_the_bound_is_refused(void **state)
{
	struct buffer out = {0};

	for (size_t i = 0; i < 1000; i++)
		narrow[i] = (uint32_t)(i % 10);
	assert_int_equal(column_encode_codes(codec, narrow, 1000, &out), 0);
	assert_int_equal(column_decode_codes(codec, buffer_get(&out), 1000, 10, narrow_back), 0);
	assert_int_equal(column_decode_codes(codec, buffer_get(&out), 1000, 9, narrow_back),
			 -EBADMSG);
	/* A part without the offending one passes. */
	assert_int_equal(
		column_decode_codes_range(codec, buffer_get(&out), 1000, 0, 9, 9, narrow_back), 0);
	buffer_done(&out);
}

static void a_value_too_wide_for_32_bits_is_refused(void **state)
{
	static const uint64_t wide[] = {1, 2, (uint64_t)1 << 32};
	struct buffer out = {0};

	assert_int_equal(column_encode_u64(codec, wide, 3, &out), 0);
	assert_int_equal(column_decode_u32(codec, buffer_get(&out), 3, narrow_back), -EBADMSG);
	buffer_done(&out);
}

static void integers_in_context_come_back_and_take_less(void **state)
{
	struct buffer plain = {0}, out = {0};
	struct rng rng = {5};

	for (size_t n = 1; n <= MOST; n = n * 3 + 1) {
		for (size_t i = 0; i < n; i++) {
			contexts[i] = (uint32_t)rng_below(&rng, 40);
			values[i] = (1ULL << contexts[i]) + rng_below(&rng, 1ULL << contexts[i]);
			if (rng_below(&rng, 10) == 0)
				values[i] = -values[i];
		}
		buffer_clear(&out);
		buffer_clear(&plain);
		assert_int_equal(
			column_encode_i64_in(codec, (const int64_t *)values, n, contexts, 40, &out),
			0);
		assert_int_equal(column_encode_i64(codec, (const int64_t *)values, n, &plain), 0);
		assert_int_equal(column_decode_i64_in(codec, buffer_get(&out), n, contexts, 40,
						      (int64_t *)back),
				 0);
		assert_memory_equal(back, values, n * 8);
		if (n > 1000) {
			assert_true(out.n < plain.n * 9 / 10);
			assert_int_equal(column_decode_i64_in(codec, buffer_get(&out), n, contexts,
							      41, (int64_t *)back),
					 -EBADMSG);
			assert_int_equal(
				column_decode_i64(codec, buffer_get(&out), n, (int64_t *)back),
				-EBADMSG);
		}
	}
	buffer_done(&plain);
	buffer_done(&out);
}

/* --- the other kinds --- */

static void doubles_come_back_bit_by_bit(void **state)
{
	static double numbers[1000], out_numbers[1000];
	struct buffer out = {0};
	struct rng rng = {6};
	size_t decimal = 0, plain = 0;

	for (int how = 0; how < 6; how++) {
		for (size_t i = 0; i < 1000; i++) {
			double whole = (double)rng_below(&rng, 100000);

			numbers[i] = how == 0   ? whole
				     : how == 1 ? -whole / 1000
				     : how == 2 ? rng_unit(&rng)
				     : how == 3 ? (i % 7 ? whole / 100 : -0.0)
				     : how == 4 ? (i % 9 ? NAN : INFINITY)
						: whole * 1e300;
		}
		if (how == 4)
			memset(&numbers[3], 0x7f, 8); /* another NaN */
		buffer_clear(&out);
		assert_int_equal(column_encode_f64(codec, numbers, 1000, &out), 0);
		assert_int_equal(column_decode_f64(codec, buffer_get(&out), 1000, out_numbers), 0);
		assert_memory_equal(numbers, out_numbers, sizeof(numbers));
		if (how == 1)
			decimal = out.n;
		if (how == 2)
			plain = out.n;
	}
	assert_true(decimal < 2300 && plain > 6000);
	buffer_done(&out);
}

static void fixed_values_come_back(void **state)
{
	static const size_t widths[] = {1, 3, 8, 16, 64};
	static uint8_t in[5000 * 64], got[5000 * 64];
	struct buffer out = {0};
	struct rng rng = {7};

	for (size_t w = 0; w < ARRAY_SIZE(widths); w++)
		for (size_t n = 0; n <= 5000; n = n * 4 + 1)
			for (int half = 0; half < 2; half++) {
				size_t width = widths[w], first = n / 3, count = n / 2;

				for (size_t i = 0; i < n * width; i++)
					in[i] = half && i % width < width / 2
							? 0
							: (uint8_t)rng_next(&rng);
				buffer_clear(&out);
				assert_int_equal(column_encode_fixed(codec, in, width, n, &out), 0);
				assert_true(out.n <= n * width + width + COLUMN_OVERHEAD);
				if (half && n > 100 && width > 1)
					assert_true(out.n <= n * (width - width / 2) + 200);
				assert_int_equal(
					column_decode_fixed(codec, buffer_get(&out), width, n, got),
					0);
				assert_memory_equal(in, got, n * width);
				assert_int_equal(column_decode_fixed_range(codec, buffer_get(&out),
									   width, n, first, count,
									   got),
						 0);
				assert_memory_equal(in + first * width, got, count * width);
			}
	buffer_done(&out);
}

static void bits_come_back(void **state)
{
	static uint64_t words[MOST / 64 + 1], got[MOST / 64 + 1];
	static const uint64_t odds[] = {0, 1, 2, 30, 1000};
	struct buffer out = {0};
	struct rng rng = {8};

	for (size_t k = 0; k < ARRAY_SIZE(odds) * 2; k++)
		for (size_t j = 1; j < ARRAY_SIZE(counts); j++) {
			size_t n = counts[j], used = (n + 63) / 64;
			uint64_t odd = odds[k / 2];

			memset(words, 0xee, sizeof(words)); /* rubbish behind n */
			for (size_t i = 0; i < n; i++) {
				bool on = odd && rng_below(&rng, odd) == 0;

				on ^= k % 2;
				words[i / 64] &= ~((uint64_t)1 << i % 64);
				words[i / 64] |= (uint64_t)on << i % 64;
			}
			buffer_clear(&out);
			assert_int_equal(column_encode_bits(codec, words, n, &out), 0);
			assert_true(out.n <= n / 8 + COLUMN_OVERHEAD);
			assert_int_equal(column_decode_bits(codec, buffer_get(&out), n, got), 0);
			if (n % 64)
				words[used - 1] &= ((uint64_t)1 << n % 64) - 1;
			assert_memory_equal(words, got, used * 8);
		}
	buffer_done(&out);
}

static void strings_come_back(void **state)
{
	static struct slice strings[1000];
	static uint32_t offset[1001];
	static char pool[1 << 16];
	struct buffer out = {0}, text = {0}, again = {0};
	struct rng rng = {9};

	for (int how = 0; how < 3; how++) {
		size_t n = how == 0 ? 0 : 1000;

		for (size_t i = 0; i < sizeof(pool); i++)
			pool[i] = (char)(how == 1 ? rng_next(&rng) : 'a' + i % 7);
		for (size_t i = 0; i < n; i++)
			strings[i] = slice_of(pool + rng_below(&rng, 60000), rng_below(&rng, 90));
		buffer_clear(&out);
		buffer_clear(&text);
		buffer_text(&text, "before");
		assert_int_equal(column_encode_bytes(codec, strings, n, &out), 0);
		assert_int_equal(
			column_decode_text(codec, buffer_get(&out), n, 90000, offset, &text), 0);
		for (size_t i = 0; i < n; i++)
			assert_true(slice_eq(strings[i], slice_of(text.p + 6 + offset[i],
								  offset[i + 1] - offset[i])));
		buffer_clear(&again);
		assert_int_equal(column_encode_text(codec, text.p + 6, offset, n, &again), 0);
		assert_true(slice_eq(buffer_get(&again), buffer_get(&out)));
		if (n)
			assert_int_equal(column_decode_text(codec, buffer_get(&out), n, 30000,
							    offset, &text),
					 -EBADMSG);
	}
	buffer_done(&out);
	buffer_done(&text);
	buffer_done(&again);
}

static void cut_and_changed_blocks_are_safe(void **state)
{
	struct buffer out = {0};
	struct rng rng = {10};
	char text[200];

	for (size_t k = 0; k < ARRAY_SIZE(characters); k++) {
		size_t n = 500;

		fill(&characters[k], n);
		buffer_clear(&out);
		assert_int_equal(column_encode_u64(codec, values, n, &out), 0);
		for (size_t cut = 0; cut < out.n; cut += 1 + cut / 50) {
			struct slice block = exact(&out, cut);

			/* What is missing is always missed: nothing is guessed. */
			assert_int_equal(column_decode_u64(codec, block, n, back), -EBADMSG);
			column_describe(block, text, sizeof(text));
			let_go(block);
		}
		for (int t = 0; t < 200; t++) {
			struct slice block = exact(&out, out.n);
			int r;

			((char *)block.p)[rng_below(&rng, MIN(out.n, (size_t)20))] ^=
				(char)(1 << rng_below(&rng, 8));
			r = column_decode_u64(codec, block, n, back);
			assert_true(r == 0 || r == -EBADMSG);
			column_describe(block, text, sizeof(text));
			let_go(block);
		}
	}
	buffer_done(&out);
}

static void forms_are_chosen_by_size(void **state)
{
	static const struct {
		const char *name, *form;
		make_fn *make;
		size_t most; /* bytes for 16384 values */
	} rows[] = {
		{"same", "const", same, 12},
		{"17 bits", "for 17", bits17, 34900},
		{"rising", "delta 8", rising, 16420},
		{"runs", "runs 164 (", runs, 2000},
		{"few", "dict ", few, 13000},
		{"sizes", "log", sizes, 16384 * 5},
		{"milliseconds", "scaled 1000000 (for 17)", milliseconds, 34900},
	};
	struct buffer out = {0};
	char text[200];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill(&(struct character){"", rows[i].make}, 16384);
		buffer_clear(&out);
		assert_int_equal(column_encode_u64(codec, values, 16384, &out), 0);
		column_describe(buffer_get(&out), text, sizeof(text));
		if (strncmp(text, rows[i].form, strlen(rows[i].form)) != 0 || out.n > rows[i].most)
			fail_msg("%s: %s, %zu bytes", rows[i].name, text, out.n);
	}
	buffer_done(&out);
}

static void impossible_requests_are_refused(void **state)
{
	struct buffer out = {0};
	uint8_t byte = 0;

	assert_int_equal(column_encode_u64(codec, values, COLUMN_MAX_VALUES + 1, &out), -EINVAL);
	assert_int_equal(column_encode_fixed(codec, &byte, 0, 1, &out), -EINVAL);
	assert_int_equal(column_encode_fixed(codec, &byte, COLUMN_MAX_WIDTH + 1, 1, &out), -EINVAL);
	assert_int_equal(column_decode_u64_range(codec, SLICE("\1\0"), 5, 3, 3, back), -EINVAL);
	assert_int_equal(column_decode_u64(codec, SLICE(""), 5, back), -EBADMSG);
	buffer_done(&out);
}

/* A block of LOGC says that there are no contexts, and none are given: no value has a table. */
static void classes_in_context_need_contexts(void **state)
{
	static const char block[] = "\x09\x01\x08" /* SCALED by 1, LOGC */
				    "\0\0"         /* contexts, their tables: a plain stream */
				    "\1\0\x80\x08" /* a table: the first class has all of it */
				    "\0"           /* words */
				    "\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1"; /* states */
	const struct column_range ranges[] = {{0, 1}, {3, 2}};
	const struct slice scaled = slice_of(block, sizeof(block)),
			   plain = slice_of(block + 2, sizeof(block) - 2);

	for (size_t n = 1; n <= 5; n++) {
		assert_int_equal(column_decode_u64(codec, plain, n, back), -EBADMSG);
		assert_int_equal(column_decode_i64_in(codec, plain, n, NULL, 0, (int64_t *)back),
				 -EBADMSG);
		for (size_t k = 1; k <= (n == 5 ? 2 : 1); k++) {
			assert_int_equal(
				column_decode_u64_ranges(codec, plain, n, NULL, 0, ranges, k, back),
				-EBADMSG);
			assert_int_equal(column_decode_u64_ranges(codec, scaled, n, NULL, 0, ranges,
								  k, back),
					 -EBADMSG);
		}
	}
}

static int setup(void **state)
{
	codec = column_codec_new();
	return codec ? 0 : -1;
}

static int teardown(void **state)
{
	codec = column_codec_free(codec);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_come_back),
		cmocka_unit_test(a_part_is_the_same_as_in_the_whole),
		cmocka_unit_test(narrow_integers_and_codes_come_back),
		cmocka_unit_test(a_code_above_the_bound_is_refused),
		cmocka_unit_test(a_value_too_wide_for_32_bits_is_refused),
		cmocka_unit_test(integers_in_context_come_back_and_take_less),
		cmocka_unit_test(doubles_come_back_bit_by_bit),
		cmocka_unit_test(fixed_values_come_back),
		cmocka_unit_test(bits_come_back),
		cmocka_unit_test(strings_come_back),
		cmocka_unit_test(cut_and_changed_blocks_are_safe),
		cmocka_unit_test(forms_are_chosen_by_size),
		cmocka_unit_test(impossible_requests_are_refused),
		cmocka_unit_test(classes_in_context_need_contexts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
