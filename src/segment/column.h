/* segment/column.h - blocks of values of one kind, encoded small and decoded fast.
 *
 * A block is a string of bytes that describes itself: the first byte says how it is encoded, the
 * rest follows from that (docs/format/column.md).  It does not say how many
 * values it holds nor where it ends: whoever stores it knows both.  The kind of a block (integers,
 * codes, bytes …) is the caller's to remember too: decode with the function that matches.
 *
 * An encoder looks at the values once (smallest, largest, differences, runs, distinct ones), works
 * out what each form would cost, and writes the smallest; forms that need zstd are tried only where
 * a look at the bytes says that it will gain something.  A block is never larger than its values
 * plus COLUMN_OVERHEAD.
 *
 * Decoders take any bytes at all: the result is the values or -EBADMSG, never a read or write
 * outside, and memory bounded by the count and the limit they are called with.
 *
 * A codec holds the compressor's contexts and scratch memory: one per thread.  All functions return
 * 0, -ENOMEM, or when decoding -EBADMSG.  Encoders append to `out`; after an error its content
 * behind the old end means nothing.  Little-endian machines only, as the file is. */
#ifndef CAUSET_SEGMENT_COLUMN_H
#define CAUSET_SEGMENT_COLUMN_H

#include "base/buffer.h"

#define COLUMN_MAX_VALUES (1u << 24) /* of one block; -EINVAL above */
#define COLUMN_OVERHEAD   32         /* bytes above the plain size that a block may take */

struct column_codec;

/* NULL when out of memory. */
struct column_codec *column_codec_new(void);
/* Accepts NULL, returns NULL. */
struct column_codec *column_codec_free(struct column_codec *c);

static inline void column_codec_freep(struct column_codec **c)
{
	column_codec_free(*c);
}

/* Bytes of memory that reading has taken. */
size_t column_codec_bytes(const struct column_codec *c);

/* zstd's level for what is compressed from now on: 3 until this is called. */
void column_codec_level(struct column_codec *c, int level);

/* What was chosen for the blocks of a column the last time, so that the next few need not be
 * weighed against each other: values of a column stay what they are.  All zero at first. */
#define COLUMN_HINTS 6
struct column_hints {
	struct column_hint {
		uint8_t form, flags, left, blocks;
	} of[COLUMN_HINTS];
};

/* Whose blocks of integers and codes come from now on, one behind the other; NULL: nobody's.  A
 * hint that does not fit costs bytes, never values. */
void column_codec_hints(struct column_codec *c, struct column_hints *hints);

/* --- what blocks of a column have in common ---
 *
 * Numbers in contexts (column_encode_i64_in()) are coded by how frequent their sizes are in each
 * context.  Tables of that in every block would be a tenth of it, so they are learnt from the first
 * blocks of a column and kept once for all that follow.  Contexts then need names that mean the
 * same in all of them: names[context]. */

/* Models of one file, as they are written: behind the last block. */
struct column_models_out {
	struct buffer bytes;
	uint32_t n;
};

struct column_learner;
/* Adds its models to `out`, which outlives it.  NULL when out of memory. */
struct column_learner *column_learner_new(struct column_models_out *out);
struct column_learner *column_learner_free(struct column_learner *l);

/* Who learns from what is encoded in contexts from now on; NULL: nobody. */
void column_codec_learner(struct column_codec *c, struct column_learner *l, const uint32_t *names);

#define MODELS_MOST_BYTES (32u << 20)

/* The models of a file, to read its blocks.  The bytes must stay. */
struct column_models {
	struct column_model *rows;
	uint32_t n;
	uint64_t id; /* of their bytes: the same models have the same */
};

/* n models; `names`: how many contexts have names.  -EBADMSG, -ENOMEM. */
int column_models_read(struct slice bytes, uint32_t n, uint32_t names,
		       struct column_models *ret_models);
void column_models_done(struct column_models *m);

/* Which models blocks are decoded with from now on. */
void column_codec_models(struct column_codec *c, const struct column_models *m,
			 const uint32_t *names);

/* --- where decoding may begin ---
 *
 * Numbers in contexts can only be decoded one after the other, from the start of the block or from
 * a restart.  Restarts of the next block, ascending, by value: what is too close to the one before,
 * or too many, is left out.  Until it is called again with none. */
void column_codec_restarts(struct column_codec *c, const uint32_t *at, uint32_t n);

/* The first value whose context must be known to decode a value of such a block of n. */
size_t column_contexts_from(struct slice block, size_t n, size_t value);

/* --- integers: times, durations, distances, sizes ---
 *
 * Wraps around where it must, so any 64-bit value is welcome; i64 orders values as signed ones. */
int column_encode_u64(struct column_codec *c, const uint64_t *values, size_t n, struct buffer *out);
int column_encode_i64(struct column_codec *c, const int64_t *values, size_t n, struct buffer *out);
int column_encode_u32(struct column_codec *c, const uint32_t *values, size_t n, struct buffer *out);

/* The same where a few of many values will be asked for: a form that gives them alone is taken if
 * it is at most a quarter larger than the smallest. */
int column_encode_i64_apart(struct column_codec *c, const int64_t *values, size_t n,
			    struct buffer *out);

