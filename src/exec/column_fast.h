/* exec/column_fast.h - rows of which nothing but their group and perhaps their duration is needed.
 *
 * They wait until there are many, are sorted by group and added group by group: many groups with
 * their sketches do not fit into a cache, and what is added many at a time is added in tight loops.
 * Nothing here is sampled. */
#ifndef CAUSET_EXEC_COLUMN_FAST_H
#define CAUSET_EXEC_COLUMN_FAST_H

#include "exec/grouping.h"

#define FAST_ROWS 65536 /* that wait */

/* What an aggregate is of. */
enum argument {
	ARGUMENT_ROWS,     /* none: rows are counted */
	ARGUMENT_DURATION, /* the span's */
	ARGUMENT_OTHER,
};

struct fast_rows {
	uint32_t n;
	uint32_t *groups;
	int64_t *ns; /* -1: no duration */
	int64_t *sorted;
	uint32_t *places;
	size_t place_capacity;
};

/* Makes room when it is first needed.  -ENOMEM. */
int fast_rows_room(struct fast_rows *f);
void fast_rows_done(struct fast_rows *f);

/* There is room, and fewer than FAST_ROWS wait. */
static inline void fast_rows_put(struct fast_rows *f, uint32_t group, int64_t ns)
{
	f->groups[f->n] = group;
	f->ns[f->n++] = ns;
}

/* Adds those that wait: arguments[i] says what aggregate i is of, which is not ARGUMENT_OTHER.
 * -ENOMEM. */
int fast_rows_flush(struct fast_rows *f, struct grouping *g, const uint8_t *arguments);

/* Does the aggregate, of rows or durations, come to the same in whatever order rows are added? */
bool aggregate_is_exact(const struct aggregate *a);

#endif
