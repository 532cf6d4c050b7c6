/* segment/group_int.h - an open group of a segment. */
#ifndef CAUSET_SEGMENT_GROUP_INT_H
#define CAUSET_SEGMENT_GROUP_INT_H

#include "segment/row_marks.h"
#include "segment/segment_reader_int.h"
#include "segment/text_column.h"

struct block_place {
	uint32_t at, bytes; /* behind the directory */
	uint32_t n;         /* values */
	uint32_t sums;      /* where its checksums stand in the group: one a chunk */
	uint64_t chunks;    /* that are read and right, if there are no more than bits */
	bool verified;      /* all of them */
};

/* A column of values, decoded when first asked for. */
struct loaded_column {
	uint32_t column;
	struct block_place place;
	bool decoded, has_rows, by_code;
	bool counted;    /* it has as many values as the rows say */
	uint32_t window; /* decoded for this window of rows only, … */
	uint32_t base;   /* … from this value on; 0 where all of it is decoded */
	struct group_column view;
	uint64_t *numbers;
	size_t number_capacity;
	struct text_column text;
	uint32_t *rows;
	size_t row_capacity;
};

/* The list of LOOSE attributes, as far as it was looked at. */
struct loose_list {
	uint32_t rows; /* of a chunk; 0: it is not cut */
	uint32_t chunk_n;
	uint32_t *columns; /* that it names, ascending */
	uint32_t column_n;
	/* [chunk × column_n + i]: values of columns[i], LOOSE or not, of the rows before the chunk
	 */
	uint32_t *before;
	struct slice *chunks;
	size_t column_capacity, before_capacity, chunk_capacity;
	/* Rows say which list of attributes they have: list i is list_codes[list_first[i]] …
	 * list_first[i + 1], as `codes`.  0: each attribute says its column. */
	uint32_t list_n;
	uint32_t *list_first, *list_codes;
	uint32_t *row_lists;   /* of rows that have one: those of a chunk from its first row on */
	uint32_t *listed;      /* of each chunk: how many these are, and one more; 0: not decoded */
	uint32_t *list_counts; /* of each list: how often it names column `counted` */
	uint32_t counted;      /* as in `codes`; UINT32_MAX: none */
	size_t list_capacity, list_code_capacity, row_list_capacity, listed_capacity,
		list_count_capacity;

	/* One chunk, or some, decoded: their attributes, as indices into `columns`, or as columns
	 * where the list is not cut. */
	uint32_t at, at_n; /* the first of them, and how many; UINT32_MAX: none */
	uint32_t *codes;
	size_t code_n, code_capacity;
	uint32_t *places; /* of one column's attributes in it */
	size_t place_capacity;
};

/* Values of blocks from which links and times of pieces are made: group_piecewise.c. */
struct raw_links {
	uint64_t *values; /* all of them */
	size_t capacity;
	uint64_t *id1, *backs, *id2, *times, *points, *durations;
	int64_t *distances;
};

#define FORM_MARKS 512 /* the eight bits of a form that count, and if a block's name is a value */

struct segment_group {
	struct segment *segment;
	const struct segment_tables *tables;
	struct column_codec *codec;
	uint32_t number;
	bool kept; /* it goes to the segment's cache when it is closed */
	const struct group_zone *zone;
	const struct zone_place *zone_place;
	char error[160];

	char *bytes; /* the group, from its first byte on */
	size_t byte_n, byte_capacity;
	size_t chunk;                     /* bytes of a block under one checksum */
	struct block_place fixed[BLOCKS]; /* n is 0 where there is none */
	struct loaded_column *columns;    /* by number */
	size_t column_n, column_capacity, column_used;

