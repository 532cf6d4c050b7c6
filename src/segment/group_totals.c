/* segment/group_totals.c - counts the rows of a group into the segment's totals.
 *
 * The counts of a segment with many operations do not fit into the nearest caches: rows are counted
 * some at a time, so that what one waits for in memory the others need not wait for. */
#include <errno.h>

#include "segment/group_writer.h"

/* A row that is to be counted. */
struct counted {
	uint32_t number; /* of spans like it: totals_number() */
	bool error;
	int64_t duration_ns; /* -1: it has none */
};

/* What a row is counted as: UINT32_MAX without memory, or when too many differ. */
static uint32_t row_total(struct group_writer *g, const struct group_row *row)
{
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct event *e = row->e;
	const struct totals_key key = {
		.source = dictionary_resource(&g->dictionary, r, e->resource),
		.name = dictionary_string(&g->dictionary, r, e->name),
		.kind = e->kind,
		.status = e->status,
		.type = e->type,
	};

	return totals_number(&g->totals, &key);
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
	uint32_t total;

	if (__builtin_expect(s->total == TOTAL_UNKNOWN, 0))
		shape_total(g, row, s);
	if (s->total == TOTAL_NONE)
		return 0;
	total = s->total == TOTAL_VARIES ? row_total(g, row) : s->total - 1;
	if (total == UINT32_MAX)
		return g->totals.given_up ? 0 : -ENOMEM;
	*ret_counted =
		(struct counted){total, e->status == STATUS_ERROR,
				 e->type == EVENT_SPAN ? span_duration(e->time_ns, e->end_ns) : -1};
	return 1;
}

int group_totals_add(struct group_writer *g, uint32_t first, uint32_t n)
{
	struct counted rows[GROUP_TOTALS_ROWS];
	struct totals *t = &g->totals;
	uint32_t count = 0;
	int r = 0;

	for (uint32_t i = first; i < first + n && r >= 0 && !t->given_up; i++) {
		r = row_look(g, i, &rows[count]);
		if (r == 1) {
			totals_fetch_row(t, rows[count].number, rows[count].duration_ns);
			count++;
		}
	}
	for (uint32_t i = 0; i < count && !t->given_up; i++)
		totals_fetch_place(t, rows[i].number, rows[i].duration_ns);
	for (uint32_t i = 0; i < count && r >= 0 && !t->given_up; i++)
		r = totals_add(t, rows[i].number, rows[i].error, rows[i].duration_ns);
	return r < 0 ? r : 0;
}
