/* What is learnt from the blocks of a column makes the next ones smaller, and all of them come
 * back, whatever stands in them and in the models. */
#include "t.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "core/varint.h"
#include "segment/column.h"

#define BLOCKS   40
#define VALUES   3000
#define CONTEXTS 60

struct blocks {
	struct column_codec *codec;
	struct column_models_out out;
	struct column_models models;
	struct buffer block[BLOCKS];
	int64_t values[BLOCKS][VALUES];
	uint32_t contexts[BLOCKS][VALUES], names[BLOCKS][CONTEXTS];
	size_t n[BLOCKS], bytes;
	uint32_t name_n;
};

enum kind { STEADY, DRIFTING, ODD, LATE };

/* Numbers of a context are of one size.  They drift, or some are far out and names are new; or all
 * names came too late for tables of their own, and sizes jump with a later block. */
static int64_t value_of(struct rng *rng, enum kind kind, size_t block, uint32_t name)
{
	unsigned size = 8 + name % 20 + (kind == DRIFTING ? (unsigned)block / 4 : 0);

	if (kind == LATE)
		size = (block < BLOCKS / 2 ? 8 : 30) + (unsigned)rng_below(rng, 4);
	if (kind == ODD && block > 2 && rng_below(rng, 40) == 0)
		return (int64_t)rng_next(rng);
	return (int64_t)(rng_next(rng) >> (64 - MIN(size, 63u))) *
	       (name % 3 || kind == LATE ? 1 : -1);
}

static struct blocks *make(enum kind kind, bool learn)
{
	struct blocks *b = calloc(1, sizeof(*b));
	struct column_learner *l = learn ? column_learner_new(&b->out) : NULL;
	struct rng rng = {kind + 1};

	b->codec = column_codec_new();
	for (size_t k = 0; k < BLOCKS; k++) {
		b->n[k] = kind == ODD ? rng_below(&rng, VALUES) + 1 : VALUES;
		for (uint32_t i = 0; i < CONTEXTS; i++) {
			b->names[k][i] = kind == ODD    ? i * (uint32_t)k * 7
					 : kind == LATE ? 5000 + i
							: i * 3;
			b->name_n = MAX(b->name_n, b->names[k][i] + 1);
		}
		for (size_t i = 0; i < b->n[k]; i++) {
			b->contexts[k][i] = (uint32_t)rng_below(&rng, CONTEXTS);
			b->values[k][i] = value_of(&rng, kind, k, b->names[k][b->contexts[k][i]]);
		}
		column_codec_learner(b->codec, l, b->names[k]);
		assert_int_equal(column_encode_i64_in(b->codec, b->values[k], b->n[k],
						      b->contexts[k], CONTEXTS, &b->block[k]),
				 0);
		b->bytes += b->block[k].n;
	}
	column_codec_learner(b->codec, NULL, NULL);
	column_learner_free(l);
	b->bytes += b->out.bytes.n;
	assert_int_equal(column_models_read(slice_of(b->out.bytes.p, b->out.bytes.n), b->out.n,
					    b->name_n, &b->models),
			 0);
	return b;
}

static void blocks_done(struct blocks *b)
{
	for (size_t k = 0; k < BLOCKS; k++)
		buffer_done(&b->block[k]);
	column_models_done(&b->models);
	buffer_done(&b->out.bytes);
	column_codec_free(b->codec);
	free(b);
}

static void blocks_come_back_whole_and_in_parts(void **state)
{
	static int64_t out[VALUES];
	struct rng rng = {8};

	for (int kind = STEADY; kind <= LATE; kind++) {
		struct blocks *b = make((enum kind)kind, true);

		for (size_t k = 0; k < BLOCKS; k++) {
			size_t first = rng_below(&rng, b->n[k]),
			       count = rng_below(&rng, b->n[k] - first) + 1;

			column_codec_models(b->codec, &b->models, b->names[k]);
			assert_int_equal(column_decode_i64_in(b->codec, buffer_get(&b->block[k]),
							      b->n[k], b->contexts[k], CONTEXTS,
							      out),
					 0);
			assert_memory_equal(out, b->values[k], b->n[k] * sizeof(*out));
			assert_int_equal(column_decode_i64_in_range(
						 b->codec, buffer_get(&b->block[k]), b->n[k],
						 b->contexts[k], CONTEXTS, first, count, out),
					 0);
			assert_memory_equal(out, b->values[k] + first, count * sizeof(*out));
		}
		blocks_done(b);
	}
}