	/* Decoded when first asked for: a bit of `have` for each.  Room for zone->rows or more. */
	uint32_t have;
	uint64_t code_parts; /* of `codes`, while not all of them are decoded */
	size_t row_capacity;
	uint32_t marks[MARKS_MOST + 1][MARK_LANES]; /* values of the rows before each mark */
	uint32_t counted_row; /* how much the rows before this one have is known: `counted` */
	uint32_t counted[MARK_LANES];
	struct mark_sum form_marks[FORM_MARKS]; /* what a row of a form adds; of any group */
	uint32_t *codes;                        /* local shapes */
	uint32_t *counts;                       /* rows of each local shape */
	uint16_t *forms;                        /* of each local shape, with reader_form */
	uint32_t *shapes;
	uint64_t *durations, *times, *id1, *id2, *units, *seqs;
	int32_t *parents; /* rows of the group, or -1 */
	int32_t *child;   /* while reading */
	struct group_piece *pieces;
	int64_t *piece_start, *piece_duration;
	uint32_t *piece_first;
	uint32_t *loose;
	size_t loose_n, loose_capacity;
	struct loose_list list;
	uint32_t *found; /* by group_find_text() */
	size_t found_capacity;
	uint32_t windows; /* how often rows were asked for */
	uint32_t window;  /* which of these it is: columns decoded for it have its number */
	uint8_t (*uuids)[UUID_BYTES];
	size_t uuid_capacity;
	uint64_t *scratch; /* two a row */
	struct raw_links raw;
	bool no_units, no_seqs; /* those arrays are all zero, for any group */

	/* Values that each column must have, from the shapes of all rows: all, and those of VAR
	 * entries alone. */
	uint64_t *expected, *vars;
	size_t expected_capacity, var_capacity;
};

#define CODE_PART       1024u /* rows; a group has at most 64 parts */
#define CODE_PARTS_MOST 8     /* decoded one by one */
_Static_assert(GROUP_MOST_ROWS / CODE_PART <= 64, "a bit for each part");

enum group_have {
	HAVE_CODES = 1,
	HAVE_SHAPES = 2,
	HAVE_DURATIONS = 4,
	HAVE_TIMES = 8,
	HAVE_IDS = 16,
	HAVE_PIECES = 64,
	HAVE_PIECE_TIMES = 128,
	HAVE_LOOSE = 256,
	HAVE_UUIDS = 512,
	HAVE_EXPECTED = 1024,
	HAVE_UNITS = 2048,
	HAVE_VARS = 4096,
	HAVE_LIST = 8192,
	HAVE_PIECE_ERRORS = 16384,
	HAVE_PIECE_FIRSTS = 1 << 15,
	HAVE_PIECE_STARTS = 1 << 16,
	HAVE_MARKS = 1 << 17,
	HAVE_FORMS = 1 << 18,
	HAVE_RAW_LINKS = 1 << 19,
	HAVE_RAW_CLOCKS = 1 << 20,
};

/* What is read when a group is opened; the rest is read block by block. */
enum group_reading {
	READ_DIRECTORY,
	READ_HOT, /* what scans need */
	READ_IDS, /* and, as a rule, the ids of traces: to see whether one is there */
	READ_WHOLE,
};

int group_open_int(struct segment *s, uint32_t number, enum group_reading reading,
		   struct segment_group **ret_group);

int group_reopen_int(struct segment_group *g, uint32_t number, enum group_reading reading);

/* Frees its memory; the segment is not touched. */
struct segment_group *group_free(struct segment_group *g);

/* Bytes of memory that it holds, about. */
size_t group_bytes(const struct segment_group *g);

/* Takes the directory apart, whose bytes are there. */
int group_parse_directory(struct segment_group *g);

/* Everything up to byte n of the group. */
int group_read_to(struct segment_group *g, size_t n);

/* Says which block is wrong; returns -EBADMSG. */
int group_bad(struct segment_group *g, const char *what);

/* The bytes of a block, verified.  -EBADMSG when it has not n values. */
int group_block(struct segment_group *g, enum group_block block, size_t n, struct slice *ret_block);
int group_block_at(struct segment_group *g, struct block_place *place, const char *what,
		   struct slice *ret_block);

/* The bytes of a block, of which from … to - 1 are there and verified; of the others it is not
 * known. */
int group_block_part(struct segment_group *g, enum group_block block, size_t from, size_t to,
		     struct slice *ret_block);

/* A block of integers of which the values of n ranges are to be decoded, and nothing else. */
int group_block_ranges(struct segment_group *g, enum group_block block,
		       const struct column_range *ranges, size_t n, struct slice *ret_block);

/* Values of a fixed width of n ranges, one behind the other. */
int group_fixed_ranges(struct segment_group *g, enum group_block block, size_t width,
		       const struct column_range *ranges, size_t n, void *out);

/* Reads what is not there yet of the group at once: for those who will need most of it. */
int group_read_whole(struct segment_group *g);

