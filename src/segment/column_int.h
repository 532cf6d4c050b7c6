/* segment/column_int.h - what the files of the column encodings share.
 *
 * Forms of a block, by its first byte.  `block` is a block of integers or codes inside another: it
 * may itself only be one of the simple forms (CONST, FOR, DELTA, LOG, LZ); a SCALED one may hold
 * any but another SCALED. `stream` is a run of bytes whose number is known: see column_stream.c.
 *
 *   CONST   varint value: n times the same
 *   FOR     u8 width, varint base, bits: base + bits
 *   DELTA   u8 width, varint first, varint least, bits: n - 1 differences, each least + bits
 *   RUNS    varint runs, varint size, block values, block lengths
 *   DICT    varint distinct, varint size, block values, block codes
 *   PLANES  u8 bytes, varint base, stream per byte: lowest bytes of all values first
 *   LOG     stream classes, bits: sign and magnitude, see column_log.c
 *   LOGC    classes by context, bits: see column_classes.c
 *   SCALED  varint factor, block: factor * value
 *   LZ      u8 bytes, stream: codes of 1, 2 or 4 bytes each
 *   RAW     bytes: fixed width
 *   COLUMNS stream per byte of the width: fixed width, byte by byte
 *   EMPTY, FULL   bits, all 0 or all 1
 *   BITMAP  stream
 *   ONES    varint count, block positions: of the bits that are set
 *   ZEROS   the same of those that are not
 *   TEXT    varint size, block lengths, stream
 *   DECIMAL u8 digits, block: doubles, value / 10^digits
 *   DOUBLE  block: doubles, their bits
 *   LOGM    varint model, varint, classes that it does not have, classes by context, bits
 *   LOGC_AT, LOGM_AT   restarts (column_restart.c), then as LOGC or LOGM
 *
 * A block of no values is empty. */
#ifndef CAUSET_SEGMENT_COLUMN_INT_H
#define CAUSET_SEGMENT_COLUMN_INT_H

#include <zstd.h>

#include "core/varint.h"
#include "segment/column.h"
#include "segment/column_model.h"

enum column_form {
	COLUMN_CONST = 1,
	COLUMN_FOR,
	COLUMN_DELTA,
	COLUMN_RUNS,
	COLUMN_DICT,
	COLUMN_PLANES,
	COLUMN_LOG,
	COLUMN_LOGC,
	COLUMN_SCALED,
	COLUMN_LZ,
	COLUMN_RAW,
	COLUMN_COLUMNS,
	COLUMN_EMPTY,
	COLUMN_FULL,
	COLUMN_BITMAP,
	COLUMN_ONES,
	COLUMN_ZEROS,
	COLUMN_TEXT,
	COLUMN_DECIMAL,
	COLUMN_DOUBLE,
	COLUMN_LOGM,
	COLUMN_LOGC_AT, /* LOGC and LOGM with restarts in front */
	COLUMN_LOGM_AT,
	COLUMN_FORMS
};

/* Scratch memory by purpose: who uses two at once must name two. */
enum column_slot {
	SLOT_WIDE,      /* values of the caller as 64-bit numbers */
	SLOT_SCALED,    /* values divided */
	SLOT_PARTS,     /* run values, dictionary values, lengths */
	SLOT_CODES,     /* run lengths, dictionary codes */
	SLOT_TABLE,     /* the hash table of a dictionary */
	SLOT_CLASSES,   /* logarithms, codes as bytes, planes that are read */
	SLOT_PLANES,    /* planes that are written */
	SLOT_MODES,     /* of contexts */
	SLOT_PACKED,    /* what zstd gave */
	SLOT_LENGTHS,   /* of strings */
	SLOT_TEXT,      /* strings brought together */
	SLOT_FLOAT,     /* doubles as integers */
	SLOT_POSITIONS, /* of bits */
	SLOT_WHOLE,     /* a block of which only a part is asked for */
	SLOT_STEPS,     /* differences */
	SLOT_DECODED,   /* 64-bit values on their way to 32 bits */
	SLOT_BITS,      /* of numbers in LOG form */
	SLOTS
};

