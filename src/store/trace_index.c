/* store/trace_index.c - from a trace id to the group where its piece begins.
 *
 *   section := block of counts (u32 a bucket), packed entries (as many words of 64 bits as needed)
 *   entry   := rest of the hash (13 bits) << group bits | group
 *
 * Entry i stands at bit i × (13 + group bits), lowest bit first. */
#include "store/trace_index.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "store/block_io.h"

static unsigned bits_for(uint64_t below)
{
	return below > 1 ? 64 - (unsigned)__builtin_clzll(below - 1) : 0;
}

static unsigned bucket_bits(size_t n)
{
	return bits_for((n + INDEX_PER_BUCKET - 1) / INDEX_PER_BUCKET);
}

static uint64_t bucket_of(uint64_t hash, unsigned bits)
{
	return bits ? hash >> (64 - bits) : 0;
}

static uint64_t rest_of(uint64_t hash, unsigned bits)
{
	return hash << bits >> (64 - INDEX_REST_BITS);
}

static void put_bits(uint64_t *words, size_t at, uint64_t value, unsigned width)
{
	words[at / 64] |= value << at % 64;
	if (at % 64 + width > 64)
		words[at / 64 + 1] |= value >> (64 - at % 64);
}

static uint64_t get_bits(const uint64_t *words, size_t at, unsigned width)
{
	uint64_t value = words[at / 64] >> at % 64;

	if (at % 64 + width > 64)
		value |= words[at / 64 + 1] << (64 - at % 64);
	return value & ((1ULL << width) - 1);
}

static size_t words_for(size_t n, unsigned width)
{
	return (n * width + 63) / 64;
}

static int sort_items(struct index_item *items, size_t n)
{
	struct radix_item *list = malloc((n + 1) * sizeof(*list)),
			  *spare = malloc((n + 1) * sizeof(*list));

	for (size_t i = 0; list && spare && i < n; i++)
		list[i] = (struct radix_item){items[i].hash, items[i].group};
	if (list && spare)
		radix_sort(list, spare, n);
	for (size_t i = 0; list && spare && i < n; i++)
		items[i] = (struct index_item){list[i].key, list[i].value};
	free(spare);
	if (!list || !spare) {
		free(list);
		return -ENOMEM;
	}
	free(list);
	return 0;
}

int trace_index_encode(struct column_codec *codec, struct index_item *items, size_t n,
		       uint32_t groups, struct buffer *out)
{
	unsigned bits = bucket_bits(n), group_bits = bits_for(groups),
		 width = INDEX_REST_BITS + group_bits;
	_cleanup_(freep)
	uint32_t *counts = calloc((size_t)1 << bits, sizeof(*counts));
	_cleanup_(freep)
	uint64_t *words = calloc(words_for(n, width) + 1, sizeof(*words));
	struct block_writer w = {.codec = codec, .out = out};
	int r;

	if (!counts || !words)
		return -ENOMEM;
	r = sort_items(items, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		counts[bucket_of(items[i].hash, bits)]++;
		put_bits(words, i * width,
			 rest_of(items[i].hash, bits) << group_bits | items[i].group, width);
	}
	block_put_u32(&w, counts, (size_t)1 << bits);
	buffer_append(out, words, words_for(n, width) * sizeof(*words));
	return w.failed ? w.failed : out->failed ? -ENOMEM : 0;
}

int trace_index_decode(struct column_codec *codec, struct slice bytes, size_t n, uint32_t groups,
		       struct trace_index *ret_index)
{
	struct trace_index index = {
		.n = n, .bucket_bits = bucket_bits(n), .group_bits = bits_for(groups)};
	struct block_reader r = {.codec = codec, .rest = bytes};
	unsigned width = INDEX_REST_BITS + index.group_bits;
	size_t buckets = (size_t)1 << index.bucket_bits, words = words_for(n, width);
	uint64_t sum = 0;

	/* The entries take their bytes: n is known to be honest before memory is taken. */
	if (words * sizeof(uint64_t) > bytes.n || buckets > COLUMN_MAX_VALUES)
		return -EBADMSG;
	index.first = malloc((buckets + 1) * sizeof(*index.first));
	index.bits = calloc(words + 1, sizeof(*index.bits));
	if (!index.first || !index.bits) {
		trace_index_done(&index);
		return -ENOMEM;
	}
	block_get_u32(&r, index.first, buckets);
	if (!r.failed && r.rest.n != words * sizeof(uint64_t))
		r.failed = -EBADMSG;
	for (size_t i = 0; i < buckets && !r.failed; i++) {
		uint32_t count = index.first[i];

		index.first[i] = (uint32_t)sum;
		sum += count;
		if (sum > n)
			r.failed = -EBADMSG;
	}
	if (!r.failed && sum != n)
		r.failed = -EBADMSG;
	if (r.failed) {
		trace_index_done(&index);
		return r.failed;
	}
	index.first[buckets] = (uint32_t)n;
	if (words)
		memcpy(index.bits, r.rest.p, words * sizeof(uint64_t));
	*ret_index = index;
	return 0;
}

void trace_index_done(struct trace_index *index)
{
	free(index->first);
	free(index->bits);
	*index = (struct trace_index){0};
}

size_t trace_index_bytes(const struct trace_index *index)
{
	return index->first ? (((size_t)1 << index->bucket_bits) + 1) * sizeof(*index->first) +
				      (words_for(index->n, INDEX_REST_BITS + index->group_bits) +
				       1) * sizeof(*index->bits)
			    : 0;
}

uint32_t trace_index_next(const struct trace_index *index, uint64_t hash, uint32_t *at)
{
	uint64_t bucket = bucket_of(hash, index->bucket_bits),
		 rest = rest_of(hash, index->bucket_bits);
	unsigned width = INDEX_REST_BITS + index->group_bits;

	for (uint32_t i = MAX(*at, index->first[bucket]); i < index->first[bucket + 1]; i++) {
		uint64_t entry = get_bits(index->bits, (size_t)i * width, width);

		if (entry >> index->group_bits == rest) {
			*at = i + 1;
			return (uint32_t)(entry & ((1ULL << index->group_bits) - 1));
		}
	}
	return UINT32_MAX;
}