/* What a decoder said, with the block's name where it is damage. */
int group_decoded(struct segment_group *g, enum group_block block, int r);

/* Steps: each makes sure of what it needs. */
int group_need_codes(struct segment_group *g);
/* `codes` of rows first … end - 1, at least. */
int group_need_codes_part(struct segment_group *g, uint32_t first, uint32_t end);
/* Each with what those before it give: first rows of pieces, starts, durations. */
int group_need_piece_firsts(struct segment_group *g);
int group_need_piece_starts(struct segment_group *g);
int group_need_piece_times(struct segment_group *g);
/* `forms` of the group's shapes. */
void group_need_forms(struct segment_group *g);
void group_marks_init(struct segment_group *g);
int group_need_marks(struct segment_group *g);
/* Adds what rows first … end - 1 have in the lanes of marks. */
int group_marked_rows(struct segment_group *g, uint32_t first, uint32_t end,
		      uint32_t counts[MARK_LANES]);
/* What the rows before a row have. */
int group_count_before(struct segment_group *g, uint32_t row, uint32_t counts[MARK_LANES]);
/* Are marks what rows say? */
int group_check_marks(struct segment_group *g);
int group_need_vars(struct segment_group *g);
/* The piece of a trace, from piece `from` on: 1 and its index, 0, negative errno. */
int group_find_piece(struct segment_group *g, struct trace_id id, uint32_t from,
		     uint32_t *ret_piece);
int group_need_expected(struct segment_group *g);
int group_need_loose(struct segment_group *g);
/* The list's chunks and counts, but none of its attributes. */
int group_need_list(struct segment_group *g);
/* The same, and that it has as many as the rows say. */
int group_check_list(struct segment_group *g);
/* A chunk of the list: list.codes and code_n. */
int group_need_chunk(struct segment_group *g, uint32_t chunk);
/* The same of neighbouring chunks, one behind the other; more than one only where it is cut. */
int group_need_chunks(struct segment_group *g, uint32_t chunk, uint32_t n);
/* Where rows say their list: those of a chunk's rows that have one, and how many these are. */
int group_need_row_lists(struct segment_group *g, uint32_t chunk, const uint32_t **ret_lists,
			 uint32_t *ret_n);
/* How often each list names a column, as in list.codes. */
int group_count_in_lists(struct segment_group *g, uint32_t column, const uint32_t **ret_counts);

/* The column of an attribute of the chunk. */
static inline uint32_t loose_column(const struct loose_list *l, uint32_t code)
{
	return l->rows ? l->columns[code] : code;
}

/* Where a column stands among those that the list counts; false: it does not. */
static inline bool loose_list_find(const struct loose_list *l, uint32_t column, uint32_t *ret_index)
{
	uint32_t low = 0, high = l->column_n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (l->columns[mid] < column)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_index = low;
	return low < l->column_n && l->columns[low] == column;
}

void loose_list_done(struct loose_list *l);
int group_need_ids(struct segment_group *g); /* id1, id2, parents */
int group_need_times(struct segment_group *g);
int group_need_durations(struct segment_group *g);
int group_need_units(struct segment_group *g); /* and sequence numbers */
int group_need_column(struct segment_group *g, struct loaded_column *c);
/* Values first … first + n - 1 of a column alone, for the window at hand. */
int group_need_column_part(struct segment_group *g, struct loaded_column *c, uint32_t first,
			   uint32_t n);
/* The same where nobody asks for the rows of its values: how many there must be is not verified.
 */
int group_need_values(struct segment_group *g, struct loaded_column *c);
int group_need_uuids(struct segment_group *g);
/* The column, or NULL. */
struct loaded_column *group_column_of(struct segment_group *g, enum row_level level, uint32_t key,
				      enum value_type type);
/* Makes up c->rows. */
int group_need_column_rows(struct segment_group *g, struct loaded_column *c);
struct loaded_column *group_find_column(struct segment_group *g, uint32_t column);

/* The form of a row, once group_need_codes() was there. */
static inline uint32_t group_form(const struct segment_group *g, uint32_t row)
{
	return g->forms[g->codes[row]];
}

static inline const struct shape *group_shape(const struct segment_group *g, uint32_t local)
{
	return &g->tables->shape_rows[g->zone->shapes[local]];
}

#endif
