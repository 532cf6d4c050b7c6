/* segment/segment_int.h - what the writer and the reader of segments share.  Format, with drawings:
 * docs/format/segment.md. */
#ifndef CAUSET_SEGMENT_SEGMENT_INT_H
#define CAUSET_SEGMENT_SEGMENT_INT_H

#include "base/long_hash.h"
#include "segment/column.h"
#include "segment/group.h"

#define SEGMENT_VERSION      1
#define SEGMENT_MAGIC        "causetSG"
#define SEGMENT_MAGIC_N      8
#define SEGMENT_HEADER_BYTES 16

/* Limits that a reader holds a file to, so that damaged counts cannot make it take memory. */
#define SEGMENT_MOST_GROUPS  (1u << 20)
#define SEGMENT_MOST_STRINGS ((1u << 28) - 16) /* keys share 32 bits with a type; 16 are ours */
#define SEGMENT_MOST_SECTION (1u << 31)
#define GROUP_MOST_ROWS      (1u << 16)
#define GROUP_MOST_BYTES     (1u << 30)
#define GROUP_MOST_TEXT      (1u << 29) /* of one column, decoded */

/* Tables behind the groups. */
enum segment_section {
	SECTION_INDEX,   /* trace id → group */
	SECTION_SPLIT,   /* ids of traces with pieces elsewhere */
	SECTION_ZONES,   /* group directory */
	SECTION_STRINGS, /* the dictionary */
	SECTION_SOURCES, /* owner, sender, threshold; resources, scopes and their attributes */
	SECTION_COLUMNS, /* level, key and type of each column */
	SECTION_SHAPES,
	SECTIONS
};

struct section_place {
	uint64_t offset, bytes;
	uint64_t checksum; /* XXH3-64 */
};

/* The last bytes of the file, as they are. */
struct segment_footer {
	uint64_t number;
	uint64_t rows, blocks, errors, pieces, split;
	int64_t start_min_ns, start_max_ns, duration_max_ns;
	int64_t received_min_ns, received_max_ns;
	uint64_t seq_first, seq_last;
	uint32_t groups, strings, sources, resources, scopes, attrs, nested, columns;
	uint32_t skeletons, fields, shapes, values;
	struct section_place sections[SECTIONS];
	char magic[SEGMENT_MAGIC_N];
	uint32_t version;
	uint32_t totals_bytes; /* of the table in front of the footer (segment/totals.h), or 0 */
	uint64_t checksum;     /* XXH3-64 of all before it */
};

_Static_assert(sizeof(struct segment_footer) == 13 * 8 + 12 * 4 + SECTIONS * 24 + 24,
	       "part of the format");

/* Added to the type of a column of texts of which every group has the codes: what is not in the
 * dictionary is not in it. */
#define COLUMN_BY_CODE 256u

/* Blocks of a group, in this order; columns of values come behind. */
enum group_block {
	BLOCK_PIECE_ROWS,     /* u32 a piece */
	BLOCK_PIECE_START,    /* i64 a piece: distance to the one before */
	BLOCK_PIECE_DURATION, /* u64 a piece */
	BLOCK_SHAPE,          /* codes, a row: which of the group's list of shapes */
	BLOCK_DURATION,       /* i64 by shape, a row with END_COLUMN */
	/* Hot blocks end here: a scan reads no further. */
	BLOCK_TIME,       /* i64 by shape, a row with TIME_COLUMN that begins something */
	BLOCK_TIME_POINT, /* i64 by shape, a row with TIME_COLUMN and ID1_SAME */
	BLOCK_PIECE_ID,   /* 16 bytes a piece */
	BLOCK_ID1,        /* 8 bytes a row with ID1_COLUMN */
	BLOCK_ID1_BACK,   /* u32 a row with ID1_BACK */
	BLOCK_PARENT,     /* i64 a row with ID2_ROW: distance in rows */
	BLOCK_ID2,        /* 8 bytes a row with ID2_COLUMN */
	BLOCK_UNIT,       /* u64 a row with a unit */
	BLOCK_SEQ,        /* u64 a row with a seq */
	BLOCK_LOOSE,      /* a loose entry: its column; see group_loose.c */
	BLOCK_UUID,       /* 16 bytes a UUID that stands in texts */
	BLOCK_MARKS,      /* values that rows have in the blocks before: row_marks.h */
	BLOCKS
};

/* In the file a block is called by its number, but for these: this + the number of a column, and
 * what no column can have. */