/* Decoding begins at the last restart before a value, and asks for no context before that. */
static void parts_are_decoded_from_restarts(void **state)
{
	enum { MANY = 20000 };
	static int64_t values[MANY];
	static uint64_t out[MANY];
	static uint32_t contexts[MANY], few[MANY];
	static const uint32_t at[] = {5, 4001, 4100, 9003, 13500, 13501, 19999, 30000},
			      names[] = {0, 1, 2, 3, 4};
	struct rng rng = {21};

	for (int learnt = 0; learnt < 2; learnt++) {
		struct column_codec *codec = column_codec_new();
		struct column_models_out models_out = {0};
		struct column_learner *l = learnt ? column_learner_new(&models_out) : NULL;
		struct column_models models = {0};
		struct buffer block = {0};

		for (int k = 0; k < 3;
		     k++) { /* the last with escapes, where something was learnt */
			for (size_t i = 0; i < MANY; i++) {
				contexts[i] = (uint32_t)rng_below(&rng, 5);
				values[i] = (int64_t)rng_below(&rng, 100 << contexts[i] * 5);
				if (k == 2 && rng_below(&rng, 500) == 0)
					values[i] = -(int64_t)(rng_next(&rng) >> 20);
			}
			buffer_clear(&block);
			column_codec_learner(codec, l, names);
			column_codec_restarts(codec, at, ARRAY_SIZE(at));
			assert_int_equal(
				column_encode_i64_in(codec, values, MANY, contexts, 5, &block), 0);
		}
		column_codec_learner(codec, NULL, NULL);
		column_codec_restarts(codec, NULL, 0);
		column_learner_free(l);
		if (learnt)
			assert_int_equal(
				column_models_read(slice_of(models_out.bytes.p, models_out.bytes.n),
						   models_out.n, 5, &models),
				0);
		column_codec_models(codec, learnt ? &models : NULL, names);
		assert_int_equal(column_contexts_from(buffer_get(&block), MANY, 4003), 0);
		assert_int_equal(column_contexts_from(buffer_get(&block), MANY, 4004), 4004);
		assert_int_equal(column_contexts_from(buffer_get(&block), MANY, MANY - 1), 13500);
		for (int i = 0; i < 300; i++) {
			struct column_range ranges[3];
			size_t n = 0, first = 0, k = 0;

			memset(few, 0xff, sizeof(few)); /* what is not needed is not looked at */
			for (; n < 3; n++) {
				ranges[n].first = first + rng_below(&rng, (MANY - first) / 2 + 1);
				ranges[n].count = rng_below(&rng, MIN((size_t)(i % 5 ? 20 : 6000),
								      MANY - ranges[n].first) +
									  1);
				first = ranges[n].first + ranges[n].count;
				for (size_t v = column_contexts_from(buffer_get(&block), MANY,
								     ranges[n].first);
				     ranges[n].count && v < first; v++)
					few[v] = contexts[v];
			}
			assert_int_equal(column_decode_u64_ranges(codec, buffer_get(&block), MANY,
								  few, 5, ranges, n, out),
					 0);
			for (n = 0; n < 3; n++)
				for (size_t v = 0; v < ranges[n].count; v++)
					assert_int_equal((int64_t)out[k++],
							 values[ranges[n].first + v]);
		}
		column_models_done(&models);
		buffer_done(&models_out.bytes);
		buffer_done(&block);
		column_codec_free(codec);
	}
}

/* A restart says where the bits of the values before it end: who has read them alone has no others.
 */
static void a_part_does_not_go_behind_the_next_restart(void **state)
{
	enum { MANY = 9000, LAST = 3990 };
	static int64_t values[MANY];
	static uint64_t out[MANY];
	static uint32_t contexts[MANY];
	static const uint32_t at[] = {4000, 8000};
	const struct column_range part = {0, LAST};
	struct column_codec *codec = column_codec_new();
	struct rng rng = {5};
	struct buffer block = {0};
	const uint8_t *p, *end;
	uint64_t number;

	for (size_t i = 0; i < MANY; i++) {
		contexts[i] = (uint32_t)rng_below(&rng, 5);
		values[i] = (int64_t)rng_below(&rng, 100 << contexts[i] * 5);
	}
	column_codec_restarts(codec, at, ARRAY_SIZE(at));
	assert_int_equal(column_encode_i64_in(codec, values, MANY, contexts, 5, &block), 0);
	assert_int_equal(column_contexts_from(buffer_get(&block), MANY, MANY - 1), 8000);
	assert_int_equal(column_decode_u64_ranges(codec, buffer_get(&block), MANY, contexts, 5,
						  &part, 1, out),
			 0);
	assert_memory_equal(out, values, LAST * sizeof(*out));
	/* Form, number of restarts; values, words, escapes, and the bits. */
	p = (const uint8_t *)block.p + 2;
	end = p + 40;
	for (int i = 0; i < 3; i++)
		p = varint_decode(p, end, &number);
	varint_decode(p, end, &number);
	assert_true(number >= 1 << 14 && p[2] > 1); /* of three bytes */
	block.p[(const char *)p - block.p + 2] = 1;
	assert_int_equal(column_decode_u64_ranges(codec, buffer_get(&block), MANY, contexts, 5,
						  &part, 1, out),
			 -EBADMSG);
	/* Nothing is decoded for nothing. */
	assert_int_equal(column_decode_u64_ranges(codec, SLICE("damage"), MANY, contexts, 5,
						  &(struct column_range){LAST, 0}, 1, out),
			 0);
	buffer_done(&block);
	column_codec_free(codec);
}

