/* Every trace is found by its hash, hardly any other is, and damaged indexes are refused. */
#include "t.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "segment/trace_index.h"

#define ITEMS_MOST 20000

struct made {
	struct column_codec *codec;
	struct radix_item *items, *sorted;
	size_t n;
	struct buffer bytes;
	struct trace_index index;
};

/* Hashes keep their top bits: with few the items crowd in few buckets. */
static void make(struct made *m, size_t n, uint32_t groups, uint64_t mask)
{
	struct rng rng = {n + 1};

	*m = (struct made){.codec = column_codec_new(), .n = n};
	m->items = malloc((n + 1) * sizeof(*m->items));
	m->sorted = malloc((n + 1) * sizeof(*m->items));
	for (size_t i = 0; i < n; i++)
		m->items[i] = (struct radix_item){rng_next(&rng) & mask,
						  (uint32_t)rng_below(&rng, groups)};
	memcpy(m->sorted, m->items, n * sizeof(*m->items));
	assert_int_equal(trace_index_encode(m->codec, m->sorted, n, groups, &m->bytes), 0);
	assert_int_equal(trace_index_decode(m->codec, slice_of(m->bytes.p, m->bytes.n), n, groups,
					    &m->index),
			 0);
}

static void made_done(struct made *m)
{
	trace_index_done(&m->index);
	column_codec_free(m->codec);
	buffer_done(&m->bytes);
	free(m->items);
	free(m->sorted);
}

static bool leads_to(const struct trace_index *x, uint64_t hash, uint32_t group)
{
	uint32_t at = 0, found;

	while ((found = trace_index_next(x, hash, &at)) != UINT32_MAX)
		if (found == group)
			return true;
	return false;
}

static void every_item_is_found_and_few_others(void **state)
{
	static const struct {
		size_t n;
		uint32_t groups;
		uint64_t mask;
	} cases[] = {
		{0, 0, UINT64_MAX},         {1, 1, UINT64_MAX},    {31, 1, UINT64_MAX},
		{33, 3, UINT64_MAX},        {5000, 2, UINT64_MAX}, {ITEMS_MOST, 77, UINT64_MAX},
		{600, 1 << 20, 7ULL << 61}, {300, 9, 0},           {2000, 5, ~(7ULL << 61)},
	};

	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		struct rng rng = {99};
		struct made m;
		size_t wrong = 0;

		make(&m, cases[k].n, cases[k].groups, cases[k].mask);
		for (size_t i = 0; i < m.n; i++)
			assert_true(leads_to(&m.index, m.items[i].key, m.items[i].value));
		for (size_t i = 0; i < 10000 && cases[k].mask == UINT64_MAX; i++) {
			uint32_t at = 0;

			wrong += trace_index_next(&m.index, rng_next(&rng), &at) != UINT32_MAX;
		}
		assert_true(wrong < 100); /* 32 of 2^13 */
		made_done(&m);
	}
}

static void an_entry_takes_little_more_than_its_bits(void **state)
{
	struct made m;

	make(&m, ITEMS_MOST, 64, UINT64_MAX);
	assert_true(m.bytes.n * 8 < ITEMS_MOST * 17); /* 8 + 6 bits, its slot, its bucket */
	made_done(&m);
}

/* As files were written before: entries with all bits of the rest, no slots. */
static void an_index_without_slots_is_read(void **state)
{
	struct column_codec *codec = column_codec_new();
	struct buffer bytes = {0};
	const uint32_t counts[1] = {3};
	const uint64_t hashes[3] = {1ULL << 51, 5ULL << 51, 8191ULL << 51};
	uint64_t word = 0;
	struct trace_index x;
	uint32_t length;

	buffer_append(&bytes, "\0\0\0", 4);
	assert_int_equal(column_encode_u32(codec, counts, 1, &bytes), 0);
	length = (uint32_t)bytes.n - 4;
	memcpy(bytes.p, &length, sizeof(length));
	for (uint64_t i = 0; i < 3; i++)
		word |= ((hashes[i] >> 51) << 2 | i) << (15 * i);
	buffer_append(&bytes, &word, sizeof(word));
	assert_int_equal(trace_index_decode(codec, slice_of(bytes.p, bytes.n), 3, 3, &x), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(leads_to(&x, hashes[i], i));
	assert_false(leads_to(&x, 6ULL << 51, 1));
	trace_index_done(&x);
	buffer_done(&bytes);
	column_codec_free(codec);
}

static void a_damaged_index_is_refused_or_finds_something(void **state)
{
	struct rng rng = {5};
	struct made m;

	make(&m, 700, 9, UINT64_MAX);
	for (size_t n = 0; n < m.bytes.n; n++) {
		struct trace_index x;

		assert_int_equal(trace_index_decode(m.codec, slice_of(m.bytes.p, n), 700, 9, &x),
				 -EBADMSG);
	}
	for (int i = 0; i < 2000; i++) {
		size_t at = rng_below(&rng, m.bytes.n);
		char was = m.bytes.p[at];
		struct trace_index x;

		m.bytes.p[at] = (char)rng_next(&rng);
		if (trace_index_decode(m.codec, slice_of(m.bytes.p, m.bytes.n), 700, 9, &x) == 0) {
			for (size_t k = 0; k < m.n; k++)
				leads_to(&x, m.items[k].key, 0);
			trace_index_done(&x);
		}
		m.bytes.p[at] = was;
	}
	made_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_is_found_and_few_others),
		cmocka_unit_test(an_entry_takes_little_more_than_its_bits),
		cmocka_unit_test(an_index_without_slots_is_read),
		cmocka_unit_test(a_damaged_index_is_refused_or_finds_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
