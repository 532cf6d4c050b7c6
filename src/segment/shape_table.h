/* segment/shape_table.h - the shapes of a segment while it is written.
 *
 * What rows repeat is found in two steps.  A *skeleton* is a row without its values: type, kind,
 * status, flags, resource, scope, which keys with which types in which order, and how its plain
 * fields are kept.  Each field of a skeleton is FIXED, VAR or LOOSE (segment/group.h).  A *shape*
 * is a skeleton and the values of its FIXED fields.
 *
 * Which fields are FIXED is decided for each skeleton by itself on its first rows: those whose
 * values keep being new are VAR, then the worst of the rest as long as whole shapes keep being new
 * (shape_settle.c).  If a skeleton turns out to make too many shapes later, it is decided anew from
 * the next group on: its successor is another skeleton.  One thread. */
#ifndef CAUSET_SEGMENT_SHAPE_TABLE_H
#define CAUSET_SEGMENT_SHAPE_TABLE_H

#include "segment/segment_int.h"

struct skeleton {
	size_t word_first; /* WORD_FIELDS + field_n of them */
	uint32_t field_n;  /* classes and columns at field_first */
	uint32_t field_first;
	uint32_t fixed_n, loose_n;
	uint32_t rows;   /* in this group */
	uint32_t fresh;  /* shapes that began in this group */
	uint32_t shapes; /* in all */
	uint32_t number; /* in the file, given at the end */
	bool settled;    /* classes were decided on rows */
	bool rare;       /* its rows are LOOSE rows of another skeleton */
	bool stubborn;   /* deciding anew changed nothing */
};

/* What is done with a field of a row: its class and type in one. */
enum field_step {
	STEP_FIXED_TEXT,
	STEP_FIXED_NUMBER,
	STEP_FIXED_BOOL,
	STEP_FIXED_EMPTY,
	STEP_FIXED_NESTED,
	STEP_VAR_TEXT, /* by code if the column is */
	STEP_VAR_NUMBER,
	STEP_VAR, /* the others */
	STEP_LOOSE,
};

struct field {
	uint32_t column;
	uint8_t class; /* enum entry_class */
	uint8_t step;  /* enum field_step, follows from class and type */
};

/* A column of values that do not stand in shapes. */
struct value_column {
	/* Values of the group that is being written, in row order. */
	uint32_t n;
	uint32_t code_room; /* so many codes, once the group has one; 0 without codes */
	union {
		uint64_t *numbers;
		struct slice *texts;
		uint32_t *codes;
	};
	size_t capacity; /* in the widest of them that the column may need */

	uint32_t key;
	uint8_t level, type;
	/* Texts that repeat from group to group are in the dictionary: their codes are the values.
	 */
	bool by_code, never_by_code;
	bool spelled; /* some group had its texts, and not their codes */
	/* How rows of settled skeletons voted: the first guess for others. */
	uint64_t fixed_rows, var_rows;
	struct column_hints hints;
};

struct shape_row {
	uint32_t skeleton;
	uint32_t rows;
	size_t value_first;
	uint32_t group; /* last seen in group - 1 */
	uint32_t local; /* its number there */
	uint32_t total; /* 1 + what its rows are counted as (segment/totals.h), or one of below */
};

#define TOTAL_UNKNOWN 0
#define TOTAL_NONE    UINT32_MAX       /* its rows are no spans */
#define TOTAL_VARIES  (UINT32_MAX - 1) /* the name is not in the shape */

struct slot {
	uint32_t hash, number; /* number + 1; 0: free */
};

struct slots {
	struct slot *slots;
	size_t n, used; /* n is a power of two, or 0 */
};

struct shape_table {
	uint64_t seed;
	struct skeleton *skeletons;
	size_t skeleton_n, skeleton_capacity;
	uint32_t *words;
	size_t word_n, word_capacity;
	struct field *fields;
	size_t field_n, field_capacity;
	struct slots by_words;

	struct shape_row *shapes;
	size_t shape_n, shape_capacity;
	uint64_t *values;
	size_t value_n, value_capacity;
	struct slots by_values;

	struct value_column *columns;
	size_t column_n, column_capacity;
	struct slots by_key;
};

void shape_table_init(struct shape_table *t);
void shape_table_done(struct shape_table *t);

/* The skeleton with these words, or UINT32_MAX. */
uint32_t skeleton_find(const struct shape_table *t, const uint32_t *words, uint32_t field_n,
		       uint64_t hash);
/* Adds one; all fields FIXED but those with the key FIELD_LOOSE.  UINT32_MAX when out of memory. */
uint32_t skeleton_add(struct shape_table *t, const uint32_t *words, uint32_t field_n,
		      uint64_t hash);
/* A copy with other classes takes the place of skeleton `old`.  UINT32_MAX when out of memory. */
uint32_t skeleton_succeed(struct shape_table *t, uint32_t old, const uint8_t *classes);

/* Word by word, as they were written: a larger load would have to wait for the stores.  Two chains,
 * so that multiplications overlap. */
static inline uint64_t skeleton_hash(const struct shape_table *t, const uint32_t *words,
				     uint32_t field_n)
{
	const uint64_t k = 0x9e3779b97f4a7c15ULL;
	uint32_t n = WORD_FIELDS + field_n, i;
	uint64_t a = t->seed, b = ~t->seed;

	for (i = 0; i + 2 <= n; i += 2) {
		a = (a ^ words[i]) * k;
		b = (b ^ words[i + 1]) * k;
		a ^= a >> 29;
		b ^= b >> 29;
	}
	if (i < n)
		a = (a ^ words[i]) * k;
	return hash_fold(a ^ n, b ^ k);
}

static inline uint32_t *skeleton_words(const struct shape_table *t, const struct skeleton *s)
{
	return t->words + s->word_first;
}

/* Gives a field its class. */
void field_set(struct field *f, uint8_t class, uint8_t type);

/* The hash of a skeleton with these values. */
static inline uint32_t shape_hash(const struct shape_table *t, uint32_t skeleton,
				  const uint64_t *values)
{
	size_t bytes = t->skeletons[skeleton].fixed_n * sizeof(*values);

	return (uint32_t)(wide_hash_bytes((const char *)values, bytes, t->seed + skeleton) >> 32);
}

/* Fetches what shape_get() looks at first, for a call soon after. */
static inline void shape_fetch(const struct shape_table *t, uint32_t hash)
{
	if (t->by_values.n)
		__builtin_prefetch(&t->by_values.slots[hash & (t->by_values.n - 1)]);
}

/* What it looks at next. */
static inline void shape_fetch_row(const struct shape_table *t, uint32_t hash)
{
	const struct slots *s = &t->by_values;
	uint32_t number = s->n ? s->slots[hash & (s->n - 1)].number : 0;

	if (number)
		__builtin_prefetch(&t->shapes[number - 1]);
}

/* The shape of a skeleton with these values and their hash, added if new.  UINT32_MAX when out of
 * memory. */
uint32_t shape_get(struct shape_table *t, uint32_t skeleton, const uint64_t *values, uint32_t hash);

/* The column for (level, key << 4 | type), added if new.  UINT32_MAX when out of memory. */
uint32_t value_column_get(struct shape_table *t, uint8_t level, uint32_t field_word);

/* May its texts be kept by code? */
static inline bool column_may_by_code(const struct value_column *c)
{
	return value_is_text(c->type) && !value_is_nested(c->type) && !c->never_by_code;
}

static inline bool column_is_text(const struct value_column *c)
{
	return value_is_text(c->type);
}

bool value_column_grow(struct value_column *c);

#endif