/* What the class of a number in LOG form says of it. */
struct class_facts {
	uint64_t mask; /* of the bits below the highest */
	uint64_t top;  /* the highest */
	uint64_t sign; /* all ones below zero */
	uint32_t bits; /* below the highest */
	uint32_t bad;  /* 1: no number has this class */
};

#define COLUMN_SCALE_BITS 10
#define COLUMN_SCALE      (1u << COLUMN_SCALE_BITS)
#define COLUMN_SYMBOLS    256

struct column_share {
	uint16_t frequency,
		before; /* before: the sum of those of smaller symbols, as signed ones */
};

/* Frequencies, ready to decode with. */
struct column_table {
	uint8_t symbol[COLUMN_SCALE]; /* that each slot belongs to */
	struct column_share share[COLUMN_SYMBOLS];
};

/* Tables of a model, ready to decode with. */
#define MODEL_SLOTS 3 /* models that are kept ready: a group has so many blocks by shape */
struct model_slots {
	uint64_t id; /* whose models they are */
	uint32_t model;
	uint32_t tables;
	uint8_t place[MODEL_TABLES]; /* + 1, of those that are there */
	struct column_table *slots;
	size_t capacity;
};

/* Where decoding may begin: this many values, words, escapes and bits are before. */
#define COLUMN_STATES        4
#define COLUMN_RESTARTS      32   /* of a block */
#define COLUMN_RESTART_LEAST 1500 /* values between two */
struct column_restart {
	uint32_t at; /* a multiple of COLUMN_STATES */
	uint32_t words, escapes;
	uint64_t bits;
	uint32_t states[COLUMN_STATES];
};

/* Of a block that is read; the first one is its start. */
struct column_restarts {
	uint32_t n;
	struct column_restart rows[COLUMN_RESTARTS + 1];
};

struct column_codec {
	struct class_facts classes[256];
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
	struct buffer scratch[SLOTS];
	int level;
	struct column_hints *hints;
	size_t hint_n; /* blocks that have had theirs */
	struct column_learner *learner;
	const struct column_models *models;
	struct model_slots model_slots[MODEL_SLOTS];
	const uint32_t *names;                           /* of contexts, for these two */
	struct column_restart restarts[COLUMN_RESTARTS]; /* of the next block by context */
	uint32_t restart_n;
};

/* `size` bytes that live until the slot is asked for again, or NULL. */
void *column_scratch(struct column_codec *c, enum column_slot slot, size_t size);

/* --- reading a block --- */

struct column_reader {
	const uint8_t *p, *end;
};

static inline struct column_reader column_reader_of(struct slice block)
{
	const uint8_t *p = (const uint8_t *)block.p;

	return (struct column_reader){p, p ? p + block.n : p};
}

static inline size_t column_left(const struct column_reader *r)
{
	return (size_t)(r->end - r->p);
}

static inline bool column_read_byte(struct column_reader *r, uint8_t *ret_value)
{
	if (r->p >= r->end)
		return false;
	*ret_value = *r->p++;
	return true;
}

static inline bool column_read_varint(struct column_reader *r, uint64_t *ret_value)
{
	const uint8_t *p = varint_decode(r->p, r->end, ret_value);

	if (!p)
		return false;
	r->p = p;
	return true;
}

/* Cuts off a block of `size` bytes. */
bool column_read_block(struct column_reader *r, uint64_t size, struct column_reader *ret_block);

/* --- writing --- */

void column_write_varint(struct buffer *out, uint64_t value);

/* A block with its size before it: remember the place, write the block, close. */
size_t column_open_block(struct buffer *out);
void column_close_block(struct buffer *out, size_t place);

/* --- streams of bytes (column_stream.c) --- */

/* Bytes whose number the reader will know: all the same, as they are, or compressed. */
int column_write_stream(struct column_codec *c, const uint8_t *bytes, size_t n, struct buffer *out);