int column_decode_u64(struct column_codec *c, struct slice block, size_t n, uint64_t *out);
int column_decode_i64(struct column_codec *c, struct slice block, size_t n, int64_t *out);
/* -EBADMSG if a value does not fit. */
int column_decode_u32(struct column_codec *c, struct slice block, size_t n, uint32_t *out);

/* The same where something is known of each value that says how large it may be: contexts[i], below
 * context_n, is the operation or the shape of row i, and durations of one operation resemble each
 * other.  The contexts are not stored: the reader must have decoded them before and give the same.
 */
int column_encode_i64_in(struct column_codec *c, const int64_t *values, size_t n,
			 const uint32_t *contexts, uint32_t context_n, struct buffer *out);
/* -EBADMSG also if the block was written with another context_n; contexts below it are the caller's
 * promise. */
int column_decode_i64_in(struct column_codec *c, struct slice block, size_t n,
			 const uint32_t *contexts, uint32_t context_n, int64_t *out);

/* A part of the same: contexts are needed up to its end. */
int column_decode_i64_in_range(struct column_codec *c, struct slice block, size_t n,
			       const uint32_t *contexts, uint32_t context_n, size_t first,
			       size_t count, int64_t *out);

/* Values first … first + count - 1 of a block of n.  Bit-packed and plain blocks touch those alone;
 * others decode what they must. */
int column_decode_u64_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, uint64_t *out);
int column_decode_i64_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, int64_t *out);
int column_decode_u32_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, uint32_t *out);

/* Several parts of a block at once, ascending and apart, one behind the other into `out`: what must
 * be decoded from its start is decoded once. */
struct column_range {
	size_t first, count;
};
int column_decode_u64_ranges(struct column_codec *c, struct slice block, size_t n,
			     const uint32_t *contexts, uint32_t context_n,
			     const struct column_range *ranges, size_t range_n, uint64_t *out);

/* Bytes of a block, from … to - 1: `to` may be behind its end. */
struct column_need {
	size_t from, to;
};

/* Those that decoding a part of its integers or codes needs besides its first ones, which are in
 * `head`.  False: all of it, or it cannot be said. */
bool column_part_bytes(struct slice head, size_t n, struct column_range part,
		       struct column_need *ret_need);

/* A block of n values of a fixed width that has so many bytes is a byte and the values as they are.
 */
static inline size_t column_raw_bytes(size_t n, size_t width)
{
	return 1 + n * width;
}

/* Are a part of its integers or codes decoded without the others? */
bool column_gives_parts(struct slice block);

/* Must the contexts of a block's values be known? */
bool column_has_contexts(struct slice block);

/* --- codes: small dense numbers whose order repeats (shapes, dictionary codes) ---
 *
 * Also weighs zstd over the codes as bytes, 16 or 32 bit numbers, which finds patterns of codes. */
int column_encode_codes(struct column_codec *c, const uint32_t *codes, size_t n,
			struct buffer *out);
/* Every code is below `below`, or -EBADMSG: decoded codes may be used as indices. */
int column_decode_codes(struct column_codec *c, struct slice block, size_t n, uint32_t below,
			uint32_t *out);
int column_decode_codes_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			      size_t count, uint32_t below, uint32_t *out);

/* --- floating point: exact, every NaN kept --- */
int column_encode_f64(struct column_codec *c, const double *values, size_t n, struct buffer *out);
int column_decode_f64(struct column_codec *c, struct slice block, size_t n, double *out);
int column_decode_f64_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, double *out);

/* --- values of a fixed width, 1 … COLUMN_MAX_WIDTH bytes: ids, UUIDs --- */
#define COLUMN_MAX_WIDTH 64
int column_encode_fixed(struct column_codec *c, const void *values, size_t width, size_t n,
			struct buffer *out);
int column_decode_fixed(struct column_codec *c, struct slice block, size_t width, size_t n,
			void *out);
int column_decode_fixed_range(struct column_codec *c, struct slice block, size_t width, size_t n,
			      size_t first, size_t count, void *out);

int column_decode_fixed_ranges(struct column_codec *c, struct slice block, size_t width, size_t n,
			       const struct column_range *ranges, size_t range_n, void *out);

/* --- bits: bit i is words[i / 64] >> i % 64; bits behind n are ignored and decoded as 0 --- */
int column_encode_bits(struct column_codec *c, const uint64_t *words, size_t n, struct buffer *out);
int column_decode_bits(struct column_codec *c, struct slice block, size_t n, uint64_t *out);

/* --- byte strings, in order, of any length --- */
int column_encode_bytes(struct column_codec *c, const struct slice *values, size_t n,
			struct buffer *out);

/* The same for strings that lie one behind the other: string i is text[offset[i]] …
 * text[offset[i + 1]]; n + 1 offsets, never falling. */
int column_encode_text(struct column_codec *c, const char *text, const uint32_t *offset, size_t n,
		       struct buffer *out);

/* offset: room for n + 1.  The text is appended to `text`; offsets count from where it stood
 * before. At most `limit` bytes of text (-EBADMSG if the block holds more), found out before it is
 * unpacked. */
int column_decode_text(struct column_codec *c, struct slice block, size_t n, size_t limit,
		       uint32_t *offset, struct buffer *text);

/* How a block is encoded, for people: "for 17", "dict(for 3)", "zstd".  Always terminates `out`;
 * says
 * "?" where the bytes make no sense.  Nothing is decompressed. */
void column_describe(struct slice block, char *out, size_t size);

#endif
