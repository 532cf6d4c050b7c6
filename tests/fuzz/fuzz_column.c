/* Any bytes as a block of any kind: values or -EBADMSG, and the same values from a part as from the
 * whole.  The same bytes as values: what is encoded comes back; and many values made of them, in a
 * block with restarts.
 *
 * The first byte chooses the kind, and with its highest bit whether there are many; the next two
 * are the count. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "segment/column.h"

#define MOST     4096
#define MANY     9000 /* enough for restarts */
#define CONTEXTS 5

/* What a block says is needed of it, and of its contexts, for some parts: nothing else is there. */
static int decode_needed(struct column_codec *c, struct slice block, size_t n,
			 const uint32_t *contexts, const struct column_range *ranges,
			 size_t range_n, size_t head, uint64_t *out)
{
	static uint32_t known[MANY];
	char *copy = malloc(block.n + 1);
	int r;

	FUZZ_CHECK(copy);
	memset(copy, 0xa5, block.n + 1);
	memset(known, 0xff, sizeof(known));
	head = MIN(head, block.n);
	if (head)
		memcpy(copy, block.p, head);
	for (size_t i = 0; i < range_n; i++) {
		struct column_need need = {0, SIZE_MAX};

		if (ranges[i].count == 0)
			continue;
		if (!column_part_bytes(slice_of(block.p, head), n, ranges[i], &need))
			need = (struct column_need){0, SIZE_MAX};
		need.to = MIN(need.to, block.n);
		if (need.from < need.to)
			memcpy(copy + need.from, block.p + need.from, need.to - need.from);
		for (size_t k = column_contexts_from(block, n, ranges[i].first);
		     k < ranges[i].first + ranges[i].count; k++)
			known[k] = contexts[k];
	}
	r = column_decode_u64_ranges(c, slice_of(copy, block.n), n, known, CONTEXTS, ranges,
				     range_n, out);
	free(copy);
	return r;
}

/* Parts of a block in contexts; `whole`: all of it, or NULL where it is bad. */
static void decode_parts(struct column_codec *c, struct slice block, size_t n,
			 const uint32_t *contexts, const uint64_t *whole)
{
	static uint64_t part[MANY];
	const struct column_range ranges[] = {
		{0, n / 9}, {n / 3, 0}, {n / 2, n / 32}, {n / 4 * 3, n / 16}, {n - n / 8, n / 8}};

	for (size_t first = 0; first < ARRAY_SIZE(ranges); first++)
		for (size_t k = 1; k <= ARRAY_SIZE(ranges) - first; k += 2) {
			int r = decode_needed(c, block, n, contexts, ranges + first, k,
					      32U << 3 * first, part);

			FUZZ_CHECK(r == 0 || (r == -EBADMSG && !whole));
			for (size_t i = first, at = 0; whole && i < first + k;
			     at += ranges[i++].count)
				FUZZ_CHECK(memcmp(whole + ranges[i].first, part + at,
						  ranges[i].count * 8) == 0);
		}
}

/* The models come first, with their length before them; then the block. */
static int decode_by_model(struct column_codec *c, struct slice bytes, size_t n, int64_t *out)
{
	static const uint32_t names[5] = {0, 3, 1, 200, 2};
	static uint32_t contexts[MOST];
	struct column_models m;
	struct slice block;
	size_t size;
	int r;

	if (bytes.n < 3)
		return 0;
	size = (size_t)((uint8_t)bytes.p[1] | (uint8_t)bytes.p[2] << 8) % (bytes.n - 2);
	r = column_models_read(slice_of(bytes.p + 3, MIN(size, bytes.n - 3)), (uint8_t)bytes.p[0],
			       100, &m);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		contexts[i] = (uint32_t)(i % 5);
	column_codec_models(c, &m, names);
	block = slice_of(bytes.p + 3 + size, bytes.n - 3 - size);
	r = column_decode_i64_in(c, block, n, contexts, CONTEXTS, out);
	decode_parts(c, block, n, contexts, r == 0 ? (const uint64_t *)out : NULL);
	column_codec_models(c, NULL, NULL);
	column_models_done(&m);
	return r;
}