static void tables_are_kept_once(void **state)
{
	struct blocks *with = make(STEADY, true), *without = make(STEADY, false);

	assert_int_equal(without->out.n, 0);
	assert_in_range(with->out.n, 2, 8);
	assert_true(with->bytes + BLOCKS * 200 < without->bytes);
	blocks_done(with);
	blocks_done(without);
}

static void what_changes_is_learnt_again(void **state)
{
	struct blocks *b = make(DRIFTING, true);

	assert_in_range(b->out.n, 5, 24);
	blocks_done(b);
}

/* They have the first table, which is of all classes, theirs too. */
static void names_without_tables_are_learnt_from(void **state)
{
	struct blocks *with = make(LATE, true), *without = make(LATE, false);

	assert_in_range(with->out.n, 2, 8);
	assert_true(with->bytes < without->bytes);
	blocks_done(with);
	blocks_done(without);
}

static void blocks_need_their_models(void **state)
{
	static int64_t out[VALUES];
	const struct column_models none = {0};
	struct blocks *b = make(STEADY, true);

	column_codec_models(b->codec, NULL, NULL);
	assert_int_equal(column_decode_i64_in(b->codec, buffer_get(&b->block[9]), b->n[9],
					      b->contexts[9], CONTEXTS, out),
			 -EBADMSG);
	column_codec_models(b->codec, &none, b->names[9]);
	assert_int_equal(column_decode_i64_in(b->codec, buffer_get(&b->block[9]), b->n[9],
					      b->contexts[9], CONTEXTS, out),
			 -EBADMSG);
	blocks_done(b);
}

static void damaged_models_and_blocks_are_safe(void **state)
{
	static int64_t out[VALUES];
	struct blocks *b = make(ODD, true);
	struct slice bytes = slice_of(b->out.bytes.p, b->out.bytes.n);
	struct column_models m;
	struct rng rng = {4};

	for (size_t n = 0; n < bytes.n; n += 1 + bytes.n / 500)
		assert_int_equal(column_models_read(slice_of(bytes.p, n), b->out.n, b->name_n, &m),
				 -EBADMSG);
	assert_int_equal(column_models_read(bytes, b->out.n, 1, &m), -EBADMSG);
	for (int i = 0; i < 3000; i++) {
		struct buffer *hit = i % 2 ? &b->out.bytes : &b->block[i % BLOCKS];
		size_t k = (size_t)i % BLOCKS, at = rng_below(&rng, hit->n);
		char was = hit->p[at];

		hit->p[at] = (char)rng_next(&rng);
		if (column_models_read(bytes, b->out.n, b->name_n, &m) == 0) {
			int r;

			column_codec_models(b->codec, &m, b->names[k]);
			r = column_decode_i64_in(b->codec, buffer_get(&b->block[k]), b->n[k],
						 b->contexts[k], CONTEXTS, out);
			assert_true(r == 0 || r == -EBADMSG);
			column_models_done(&m);
		}
		hit->p[at] = was;
	}
	blocks_done(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_come_back_whole_and_in_parts),
		cmocka_unit_test(parts_are_decoded_from_restarts),
		cmocka_unit_test(a_part_does_not_go_behind_the_next_restart),
		cmocka_unit_test(tables_are_kept_once),
		cmocka_unit_test(what_changes_is_learnt_again),
		cmocka_unit_test(names_without_tables_are_learnt_from),
		cmocka_unit_test(blocks_need_their_models),
		cmocka_unit_test(damaged_models_and_blocks_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
