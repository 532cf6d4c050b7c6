/* segment/group.h - access to the rows of a segment group by group, column by column: for searches
 * and scans.
 *
 * A search works in this order: segment_info() and the zone map of each group rule groups out;
 * predicates are evaluated once per shape (shapes), giving a set of shape codes; the group's column
 * of shape codes is scanned for them; only what is left touches other columns.
 *
 * Shapes.  A shape is everything rows repeat.  An entry of class FIXED has its value in the shape;
 * of class VAR the value stands in the group's column for (level, key, type).  LOOSE is a place for
 * an attribute whose key changes from row to row: key and type are listed by row, the value stands
 * in the same columns.  A column has one value for each such entry of its rows, in row order and,
 * if a row has several, in entry order; group_column.rows says which row.
 *
 * A group belongs to one thread.  All functions return 0 or a negative errno: -EBADMSG for damage
 * (group_error() names the block), -ENOMEM, or what reading said.  Pointers live as long as the
 * group. */
#ifndef CAUSET_SEGMENT_GROUP_H
#define CAUSET_SEGMENT_GROUP_H

#include "segment/segment.h"

/* --- tables of the segment: any thread; loaded on first use; kept while pinned --- */

/* Where an attribute stands: columns are per level. */
enum row_level { LEVEL_BLOCK, LEVEL_POINT, LEVEL_LINK, LEVELS };

enum entry_class { ENTRY_FIXED, ENTRY_VAR, ENTRY_LOOSE };

struct shape_entry {
	uint32_t key;  /* string code, or enum field_key */
	uint8_t type;  /* enum value_type */
	uint8_t class; /* enum entry_class */
	uint16_t unused;
	uint64_t value; /* FIXED.  STRING, BYTES, RAW, RAW_PAIR: string code.  ARRAY, KVLIST: string
			   code of the packed value (segment/packed_value.h).  Others: attr.bits */
};

/* Entries that are no attributes: the row's name if it is not FIXED, and what stands in its extra.
 * Keys above all string codes. */
enum field_key {
	FIELD_NAME = (1 << 28) - 16,
	FIELD_TRACE_STATE,
	FIELD_STATUS_MESSAGE,
	FIELD_SEVERITY_TEXT,
	FIELD_UNKNOWN,
	FIELD_UNKNOWN_STATUS,
	FIELD_DROPPED_ATTRIBUTES,
	FIELD_DROPPED_POINTS,
	FIELD_DROPPED_LINKS,
	FIELD_LINK_HIGH, /* the linked trace's id, as two big-endian numbers */
	FIELD_LINK_LOW,
	FIELD_OBSERVED,
	FIELD_BODY,
	FIELD_BODY_KEY,
	FIELD_LOOSE, /* the key of a LOOSE entry */
	FIELD_KEYS_END
};

#define NAME_VARIES UINT32_MAX

struct shape {
	uint32_t name; /* or NAME_VARIES: the first entry, with the key FIELD_NAME, says how */
	uint32_t resource, scope;
	uint32_t flags;
	int32_t kind, status;
	uint8_t type, format;
	uint16_t bits;
	uint32_t entry_first; /* into shapes.entries */
	uint32_t entry_n;
	uint32_t rows;    /* in this segment */
	uint32_t loose_n; /* of its entries */
	uint16_t form;    /* enum row_form: how the plain fields are kept */
	uint8_t level;    /* enum row_level */
	bool has_parent;  /* id2 is not 0 */
	bool has_time;    /* time is not 0 */
	bool has_end;     /* end is not 0, or time is 0 as well: the duration means something */
};

struct shapes {
	const struct shape *rows;
	uint32_t n;
	const struct shape_entry *entries;
	size_t entry_n;
};

/* Is it of a span, finished or not? */
static inline bool shape_is_block(const struct shape *s)
{
	return s->type == EVENT_SPAN || s->type == EVENT_BEGIN;
}

/* Keeps the segment's tables in memory until unpinned; group_open() does so itself. */
struct segment_tables;
int segment_pin(struct segment *s, const struct segment_tables **ret_tables);
void segment_unpin(struct segment *s);

const struct shapes *tables_shapes(const struct segment_tables *t);
/* Shapes of one skeleton, whose number is below tables_skeletons(), differ in nothing but values:
 * of FIXED entries, and so perhaps in name. */
uint32_t tables_skeletons(const struct segment_tables *t);
uint32_t tables_skeleton(const struct segment_tables *t, uint32_t shape);
uint32_t tables_strings(const struct segment_tables *t); /* how many */
struct slice tables_text(const struct segment_tables *t, uint32_t code);
/* The code of a text, or UINT32_MAX: then no key, name or FIXED value of this segment equals it. */
uint32_t tables_find(const struct segment_tables *t, struct slice text);
/* Has any row of the level an EMPTY value of the key?  Those stand in no column: where a row has
 * one, and another value of the same key, only the row itself knows which was the last. */