/* Some values here and there of a block that has no contexts, as those of a group's links. */
static void decode_ranges(struct column_codec *c, struct slice block, size_t n,
			  const uint64_t *whole)
{
	static uint64_t part[MOST];
	const struct column_range ranges[] = {{n / 4, n / 4}, {n / 4 * 3, n - n / 4 * 3}};
	int r = column_decode_u64_ranges(c, block, n, NULL, 0, ranges, 2, part);

	FUZZ_CHECK(r == 0 || (r == -EBADMSG && !whole));
	for (size_t i = 0, at = 0; whole && i < 2; at += ranges[i++].count)
		FUZZ_CHECK(memcmp(whole + ranges[i].first, part + at, ranges[i].count * 8) == 0);
}

static void decode_any(struct column_codec *c, struct slice block, size_t n, unsigned kind)
{
	static uint64_t wide[MOST], part[MOST];
	static uint32_t narrow[MOST + 1], contexts[MOST];
	struct buffer text = {0};
	size_t first = n / 3, count = n / 2;
	char says[64];
	int r;

	column_describe(block, says, sizeof(says));
	switch (kind) {
	case 0:
		r = column_decode_u64(c, block, n, wide);
		if (r == 0) {
			FUZZ_CHECK(column_decode_u64_range(c, block, n, first, count, part) == 0);
			FUZZ_CHECK(memcmp(wide + first, part, count * 8) == 0);
		}
		decode_ranges(c, block, n, r == 0 ? wide : NULL);
		break;
	case 1:
		r = column_decode_codes(c, block, n, 100, narrow);
		for (size_t i = 0; r == 0 && i < n; i++)
			FUZZ_CHECK(narrow[i] < 100);
		break;
	case 2:
		r = column_decode_f64(c, block, n, (double *)wide);
		break;
	case 3:
		r = column_decode_fixed(c, block, 8, n, wide);
		break;
	case 4:
		r = column_decode_bits(c, block, n, wide);
		if (r == 0 && n % 64)
			FUZZ_CHECK(wide[n / 64] >> n % 64 == 0);
		break;
	case 5:
		for (size_t i = 0; i < n; i++)
			contexts[i] = (uint32_t)(i % 5);
		r = column_decode_i64_in(c, block, n, contexts, CONTEXTS, (int64_t *)wide);
		decode_parts(c, block, n, contexts, r == 0 ? wide : NULL);
		break;
	case 6:
		r = decode_by_model(c, block, n, (int64_t *)wide);
		break;
	default:
		r = column_decode_text(c, block, n, 1 << 16, narrow, &text);
		FUZZ_CHECK(text.n <= 1 << 16);
		for (size_t i = 0; r == 0 && i < n; i++)
			FUZZ_CHECK(narrow[i] <= narrow[i + 1] && narrow[i + 1] <= text.n);
		break;
	}
	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	buffer_done(&text);
}

/* Many values in contexts, with restarts; twice, so that the second is written with what the first
 * has taught where something is learnt. */
static void come_back_from_restarts(struct column_codec *c, const uint8_t *bytes, size_t size,
				    bool learn)
{
	static const uint32_t names[CONTEXTS] = {0, 3, 1, 5000, 2};
	static int64_t in[MANY];
	static uint64_t out[MANY];
	static uint32_t contexts[MANY];
	uint32_t at[4], last = 3000;
	struct column_models_out models = {0};
	struct column_learner *l = learn ? column_learner_new(&models) : NULL;
	struct column_models m;
	struct buffer block = {0};

	FUZZ_CHECK(l || !learn);
	for (size_t i = 0; i < MANY; i++) {
		uint64_t mixed = (bytes[i % size] + i) * 0x9e3779b97f4a7c15ULL;

		contexts[i] = bytes[i * 7 % size] % CONTEXTS;
		in[i] = (int64_t)mixed >> ((bytes[i / 5 % size] & 7) + contexts[i] * 11);
	}
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		at[i] = last += bytes[i % size] * 16U;
	column_codec_learner(c, l, names);
	for (int i = 0; i < 2; i++) {
		buffer_clear(&block);
		column_codec_restarts(c, at, ARRAY_SIZE(at));
		FUZZ_CHECK(column_encode_i64_in(c, in, MANY, contexts, CONTEXTS, &block) == 0);
	}
	column_codec_restarts(c, NULL, 0);
	column_codec_learner(c, NULL, NULL);
	column_learner_free(l);
	FUZZ_CHECK(column_models_read(slice_of(models.bytes.p, models.bytes.n), models.n, 4096,
				      &m) == 0);
	column_codec_models(c, &m, names);
	FUZZ_CHECK(column_decode_i64_in(c, buffer_get(&block), MANY, contexts, CONTEXTS,
					(int64_t *)out) == 0);
	FUZZ_CHECK(memcmp(in, out, sizeof(in)) == 0);
	decode_parts(c, buffer_get(&block), MANY, contexts, out);
	column_codec_models(c, NULL, NULL);
	column_models_done(&m);
	buffer_done(&models.bytes);
	buffer_done(&block);
}

