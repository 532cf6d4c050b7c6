/* segment/trace_index.c - from a trace id to the group where its piece begins.
 *
 *   section := u32 SLOTTED, block of counts (u32 a bucket), buckets (as many words of 64 bits as
 *              needed)
 *   bucket  := for each slot a bit 1 for each of its entries and a bit 0; entries
 *   entry   := rest of the hash (8 bits) << group bits | group
 *
 * Bits are packed lowest first.  A bucket of n entries takes n + 32 bits for its slots and n × (8 +
 * group bits) for its entries, so it is found without looking at those before it.  Without SLOTTED,
 * as files were written before, there are no slots, and an entry has all 13 bits of the rest. */
#include "segment/trace_index.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/block_io.h"

#define SLOTTED UINT32_MAX /* no block is so long */

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
	return width < 64 ? value & ((1ULL << width) - 1) : value;
}

static unsigned entry_bits(const struct trace_index *x)
{
	return INDEX_REST_BITS - x->slot_bits + x->group_bits;
}

/* Where a bucket begins, if so many entries stand before it. */
static size_t bucket_at(const struct trace_index *x, size_t bucket, size_t entries)
{
	if (x->slot_bits == 0)
		return entries * entry_bits(x);
	return entries * (entry_bits(x) + 1) + (bucket << x->slot_bits);
}

static size_t words_for(const struct trace_index *x)
{
	return (bucket_at(x, (size_t)1 << x->bucket_bits, x->n) + 63) / 64;
}

static int sort_items(struct radix_item *items, size_t n)
{
	_cleanup_(freep)
	struct radix_item *spare = malloc((n + 1) * sizeof(*spare));

	if (!spare)
		return -ENOMEM;
	radix_sort(items, spare, n);
	return 0;
}

/* A bucket of n entries, at a bit. */
static void put_bucket(const struct trace_index *x, const struct radix_item *items, size_t n,
		       size_t at, uint64_t *words)
{
	unsigned low = INDEX_REST_BITS - x->slot_bits, width = entry_bits(x);
	size_t slots = at, entries = at + n + ((size_t)1 << x->slot_bits);

	for (size_t i = 0; i < n; i++) {
		uint64_t rest = rest_of(items[i].key, x->bucket_bits);

		/* Behind a 0 for each slot before it and a 1 for each entry. */
		put_bits(words, slots + i + (rest >> low), 1, 1);
		put_bits(words, entries + i * width,
			 (rest & ((1u << low) - 1)) << x->group_bits | items[i].value, width);
	}
}

int trace_index_encode(struct column_codec *codec, struct radix_item *items, size_t n,
		       uint32_t groups, struct buffer *out)
{
	struct trace_index x = {.n = n,
				.bucket_bits = bucket_bits(n),
				.group_bits = bits_for(groups),
				.slot_bits = INDEX_SLOT_BITS};
	size_t buckets = (size_t)1 << x.bucket_bits;
	_cleanup_(freep)
	uint32_t *counts = calloc(buckets, sizeof(*counts));
	_cleanup_(freep)
	uint64_t *words = calloc(words_for(&x) + 1, sizeof(*words));
	struct block_writer w = {.codec = codec, .out = out};
	const uint32_t slotted = SLOTTED;
	int r;

	if (!counts || !words)
		return -ENOMEM;
	r = sort_items(items, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		counts[bucket_of(items[i].key, x.bucket_bits)]++;
	for (size_t b = 0, i = 0; b < buckets; i += counts[b++])
		put_bucket(&x, items + i, counts[b], bucket_at(&x, b, i), words);
	buffer_append(out, &slotted, sizeof(slotted));
	block_put_u32(&w, counts, buckets);
	buffer_append(out, words, words_for(&x) * sizeof(*words));
	return w.failed ? w.failed : out->failed ? -ENOMEM : 0;
}

int trace_index_decode(struct column_codec *codec, struct slice bytes, size_t n, uint32_t groups,
		       struct trace_index *ret_index)
{
	struct trace_index index = {
		.n = n, .bucket_bits = bucket_bits(n), .group_bits = bits_for(groups)};
	struct block_reader r = {.codec = codec, .rest = bytes};
	size_t buckets = (size_t)1 << index.bucket_bits, words;
	uint32_t slotted = 0;
	uint64_t sum = 0;

	if (bytes.n >= sizeof(slotted))
		memcpy(&slotted, bytes.p, sizeof(slotted));
	if (slotted == SLOTTED) {
		index.slot_bits = INDEX_SLOT_BITS;
		r.rest = slice_of(bytes.p + sizeof(slotted), bytes.n - sizeof(slotted));
	}
	words = words_for(&index);
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
				      (words_for(index) + 1) * sizeof(*index->bits)
			    : 0;
}

/* Entries of a bucket that are in the slot, by their places in the bucket; `n`: all it has. */
struct part {
	uint32_t first, end;
};

/* Where the bit 0 number k stands among so many bits from a place on; `bits` when there is none. */
static size_t zero_at(const uint64_t *words, size_t from, size_t bits, unsigned k)
{
	for (size_t at = 0; at < bits; at += 64) {
		uint64_t zeros = ~get_bits(words, from + at, 64);
		unsigned n = (unsigned)__builtin_popcountll(zeros);

		if (n <= k) {
			k -= n;
			continue;
		}
		while (k-- > 0)
			zeros &= zeros - 1;
		return MIN(at + (size_t)__builtin_ctzll(zeros), bits);
	}
	return bits;
}

static struct part slot_part(const struct trace_index *x, size_t at, uint32_t n, unsigned slot)
{
	size_t bits = n + ((size_t)1 << x->slot_bits), first, end;

	if (x->slot_bits == 0)
		return (struct part){0, n};
	/* Between the 0 of the slot before and its own, less the zeros before them. */
	first = slot ? zero_at(x->bits, at, bits, slot - 1) - (slot - 1) : 0;
	end = zero_at(x->bits, at, bits, slot) - slot;
	/* Damaged bits may say anything: nothing is looked for behind the n entries. */
	return (struct part){(uint32_t)MIN(first, (size_t)n), (uint32_t)MIN(end, (size_t)n)};
}

uint32_t trace_index_next(const struct trace_index *index, uint64_t hash, uint32_t *at)
{
	uint64_t bucket = bucket_of(hash, index->bucket_bits),
		 rest = rest_of(hash, index->bucket_bits);
	uint32_t first = index->first[bucket], n = index->first[bucket + 1] - first;
	unsigned width = entry_bits(index), low = INDEX_REST_BITS - index->slot_bits;
	size_t from = bucket_at(index, bucket, first);
	struct part p = slot_part(index, from, n, (unsigned)(rest >> low));

	if (index->slot_bits)
		from += n + ((size_t)1 << index->slot_bits);
	rest &= (1u << low) - 1;
	for (uint32_t i = MAX(*at, first + p.first); i < first + p.end; i++) {
		uint64_t entry = get_bits(index->bits, from + (size_t)(i - first) * width, width);

		if (entry >> index->group_bits == rest) {
			*at = i + 1;
			return (uint32_t)(entry & ((1ULL << index->group_bits) - 1));
		}
	}
	return UINT32_MAX;
}
