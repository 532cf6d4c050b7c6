/* Values of every width come back from wherever they are asked for: by eights where the processor
 * can, one by one elsewhere, and never with a look behind the bytes. */
#include "t.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "segment/bitpack.h"
#include "segment/bitpack_wide.h"

#define MOST 200

static uint64_t values[MOST], out[MOST];
static uint32_t narrow[MOST];

/* The bytes of n values in memory of exactly their size: what reads behind it is caught. */
static uint8_t *packed(struct rng *rng, unsigned width, size_t n, uint64_t base)
{
	uint64_t mask = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
	size_t size = bitpack_size(n, width);
	uint8_t *room = malloc(size + 8), *exact = malloc(size ? size : 1);

	assert_true(room && exact);
	for (size_t i = 0; i < n; i++)
		values[i] = base + (rng_next(rng) & mask);
	bitpack_encode(values, n, base, width, room);
	memcpy(exact, room, size);
	free(room);
	return exact;
}

static void every_value_comes_back_from_anywhere(void **state)
{
	static const size_t firsts[] = {0, 1, 7, 8, 9, 16, 40, 64, 65};
	static const size_t counts[] = {1, 7, 8, 9, 15, 16, 17, 100, MOST};
	struct rng rng = {1};

	for (unsigned width = 0; width <= 64; width++) {
		if (!bitpack_width_valid(width))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(firsts); k++)
			for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
				size_t first = firsts[k], count = counts[c], n = first + count;
				uint8_t *bytes;

				if (n > MOST)
					continue;
				bytes = packed(&rng, width, n, 1000);
				memset(out, 0xee, sizeof(out));
				bitpack_decode(bytes, bitpack_size(n, width), width, 1000, first,
					       count, out);
				assert_memory_equal(out, values + first, count * sizeof(*out));
				if (count < MOST)
					assert_true(out[count] == 0xeeeeeeeeeeeeeeeeULL);
				memset(narrow, 0xee, sizeof(narrow));
				if (width <= 32)
					bitpack_decode_u32(bytes, bitpack_size(n, width), width,
							   1000, first, count, narrow);
				for (size_t i = 0; i < count && width <= 32; i++)
					assert_int_equal(narrow[i], (uint32_t)values[first + i]);
				if (count < MOST)
					assert_int_equal(narrow[count], 0xeeeeeeee);
				free(bytes);
			}
	}
}

/* What it cannot do it leaves alone, and what it does is right. */
static void eights_stop_before_the_end(void **state)
{
	struct rng rng = {2};

	for (unsigned width = 0; width <= 33; width++)
		for (size_t n = 1; n <= 64; n++) {
			uint8_t *bytes = packed(&rng, width, n, 5);
			size_t size = bitpack_size(n, width);
			size_t done = bitpack_wide(bytes, size, width, 5, 0, n, out);

			assert_true(done <= n && done % 8 == 0);
			assert_memory_equal(out, values, done * sizeof(*out));
			if (width == 0 || width > BITPACK_WIDE_MAX)
				assert_int_equal(done, 0);
			assert_int_equal(bitpack_wide(bytes, size, width, 5, 1, n - 1, out), 0);
			done = width > 32 ? 0
					  : bitpack_wide_u32(bytes, size, width, 5, 0, n, narrow);
			for (size_t i = 0; i < done; i++)
				assert_int_equal(narrow[i], (uint32_t)values[i]);
			free(bytes);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_comes_back_from_anywhere),
		cmocka_unit_test(eights_stop_before_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