/* The n bytes, in `room` or where they lie in the block; NULL if the block is bad. */
const uint8_t *column_read_stream(struct column_codec *c, struct column_reader *r, size_t n,
				  uint8_t *room);

/* Do these bytes look as if an entropy coder or zstd would make them smaller?  A guess on a sample.
 */
bool column_looks_packable(const uint8_t *bytes, size_t n);

/* --- integers --- */

enum column_integer_flag {
	COLUMN_SIGNED = 1, /* order of the values */
	COLUMN_CODES = 2,  /* weigh LZ */
	COLUMN_BITS64 = 4, /* bits of doubles: weigh PLANES in any case */
	COLUMN_APART = 8,  /* prefer FOR, which gives any value alone */
};

/* Are numbers cut into classes, and these coded by context?  By what was learnt? */
static inline bool form_by_context(uint8_t form)
{
	return form == COLUMN_LOGC || form == COLUMN_LOGM || form == COLUMN_LOGC_AT ||
	       form == COLUMN_LOGM_AT;
}

static inline bool form_is_learnt(uint8_t form)
{
	return form == COLUMN_LOGM || form == COLUMN_LOGM_AT;
}

/* How deep inside another block a block stands, and so which forms it may have. */
enum column_depth { DEPTH_TOP, DEPTH_SCALED, DEPTH_PART };

/* Something known about each value, by which its size may be guessed; NULL for nothing. */
struct column_context {
	const uint32_t *of; /* per value, below count */
	uint32_t count;
};

/* Would the next block, of n codes, be packed as bits because the last was?  Then it may be written
 * so, and the hint was used. */
bool column_hint_packs(const struct column_codec *c, size_t n);
void column_hint_used(struct column_codec *c);

int column_integers_encode(struct column_codec *c, const uint64_t *values, size_t n, unsigned flags,
			   enum column_depth depth, const struct column_context *context,
			   struct buffer *out);

/* Values first … first + count - 1 of n. */
int column_integers_decode(struct column_codec *c, struct column_reader r, size_t n, size_t first,
			   size_t count, enum column_depth depth,
			   const struct column_context *context, uint64_t *out);

/* --- one file each --- */

/* What column_log_write() needs, without what it would take.  False: LOG will not do. */
bool column_log_prepare(struct column_codec *c, const uint64_t *values, size_t n,
			const struct column_context *context);
/* What the LOG form would take, in bits; its classes and bits stay in SLOT_CLASSES and SLOT_BITS
 * for column_log_write(). */
double column_log_cost(struct column_codec *c, const uint64_t *values, size_t n,
		       const struct column_context *context);
/* The same of classes by context: what they would take, in bits; how to write them, after that; and
 * how to read them. */
double column_classes_cost(struct column_codec *c, const uint8_t *classes, size_t n,
			   const struct column_context *context);
int column_classes_write(struct column_codec *c, const uint8_t *classes, size_t n,
			 const struct column_context *context, struct buffer *out);
/* --- symbols of a byte by their frequencies: rANS (column_classes.c) --- */

/* Counts of n symbols, in their signed order, to frequencies that sum to COLUMN_SCALE, none of a
 * symbol that occurs 0; returns the bits of all of them, with the table. */
double column_share_out(const uint32_t *counts, struct column_share *shares, const uint8_t *symbols,
			size_t n);
void column_table_write(const struct column_share *shares, struct buffer *out);
/* NULL to pass over the table. */
int column_table_read(struct column_reader *r, struct column_table *ret_table);

/* Symbol i is coded by table numbers[contexts[i]], in which it has a frequency. */
int column_symbols_write(struct column_codec *c,
			 const struct column_share (*shares)[COLUMN_SYMBOLS],
			 const uint8_t *numbers, const uint8_t *symbols, size_t n,
			 const uint32_t *contexts, struct buffer *out);