bool tables_has_empty(const struct segment_tables *t, enum row_level level, uint32_t key);

/* The types of values that rows of the level have of a key, by bits 1 << type.  *ret_spelled: those
 * of which a text need not be a string of the segment. */
uint32_t tables_types(const struct segment_tables *t, enum row_level level, uint32_t key,
		      uint32_t *ret_spelled);

/* Resources and scopes as rows of a batch without events: batch->resources[shape.resource] with its
 * attributes; the batch's own string codes.  Owner and sender beside it, as string codes of the
 * segment. */
const struct batch *tables_batch(const struct segment_tables *t);
struct slice tables_service(const struct segment_tables *t, uint32_t resource);
/* What searches ask of all shapes, close together. */
struct shape_brief {
	uint32_t resource; /* UINT32_MAX: it is not of a block */
	uint32_t name;
};

const struct shape_brief *tables_briefs(const struct segment_tables *t); /* [shape] */
uint32_t tables_owner(const struct segment_tables *t, uint32_t resource);
uint32_t tables_sender(const struct segment_tables *t, uint32_t resource);
uint64_t tables_threshold(const struct segment_tables *t,
			  uint32_t resource); /* batch.kept_threshold */

/* --- zone maps --- */

struct group_zone {
	uint64_t offset, bytes; /* in the file */
	uint32_t rows, pieces;
	int64_t start_min_ns, start_max_ns; /* of its pieces; a piece without a time counts as 0 */
	int64_t duration_max_ns;
	uint32_t errors;           /* rows with STATUS_ERROR */
	bool continues, continued; /* its first piece began before; its last goes on behind */
	const uint32_t *shapes;    /* codes present, ascending */
	uint32_t shape_n;
};

uint32_t tables_groups(const struct segment_tables *t);
const struct group_zone *tables_zone(const struct segment_tables *t, uint32_t group);

/* No row of the group takes longer; INT64_MAX until somebody has looked at the durations of all of
 * them.  While the segment is pinned. */
int64_t segment_longest_row(const struct segment *s, uint32_t group);

/* --- one group --- */

struct segment_group;

int group_open(struct segment *s, uint32_t number, struct segment_group **ret_group);
/* Accepts NULL, returns NULL. */
struct segment_group *group_close(struct segment_group *g);

static inline void group_closep(struct segment_group **g)
{
	group_close(*g);
}

/* Opens another group of the same segment in its place, keeping the memory. */
int group_reopen(struct segment_group *g, uint32_t number);

/* It will be wanted again: when it is closed it stays in the segment's cache, if that has one, with
 * what was decoded of it. */
void group_keep(struct segment_group *g);

/* The same for those who will need few of its columns, or none after a look at one: nothing is read
 * ahead, and the group is kept. */
int group_open_few(struct segment *s, uint32_t number, struct segment_group **ret_group);
int group_reopen_few(struct segment_group *g, uint32_t number);

/* A group of any segment in *group, which may hold another group, whose memory it takes over, or
 * NULL.  `few`: nothing is read ahead. */
int group_turn(struct segment *s, uint32_t number, bool few, struct segment_group **group);

struct segment *group_segment(const struct segment_group *g); /* borrowed */
const struct segment_tables *group_tables(const struct segment_group *g);
const struct group_zone *group_zone(const struct segment_group *g);
/* After -EBADMSG: which block. */
const char *group_error(const struct segment_group *g);

/* A piece of a trace.  start and duration are the piece's own, as summary.h computes them. */
struct group_piece {
	struct trace_id id;
	uint32_t first, rows; /* in this group */
	int64_t start_ns, duration_ns;
	bool errors; /* some row has STATUS_ERROR */
};

int group_pieces(struct segment_group *g, const struct group_piece **ret_pieces, uint32_t *ret_n);
/* The same, but `errors` may not be set where there are some. */
int group_pieces_bare(struct segment_group *g, const struct group_piece **ret_pieces,
		      uint32_t *ret_n);
/* Only starts and durations and first rows, without touching the ids: [n], [n], [n + 1]. */
int group_piece_times(struct segment_group *g, const int64_t **ret_start_ns,
		      const int64_t **ret_duration_ns, const uint32_t **ret_first, uint32_t *ret_n);
/* Only first rows: [n + 1]. */
int group_piece_firsts(struct segment_group *g, const uint32_t **ret_first, uint32_t *ret_n);

/* Per row. */
int group_shapes(struct segment_group *g, const uint32_t **ret_codes); /* segment's shape codes */
/* The same as indices into group_zone()->shapes: what is worked out for each shape of a group fits
 * the processor's nearest cache. */