#define BLOCK_VALUES   16u
#define BLOCK_MARKS_ID ((1ULL << 32) + BLOCK_VALUES)
#define BLOCK_HOT_END  BLOCK_TIME

/* Bytes of a block under one checksum: a part of it is read and verified without the rest.  A
 * directory says so in its first byte, which is that of block 0 where a block has one for all of
 * it, as all had at first. */
#define BLOCK_CHUNK        8192u
#define DIRECTORY_BY_CHUNK 1

static inline size_t block_chunks(size_t bytes)
{
	return bytes / BLOCK_CHUNK + (bytes % BLOCK_CHUNK != 0);
}

/* Rows of a chunk of the list of loose entries; a reader takes any number that is not too small. */
#define LOOSE_ROWS        1024
#define LOOSE_CHUNK_LEAST 256
#define LOOSE_BY_LIST     1 /* stands before that number where rows say which list they have */

/* How a row's plain fields are kept: part of its shape. */
enum row_form {
	ID1_MASK = 3,
	ID1_COLUMN = 0,
	ID1_SAME = 1, /* that of the row before */
	ID1_ZERO = 2,
	ID1_BACK = 3, /* that of a row further back in the piece */

	ID2_MASK = 3 << 2,
	ID2_ZERO = 0 << 2,
	ID2_ROW = 1 << 2, /* id1 of another row of the piece */
	ID2_COLUMN = 2 << 2,

	TIME_MASK = 3 << 4,
	TIME_ZERO = 0 << 4,
	TIME_COLUMN = 1 << 4,
	TIME_START = 2 << 4, /* the piece's start */
	TIME_LAST = 3 << 4,  /* the row ends with the piece: that end minus its duration */

	END_MASK = 3 << 6,
	END_ZERO = 0 << 6,
	END_COLUMN = 1 << 6,
	END_WHOLE = 2 << 6, /* time plus the piece's duration */

	FORM_UNIT = 1 << 8,
	FORM_SEQ = 1 << 9,
	FORM_BITS = 10
};

/* A skeleton in words of 32 bits: these, then one for each field. */
enum skeleton_word {
	WORD_TYPE, /* type, format << 8, bits << 16 */
	WORD_KIND,
	WORD_STATUS,
	WORD_FLAGS,
	WORD_RESOURCE,
	WORD_SCOPE,
	WORD_FORM,
	WORD_FIELDS
};

/* A field: key << 4 | type. */
static inline uint32_t field_word(uint32_t key, uint8_t type)
{
	return key << 4 | type;
}

/* Is one of these fields of the empty key? */
static inline bool words_have_empty(const uint32_t *words, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= words[i] >> 4 == 0;
	return any;
}

/* Does the row's time stand in BLOCK_TIME_POINT? */
static inline bool form_is_point(uint32_t form)
{
	return (form & ID1_MASK) == ID1_SAME;
}

/* Does the row have a number in this block of times or durations? */
static inline bool form_has(uint32_t form, enum group_block block)
{
	if (block == BLOCK_DURATION)
		return (form & END_MASK) == END_COLUMN;
	return (form & TIME_MASK) == TIME_COLUMN &&
	       form_is_point(form) == (block == BLOCK_TIME_POINT);
}

/* Rows that have a status, as summary.h counts errors. */
static inline bool row_failed(uint8_t type, int32_t status)
{
	return (type == EVENT_SPAN || type == EVENT_END) && status == STATUS_ERROR;
}

static inline uint64_t segment_checksum(const void *bytes, size_t n)
{
	return long_hash_64(bytes, n);
}

/* A fuzzer never guesses a checksum: its build looks behind them. */
static inline bool segment_checksum_ok(uint64_t expected, uint64_t found)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#else
	return expected == found;
#endif
}

static inline enum row_level row_level(uint8_t type)
{
	return type == EVENT_POINT ? LEVEL_POINT : type == EVENT_LINK ? LEVEL_LINK : LEVEL_BLOCK;
}

/* Values kept as text: by dictionary code, or packed. */
static inline bool value_is_text(uint8_t type)
{
	return type == VALUE_STRING || type >= VALUE_BYTES;
}

static inline bool value_is_nested(uint8_t type)
{
	return type == VALUE_ARRAY || type == VALUE_KVLIST;
}

void segment_info_fill(const struct segment_footer *f, uint64_t bytes, struct segment_info *info);

#endif