/* Symbols of a block, ready to be decoded from any restart. */
struct column_symbols {
	const struct column_table *tables;
	uint8_t *numbers;             /* of contexts */
	struct column_reader words;   /* with the states before them */
	struct column_reader escapes; /* LOGM */
	const struct column_model *model;
	struct model_slots *slots;
	bool all_numbers; /* every context has its */
};

/* Takes what stands in front of the bits. */
int column_symbols_open(struct column_reader *r, size_t n, struct column_symbols *s);

/* Symbols from restart i on, up to `end`, which is not behind the next restart: into out[value].
 * At the next restart, and at the end of the block, all must be as it says. */
int column_symbols_read(const struct column_symbols *s, const struct column_restarts *restarts,
			uint32_t i, size_t n, size_t end, const uint32_t *contexts, uint8_t *out);

/* --- where decoding may begin (column_restart.c) --- */

/* Bits before each, once the classes of the block are known. */
void column_restarts_bits(struct column_codec *c, const uint8_t *classes, size_t n);
/* Puts them at a place in `out`, in front of what was written behind it. */
void column_restarts_write(const struct column_codec *c, size_t place, struct buffer *out);
int column_restarts_read(struct column_reader *r, enum column_form form, size_t n,
			 struct column_restarts *ret_restarts);
/* The last one that is not behind a value. */
uint32_t column_restarts_find(const struct column_restarts *r, size_t value);

/* --- classes by what was learnt from earlier blocks (column_model.c, column_learn.c) --- */

/* No number has this class: it says that the class is not in the table, and stands apart. */
#define COLUMN_ESCAPE 128

/* Bits that n classes would take; negative where nothing is learnt yet, or it no longer fits. */
double column_learnt_cost(const struct column_codec *c, const uint8_t *classes, size_t n,
			  const struct column_context *context);
int column_learnt_write(struct column_codec *c, const uint8_t *classes, size_t n,
			const struct column_context *context, struct buffer *out);
int column_learnt_open(struct column_codec *c, struct column_reader *r, size_t n,
		       const struct column_context *context, struct column_symbols *ret_symbols);
/* Makes sure of the tables of values first … end - 1. */
int column_learnt_tables(const struct column_codec *c, struct column_symbols *s, size_t first,
			 size_t end, const struct column_context *context);
/* Classes that the tables do not have, in the place of COLUMN_ESCAPE. */
int column_learnt_escapes(const struct column_symbols *s, const struct column_restarts *restarts,
			  uint32_t i, size_t n, size_t end, uint8_t *classes);

int column_classes_open(struct column_codec *c, struct column_reader *r, size_t n,
			const struct column_context *context, struct column_symbols *ret_symbols);

void column_log_init(struct column_codec *c);
int column_log_write(struct column_codec *c, size_t n, const struct column_context *context,
		     struct buffer *out);
/* Values first … first + count - 1; context->of is needed up to there only. */
int column_log_ranges(struct column_codec *c, struct column_reader *r, size_t n,
		      const struct column_range *ranges, size_t range_n,
		      const struct column_context *context, uint64_t *out);
int column_log_read(struct column_codec *c, struct column_reader *r, size_t n, size_t first,
		    size_t count, const struct column_context *context, uint64_t *out);

/* 1 if the DICT form was written, 0 if it does not pay (it would take more than `most` bits). */
int column_dict_try(struct column_codec *c, const uint64_t *values, size_t n, double most,
		    struct buffer *out);
int column_dict_read(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out);

/* `range`: the largest of values[i] - base.  Ends before all of it is written when that is `most`
 * bytes or more. */
int column_planes_write(struct column_codec *c, const uint64_t *values, size_t n, uint64_t base,
			uint64_t range, size_t most, struct buffer *out);
int column_planes_read(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out);

/* zstd over codes that are below 2^(8 * bytes). */
int column_lz_write(struct column_codec *c, const uint64_t *values, size_t n, unsigned bytes,
		    struct buffer *out);
int column_lz_read(struct column_codec *c, struct column_reader *r, size_t n, uint32_t *out);

#endif
