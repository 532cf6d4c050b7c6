/* segment/segment_loading_int.h - reading the tables of a segment: what the files that do it share.
 */
#ifndef CAUSET_SEGMENT_SEGMENT_LOADING_INT_H
#define CAUSET_SEGMENT_SEGMENT_LOADING_INT_H

#include <stdlib.h>

#include "segment/block_io.h"
#include "segment/segment_reader_int.h"

/* A column block of n equal values takes a handful of bytes whatever n is, so the size of a section
 * does not bound its counts; this does. */
#define TABLE_MOST COLUMN_MAX_VALUES

struct loading {
	struct segment *s;
	struct segment_tables *t;
	struct block_reader r;
	struct error *error;
	uint32_t *narrow; /* room for the longest table */
	uint64_t *wide;
};

static inline void *loading_take(struct loading *l, size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	l->t->bytes += (n + 1) * size;
	if (!p)
		block_fail(&l->r, -ENOMEM);
	return p;
}

/* Does the field have what was to be put into it, or fewer bits? */
static inline void loading_fits(struct loading *l, bool fits)
{
	if (!fits)
		block_fail(&l->r, -EBADMSG);
}

#define GET(l, array, n, field)                                                                    \
	do {                                                                                       \
		block_get_u32(&(l)->r, (l)->narrow, n);                                            \
		for (size_t i_ = 0; !(l)->r.failed && i_ < (n); i_++) {                            \
			(array)[i_].field = (l)->narrow[i_];                                       \
			loading_fits(l, (array)[i_].field == (l)->narrow[i_]);                     \
		}                                                                                  \
	} while (0)
#define GET_WIDE(l, array, n, field)                                                               \
	do {                                                                                       \
		block_get_u64(&(l)->r, (l)->wide, n);                                              \
		for (size_t i_ = 0; !(l)->r.failed && i_ < (n); i_++)                              \
			(array)[i_].field = (__typeof__((array)[i_].field))(l)->wide[i_];          \
	} while (0)

/* Values of attributes, which go into the tables' batch. */
#define GET_BITS(l, array, n, field)                                                               \
	do {                                                                                       \
		block_get_u64(&(l)->r, (l)->wide, n);                                              \
		for (size_t i_ = 0; !(l)->r.failed && i_ < (n); i_++)                              \
			(array)[i_] field.word = batch_word((l)->t->batch, (l)->wide[i_]);         \
	} while (0)

/* Sections of their own files. */
void loading_columns(struct loading *l);
void loading_shapes(struct loading *l);

#endif
