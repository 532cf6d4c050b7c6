/* api/tempo_slices.c - a window of time in slices, newest first.
 *
 * Groups of rows, by when their traces begin, give the cuts: the first slice has about FIRST_ROWS
 * rows, each further one GROWTH times as many, so that little is looked at in vain, and little is
 * looked at twice where a group lies on both sides of a cut. */
#include "api/tempo_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group.h"

#define FIRST_ROWS 100000
#define GROWTH     4

struct stretch {
	int64_t from_ns;
	uint64_t rows;
};

struct stretches {
	struct stretch *rows;
	size_t n, capacity;
};

static int newest_first(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return (x->from_ns < y->from_ns) - (x->from_ns > y->from_ns);
}

static int segment_collect(struct segment *segment, struct plan_range range, struct stretches *out)
{
	const struct segment_tables *tables;
	int r = segment_pin(segment, &tables);

	if (r < 0)
		return r;
	if (!vec_reserve(&out->rows, &out->capacity, out->n + tables_groups(tables),
			 sizeof(*out->rows)))
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < tables_groups(tables); i++) {
		const struct group_zone *zone = tables_zone(tables, i);

		if ((!range.to_ns || zone->start_min_ns < range.to_ns) &&
		    zone->start_max_ns >= range.from_ns)
			out->rows[out->n++] = (struct stretch){zone->start_min_ns, zone->rows};
	}
	segment_unpin(segment);
	return r;
}

static int64_t cut_at(int64_t at_ns, int64_t step_ns)
{
	return step_ns > 0 ? at_ns / step_ns * step_ns : at_ns;
}

static void cut(const struct stretches *s, struct plan_range range, int64_t step_ns,
		struct tempo_slices *out)
{
	uint64_t rows = 0, wanted = FIRST_ROWS;
	int64_t to = range.to_ns;

	out->n = 0;
	for (size_t i = 0; i < s->n && out->n < SLICES_MOST - 1; i++) {
		int64_t at = cut_at(s->rows[i].from_ns, step_ns);

		rows += s->rows[i].rows;
		if (rows < wanted)
			continue;
		if (at <= range.from_ns || at <= 0)
			break;
		if (to && at >= to)
			continue;
		out->ranges[out->n++] = (struct plan_range){at, to};
		to = at;
		rows = 0;
		wanted *= GROWTH;
	}
	out->ranges[out->n++] = (struct plan_range){range.from_ns, to};
}

int tempo_slices(const struct snapshot *s, struct plan_range range, int64_t step_ns,
		 struct tempo_slices *ret_slices)
{
	struct stretches all = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->view->segment_n; i++)
		r = segment_collect(s->view->segments[i]->segment, range, &all);
	if (r == 0 && all.n > 1)
		qsort(all.rows, all.n, sizeof(*all.rows), newest_first);
	if (r == 0)
		cut(&all, range, step_ns, ret_slices);
	free(all.rows);
	return r;
}