/* Twice the same, so that the second is written with what the first has taught. */
static void come_back_by_model(struct column_codec *c, const int64_t *in, size_t n)
{
	static const uint32_t names[5] = {0, 3, 1, 5000, 2};
	static uint32_t contexts[MOST];
	static int64_t out[MOST];
	struct column_models_out models = {0};
	struct column_learner *l = column_learner_new(&models);
	struct buffer block[2] = {{0}};
	struct column_models m;

	FUZZ_CHECK(l);
	for (size_t i = 0; i < n; i++)
		contexts[i] = (uint32_t)(i % 5);
	column_codec_learner(c, l, names);
	for (int i = 0; i < 2; i++)
		FUZZ_CHECK(column_encode_i64_in(c, in, n, contexts, 5, &block[i]) == 0);
	column_codec_learner(c, NULL, NULL);
	column_learner_free(l);
	FUZZ_CHECK(column_models_read(slice_of(models.bytes.p, models.bytes.n), models.n, 4096,
				      &m) == 0);
	column_codec_models(c, &m, names);
	for (int i = 0; i < 2; i++) {
		FUZZ_CHECK(column_decode_i64_in(c, buffer_get(&block[i]), n, contexts, 5, out) ==
			   0);
		FUZZ_CHECK(memcmp(in, out, n * 8) == 0);
		buffer_done(&block[i]);
	}
	column_codec_models(c, NULL, NULL);
	column_models_done(&m);
	buffer_done(&models.bytes);
}

static void come_back(struct column_codec *c, const uint8_t *bytes, size_t size)
{
	static uint64_t in[MOST], out[MOST];
	static uint32_t codes[MOST], codes_out[MOST];
	size_t n = size / 8 < MOST ? size / 8 : MOST;
	struct buffer block = {0};

	if (n == 0)
		return;
	memcpy(in, bytes, n * 8);
	FUZZ_CHECK(column_encode_u64(c, in, n, &block) == 0);
	FUZZ_CHECK(column_decode_u64(c, buffer_get(&block), n, out) == 0);
	FUZZ_CHECK(memcmp(in, out, n * 8) == 0);
	buffer_clear(&block);
	come_back_by_model(c, (const int64_t *)in, n);
	FUZZ_CHECK(column_encode_f64(c, (const double *)in, n, &block) == 0);
	FUZZ_CHECK(column_decode_f64(c, buffer_get(&block), n, (double *)out) == 0);
	FUZZ_CHECK(memcmp(in, out, n * 8) == 0);
	buffer_clear(&block);
	for (size_t i = 0; i < n; i++)
		codes[i] = bytes[i];
	FUZZ_CHECK(column_encode_codes(c, codes, n, &block) == 0);
	FUZZ_CHECK(column_decode_codes(c, buffer_get(&block), n, 256, codes_out) == 0);
	FUZZ_CHECK(memcmp(codes, codes_out, n * 4) == 0);
	buffer_done(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct column_codec *c;

	if (size < 3)
		return 0;
	c = column_codec_new();
	if (!c)
		return 0;
	decode_any(c, slice_of(data + 3, size - 3), (size_t)(data[1] | data[2] << 8) % MOST,
		   data[0] % 8);
	come_back(c, data + 3, size - 3);
	if (data[0] & 0x80 && size > 3)
		come_back_from_restarts(c, data + 3, size - 3, data[0] & 0x40);
	column_codec_free(c);
	return 0;
}