int group_shape_indices(struct segment_group *g, const uint32_t **ret_indices);
/* The same of some rows alone: elsewhere they may be anything. */
int group_few_indices(struct segment_group *g, const uint32_t *rows, uint32_t n,
		      const uint32_t **ret_indices);
/* The segment's shape code of one row; the others are not decoded where that can be avoided. */
int group_row_shape(struct segment_group *g, uint32_t row, uint32_t *ret_shape);
int group_durations(struct segment_group *g,
		    const uint64_t **ret_durations); /* end - time, wraps; see shape.has_end */
int group_times(struct segment_group *g, const uint64_t **ret_times);
int group_ids(struct segment_group *g, const uint64_t **ret_id1);
int group_parents(struct segment_group *g, const uint64_t **ret_id2);

/* The same arrays for who looks at some pieces: only rows of those that were asked for mean
 * something in them, until one of the functions above was asked.  Cheapest in the order of pieces.
 */
int group_piece_links(struct segment_group *g, uint32_t piece, const uint64_t **ret_id1,
		      const uint64_t **ret_id2);
int group_piece_clocks(struct segment_group *g, uint32_t piece, const uint64_t **ret_times,
		       const uint64_t **ret_durations);

/* Fields of some rows alone, at most GROUP_FEW_ROWS and ascending: the arrays hold them where these
 * rows are, and of their pieces the ids; elsewhere they hold anything. */
#define GROUP_FEW_ROWS 32
struct group_few {
	const uint64_t *times, *durations, *id1, *id2;
	const struct group_piece *pieces;
};
int group_few_rows(struct segment_group *g, const uint32_t *rows, uint32_t n,
		   struct group_few *ret_few);

/* The name of a block's row whose shape does not know it (NAME_VARIES). */
int group_row_name(struct segment_group *g, uint32_t row, struct slice *ret_name);

/* One column of VAR and LOOSE values. */
struct group_column {
	uint32_t key; /* string code */
	uint8_t level, type;
	uint32_t n;             /* values */
	const uint64_t *values; /* numbers: attr.bits; NULL for strings */
	/* Strings, BYTES, RAW and packed values: texts (nearly all different) and, for each value,
	 * which; or, with codes NULL, one text for each value. */
	const uint32_t *codes;
	const uint32_t *offset; /* text i: text[offset[i]] … text[offset[i + 1]] */
	const char *text;
	uint32_t text_n; /* how many texts */
	bool by_code;    /* the texts are the segment's strings: codes as tables_find() gives */
	const uint32_t *rows; /* the row of each value */
};

/* -ENOENT when no row of the group has such a value outside its shape. */
int group_column(struct segment_group *g, enum row_level level, uint32_t key, enum value_type type,
		 const struct group_column **ret_column);

/* The same without the rows of its values (`rows` is NULL until group_column() was called): where
 * few values matter, their rows are asked for with group_value_rows(). */
int group_column_values(struct segment_group *g, enum row_level level, uint32_t key,
			enum value_type type, const struct group_column **ret_column);

/* Values of a column of strings that equal a text whose string code is `code` (UINT32_MAX: it has
 * none); the column is not decoded where that can be avoided.  Their places, ascending, live until
 * the next call.  -ENOENT when there is no such column. */
int group_find_text(struct segment_group *g, enum row_level level, uint32_t key, struct slice text,
		    uint32_t code, const uint32_t **ret_values, uint32_t *ret_n);

/* The rows of some values of a column, given by their places in it, ascending. */
int group_value_rows(struct segment_group *g, enum row_level level, uint32_t key,
		     enum value_type type, const uint32_t *values, uint32_t n, uint32_t *out);

/* How many of a row's LOOSE attributes have this key. */
int group_row_loose(struct segment_group *g, uint32_t row, uint32_t key, uint32_t *ret_n);

/* Which columns there are: index from 0; -ENOENT behind the last. */
int group_column_at(struct segment_group *g, uint32_t index,
		    const struct group_column **ret_column);

/* Text i of a column of strings. */
static inline struct slice column_text(const struct group_column *c, uint32_t i)
{
	uint32_t at = c->codes ? c->codes[i] : i;

	return slice_of(c->text + c->offset[at], c->offset[at + 1] - c->offset[at]);
}

/* Rows will be asked for again and again: the first time all of them are decoded. */
void group_expect_many(struct segment_group *g);

/* Appends rows first … first + count - 1 of the group, materialised. */
int group_rows(struct segment_group *g, uint32_t first, uint32_t count, struct event_set *set);

/* The same without attributes, extras, units and sequence numbers: names, ids, times, states and
 * resources. */
int group_rows_bare(struct segment_group *g, uint32_t first, uint32_t count, struct event_set *set);

#endif
