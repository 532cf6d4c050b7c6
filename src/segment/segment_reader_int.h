/* segment/segment_reader_int.h - an open segment. */
#ifndef CAUSET_SEGMENT_SEGMENT_READER_INT_H
#define CAUSET_SEGMENT_SEGMENT_READER_INT_H

#include <pthread.h>

#include "base/fs.h"
#include "segment/segment_dictionary.h"
#include "segment/segment_int.h"
#include "segment/trace_index.h"

struct column_key {
	uint32_t key;
	uint8_t level, type;
	bool by_code; /* no group spells its texts out */
};

/* What stays inside of a zone. */
struct zone_place {
	uint64_t hot_bytes, directory_checksum;
	uint32_t directory_bytes;
	uint32_t first_rows, last_rows; /* of the first and last piece */
};

struct segment_tables {
	struct batch *batch; /* strings, resources, scopes */
	uint32_t *slots;     /* string codes by hash of the text; a power of two */
	size_t slot_n;
	struct source *sources;
	uint32_t *resource_source;
	struct column_key *columns;
	uint32_t column_n;
	struct shape *shape_rows;
	uint32_t *skeletons; /* of each shape */
	uint32_t skeleton_n;
	struct shape_entry *entries;
	uint32_t *entry_columns; /* of each entry */
	/* Columns of VAR entries with a value: shapes of skeleton i have those from var_first[i] to
	 * var_first[i + 1]. */
	uint32_t *var_columns, *var_first;
	uint64_t *var_filters;      /* of each skeleton: bit column % 64 of these */
	uint16_t *forms;            /* of each shape, with reader_form */
	uint32_t *loose_n;          /* of each shape */
	struct shape_brief *briefs; /* of each shape */
	struct shapes shapes;
	struct group_zone *zones;
	struct zone_place *places;
	uint32_t zone_n;
	uint32_t *zone_shapes;
	struct column_models models; /* of numbers by shape; in model_bytes */
	struct buffer model_bytes;
	size_t bytes;
};

/* The columns of a shape's VAR entries with a value, up to *ret_end. */
static inline const uint32_t *shape_vars(const struct segment_tables *t, uint32_t shape,
					 const uint32_t **ret_end)
{
	uint32_t k = t->skeletons[shape];

	*ret_end = t->var_columns + t->var_first[k + 1];
	return t->var_columns + t->var_first[k];
}

/* How many of them are this column. */
static inline uint32_t shape_count_vars(const struct segment_tables *t, uint32_t shape,
					uint32_t column)
{
	uint32_t k = t->skeletons[shape], n = 0;

	if (!(t->var_filters[k] >> column % 64 & 1))
		return 0;
	for (uint32_t v = t->var_first[k]; v < t->var_first[k + 1]; v++)
		n += t->var_columns[v] == column;
	return n;
}

/* Beside the bits of a form: what scans ask of a shape most often. */
enum reader_form {
	FORM_FAILED = 1 << FORM_BITS,
	FORM_NAMED = 2 << FORM_BITS,       /* the name is a value of its own */
	FORM_BLOCK_NAMED = 4 << FORM_BITS, /* and the row is a block's */
};

struct segment {
	_Atomic uint32_t refs;
	struct fs *fs;
	int fd;
	struct group_cache *cache; /* or NULL */
	char name[SEGMENT_NAME_MAX];
	struct segment_footer footer;
	struct segment_info info;

	pthread_mutex_t lock; /* guards what follows; not held while reading files */
	unsigned pins;        /* readers of what is loaded */
	int64_t pinned_ns;    /* when the last of them came, monotonic */
	bool has_index;
	struct trace_index index;
	struct trace_id *split;
	struct segment_tables *tables;
	struct totals_table *totals;
	/* [group]: longer than the longest row; 0: not known yet.  Made with the first tables, and
	 * kept when they go. */
	_Atomic uint64_t *longest;
};

/* Reads and verifies a section; *ret_bytes is for free().  `error` may be NULL. */
int section_read(struct segment *s, enum segment_section section, char **ret_bytes,
		 struct error *error);

/* Decodes all tables but index and split list.  -EBADMSG names the table in `error`. */
int segment_tables_read(struct segment *s, struct segment_tables **ret_tables, struct error *error);
struct segment_tables *segment_tables_free(struct segment_tables *t);

/* segment_pin(), telling what is wrong. */
int segment_pin_error(struct segment *s, const struct segment_tables **ret_tables,
		      struct error *error);

/* Somebody has decoded the durations of a group's rows. */
void segment_see_rows(struct segment *s, uint32_t group, const uint64_t *durations, uint32_t n);

#endif
