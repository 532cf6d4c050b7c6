/* segment/group_totals.c - counts the rows of a group into the segment's totals.
 *
 * The counts of a segment with many operations do not fit into the nearest caches.  So a row is
 * counted some rows after it came: meanwhile its line of the table is fetched, and then the count
 * that the line leads to. */
#include <errno.h>

#include "segment/group_writer.h"

#define BEHIND 16 /* rows that a step is behind the one before */

_Static_assert(COUNTED_MOST >= GROUP_TOTALS_ROWS + 2 * BEHIND, "all rows that are on their way");

static struct totals_key row_key(struct group_writer *g, const struct group_row *row)
{
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct event *e = row->e;

	return (struct totals_key){
		.source = dictionary_resource(&g->dictionary, r, e->resource),
		.name = dictionary_string(&g->dictionary, r, e->name),
		.kind = e->kind,
		.status = e->status,
		.type = e->type,
	};
}

/* What a row is counted as: UINT32_MAX without memory, or when too many differ. */
static uint32_t row_total(struct group_writer *g, const struct group_row *row)
{
	const struct totals_key key = row_key(g, row);

	return totals_number(&g->totals, &key);
}

/* Where the name is not in the shape, its number is looked for in a large table. */
static void rows_fetch(struct group_writer *g, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		if (g->shapes.shapes[g->codes[i]].total == TOTAL_VARIES) {
			const struct totals_key key = row_key(g, &g->rows[i]);

			totals_fetch_number(&g->totals, &key);
		}
}

/* What the rows of a shape are counted as, when the first of them is there. */
static void shape_total(struct group_writer *g, const struct group_row *row, struct shape_row *s)
{
	const struct skeleton *k = &g->shapes.skeletons[s->skeleton];

	if (row->e->type != EVENT_SPAN && row->e->type != EVENT_BEGIN)
		s->total = TOTAL_NONE;
	else if (g->shapes.fields[k->field_first].class != ENTRY_FIXED) /* the name comes first */
		s->total = TOTAL_VARIES;
	else
		s->total = row_total(g, row) + 1;
}

/* 1: it is to be counted; 0: it is not.  -ENOMEM. */
static inline int row_look(struct group_writer *g, uint32_t number, struct counted *ret_counted)
{
	const struct group_row *row = &g->rows[number];
	struct shape_row *s = &g->shapes.shapes[g->codes[number]];
	const struct event *e = row->e;
	int64_t duration_ns;
	uint32_t total;

	if (__builtin_expect(s->total == TOTAL_UNKNOWN, 0))
		shape_total(g, row, s);
	if (s->total == TOTAL_NONE)
		return 0;
	total = s->total == TOTAL_VARIES ? row_total(g, row) : s->total - 1;
	if (total == UINT32_MAX)
		return g->totals.given_up ? 0 : -ENOMEM;
	duration_ns = e->type == EVENT_SPAN ? span_duration(e->time_ns, e->end_ns) : -1;
	*ret_counted = (struct counted){total, duration_place(duration_ns),
					e->status == STATUS_ERROR, duration_ns};
	return 1;
}

/* Moves rows on, until those that are at a step are not more than `behind`. */
static int rows_count(struct group_writer *g, uint32_t behind)
{
	struct counting *c = &g->counting;
	struct totals *t = &g->totals;
	int r = 0;

	for (; c->taken - c->fetched > behind && !t->given_up; c->fetched++) {
		const struct counted *row = &c->rows[c->fetched % COUNTED_MOST];

		totals_fetch_place(t, row->number, row->place);
	}
	for (; c->fetched - c->counted > behind && r >= 0 && !t->given_up; c->counted++) {
		const struct counted *row = &c->rows[c->counted % COUNTED_MOST];

		r = totals_add_at(t, row->number, row->error, row->duration_ns, row->place);
	}
	if (t->given_up)
		c->fetched = c->counted = c->taken;
	return r < 0 ? r : 0;
}

int group_totals_add(struct group_writer *g, uint32_t first, uint32_t n)
{
	struct counting *c = &g->counting;
	struct totals *t = &g->totals;
	int r = 0;

	if (t->given_up)
		return 0;
	rows_fetch(g, first, n);
	for (uint32_t i = first; i < first + n && r >= 0 && !t->given_up; i++) {
		struct counted *row = &c->rows[c->taken % COUNTED_MOST];

		r = row_look(g, i, row);
		if (r == 1) {
			totals_fetch_row(t, row->number, row->place);
			c->taken++;
		}
	}
	return r < 0 ? r : rows_count(g, BEHIND);
}

int group_totals_end(struct group_writer *g)
{
	return rows_count(g, 0);
}
