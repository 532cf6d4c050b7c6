/* exec/column_fast.h - rows of which nothing but their group and perhaps their duration is needed.
 *
 * They wait until there are many, are sorted by group and added group by group: many groups with
 * their sketches do not fit into a cache, and what is added many at a time is added in tight loops.
 * Nothing here is sampled. */
#ifndef CAUSET_EXEC_COLUMN_FAST_H
#define CAUSET_EXEC_COLUMN_FAST_H

#include "exec/grouping.h"

#define FAST_ROWS        65536      /* that wait */
#define FAST_COUNTS_MOST (1u << 31) /* of those that are only counted */

/* What an aggregate is of. */
enum argument {
	ARGUMENT_ROWS,     /* none: rows are counted */
	ARGUMENT_DURATION, /* the span's */
	ARGUMENT_OTHER,
};

/* What is kept of a row's duration while it waits. */
enum fast_keeps {
	FAST_NS,     /* all of it */
	FAST_PLACES, /* its place in a sketch, and of all rows of a group the shortest and longest
		      */
	FAST_COUNTS, /* nothing: rows are counted, and do not wait */
};

/* What aggregates of these kinds and arguments need. */
enum fast_keeps fast_rows_need(const struct aggregate *aggregates, const uint8_t *arguments,
			       uint32_t n);

struct fast_rows {
	enum fast_keeps keeps;
	uint32_t n;                       /* that wait, or were counted */
	uint32_t *groups;                 /* of those that wait */
	int64_t *ns, *sorted;             /* FAST_NS; -1: no duration */
	uint16_t *places, *sorted_places; /* FAST_PLACES */
	void *room;                       /* of these */
	/* By group, for group_n of them. */
	uint32_t *counts; /* FAST_COUNTS: rows.  While rows are sorted: where they go */
	int64_t *low, *high;
	size_t group_n, count_capacity, low_capacity, high_capacity;
};

/* Makes room, and for so many groups.  -ENOMEM. */
int fast_rows_room(struct fast_rows *f, size_t groups);
void fast_rows_done(struct fast_rows *f);

/* They must be flushed before the next. */
static inline bool fast_rows_full(const struct fast_rows *f)
{
	return f->n == (f->keeps == FAST_COUNTS ? FAST_COUNTS_MOST : FAST_ROWS);
}

/* There is room for the group, and it is not full.  ns: -1 is no duration. */
static inline void fast_rows_put(struct fast_rows *f, uint32_t group, int64_t ns)
{
	if (f->keeps == FAST_COUNTS) {
		f->counts[group]++;
	} else if (f->keeps == FAST_PLACES) {
		f->groups[f->n] = group;
		f->places[f->n] = sketch_place(ns);
		if (ns > f->high[group])
			f->high[group] = ns;
		if ((uint64_t)ns < (uint64_t)f->low[group])
			f->low[group] = ns;
	} else {
		f->groups[f->n] = group;
		f->ns[f->n] = ns;
	}
	f->n++;
}

/* Adds those that wait: arguments[i] says what aggregate i is of, which is not ARGUMENT_OTHER.
 * -ENOMEM. */
int fast_rows_flush(struct fast_rows *f, struct grouping *g, const uint8_t *arguments);

/* Does the aggregate, of rows or durations, come to the same in whatever order rows are added? */
bool aggregate_is_exact(const struct aggregate *a);

#endif
