/* store/overview.c - what there is in all: services, and everything. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "segment/group.h"
#include "segment/totals.h"
#include "store/find.h"
#include "store/store_int.h"
#include "store/summary.h"

#define ALL_ROWS_MOST   ((uint64_t)8 << 20) /* what may be asked for at once */
#define COUNTED_AT_ONCE ((size_t)65536)     /* rows of a head, before others have their turn */

static int segment_all(struct segment *s, struct event_set *set)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < segment_info(s)->groups; i++) {
		r = g ? group_reopen(g, i) : group_open(s, i, &g);
		if (r == 0)
			r = group_rows(g, 0, group_zone(g)->rows, set);
	}
	return r;
}

int snapshot_all(const struct snapshot *s, struct event_set *ret_set)
{
	const struct view *v = s->view;
	struct event_set set = {0};
	uint64_t rows = 0;
	int r = 0;

	for (size_t i = 0; i < v->segment_n; i++)
		rows += v->segments[i]->row.rows;
	if (rows > ALL_ROWS_MOST)
		return -E2BIG;
	for (size_t i = 0; r == 0 && i < v->segment_n; i++)
		r = segment_all(v->segments[i]->segment, &set);
	for (size_t i = 0; i < v->head_n; i++)
		for (uint32_t k = 0; r == 0 && k < s->marks[i].batches; k++) {
			struct batch *b = runs_batch(&v->heads[i]->runs, k);

			if (!event_set_add(&set, b, 0, (uint32_t)b->event_n))
				r = -ENOMEM;
		}
	if (r < 0)
		event_set_done(&set);
	else
		*ret_set = set;
	return r;
}

/* Names that are too many to be in shapes stand in a column of their group. */
static int group_services(struct segment_group *g, struct service_tally *tally)
{
	const struct segment_tables *t = group_tables(g);
	const struct shapes *shapes = tables_shapes(t);
	const struct group_column *names;
	const uint32_t *codes;
	int r = group_column(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &names);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = group_shapes(g, &codes);
	for (uint32_t i = 0; r == 0 && i < names->n; i++) {
		const struct shape *shape = &shapes->rows[codes[names->rows[i]]];

		if (shape_is_block(shape))
			r = service_tally_add(tally, tables_service(t, shape->resource),
					      column_text(names, i), 1,
					      shape->status == STATUS_ERROR, kind_bit(shape->kind));
	}
	return r;
}

static bool zone_has_names(const struct segment_tables *t, uint32_t group)
{
	const struct shapes *shapes = tables_shapes(t);
	const struct group_zone *zone = tables_zone(t, group);

	for (uint32_t i = 0; i < zone->shape_n; i++)
		if (shapes->rows[zone->shapes[i]].name == NAME_VARIES)
			return true;
	return false;
}

/* From the segment's totals: 1; 0 where there are none that can be read. */
static int totals_services(struct segment *s, const struct segment_tables *t,
			   struct service_tally *tally)
{
	_cleanup_(totals_freep)
	struct totals_table *totals = NULL;
	int r = segment_totals_bare(s, &totals);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (uint32_t i = 0; r == 0 && i < totals->n; i++) {
		const struct total_row *row = &totals->rows[i];

		r = service_tally_add(
			tally,
			totals->apart & APART_RESOURCE ? tables_service(t, row->key.source)
						       : tables_text(t, row->key.source),
			tables_text(t, row->key.name), row->spans, row->errors, row->kinds);
	}
	return r < 0 ? r : 1;
}

/* From its shapes, as far as they have the name, and from columns where they do not. */
static int rows_services(struct segment *s, const struct segment_tables *t,
			 struct service_tally *tally)
{
	const struct shapes *shapes = tables_shapes(t);
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < shapes->n; i++) {
		const struct shape *shape = &shapes->rows[i];

		if (shape->rows > 0 && shape_is_block(shape) && shape->name != NAME_VARIES)
			r = service_tally_add(tally, tables_service(t, shape->resource),
					      tables_text(t, shape->name), shape->rows,
					      shape->status == STATUS_ERROR ? shape->rows : 0,
					      kind_bit(shape->kind));
	}
	for (uint32_t i = 0; r == 0 && i < tables_groups(t); i++) {
		if (!zone_has_names(t, i))
			continue;
		r = g ? group_reopen(g, i) : group_open(s, i, &g);
		if (r == 0)
			r = group_services(g, tally);
	}
	return r;
}

/* Counts some more batches of a head; with its lock.  1 when there are more, 0 when all that the
 * mark shows are counted.  Those of others, who see more, stay counted. */
static int count_batches(struct head *h, struct runs_mark mark)
{
	size_t rows = 0;
	int r = 0;

	if (!h->services && !(h->services = service_tally_new()))
		return -ENOMEM;
	while (r == 0 && h->services_batches < mark.batches && rows < COUNTED_AT_ONCE) {
		const struct batch *b = runs_batch(&h->runs, h->services_batches);

		r = service_tally_batch(h->services, b);
		rows += b->event_n;
		h->services_batches++;
	}
	if (r < 0) { /* the last one is counted in part */
		h->services = service_tally_free(h->services);
		h->services_batches = 0;
		return r;
	}
	return h->services_batches < mark.batches;
}

/* Batches do not change, so each is counted once, by whoever asks first. */
static int add_head(struct head *h, struct runs_mark mark, struct service_tally *all)
{
	int r = 0, more;

	do {
		pthread_mutex_lock(&h->services_lock);
		more = count_batches(h, mark);
		if (more == 0)
			r = service_tally_merge(all, h->services);
		pthread_mutex_unlock(&h->services_lock);
		if (more > 0)
			r = leash_check();
	} while (more > 0 && r == 0);
	return more < 0 ? more : r;
}

static int count_services(struct segment *s, struct service_tally *tally)
{
	const struct segment_tables *t;
	int r = segment_pin(s, &t);

	if (r < 0)
		return r;
	r = totals_services(s, t, tally);
	if (r == 0)
		r = rows_services(s, t, tally);
	segment_unpin(s);
	return MIN(r, 0);
}

/* A segment does not change, so it is counted once. */
static int add_services(struct view_segment *s, struct service_tally *all)
{
	int r = 0;

	pthread_mutex_lock(&s->services_lock);
	if (!s->services) {
		struct service_tally *tally = service_tally_new();

		r = tally ? count_services(s->segment, tally) : -ENOMEM;
		if (r == 0)
			s->services = tally;
		else
			service_tally_free(tally);
	}
	if (r == 0)
		r = service_tally_merge(all, s->services);
	pthread_mutex_unlock(&s->services_lock);
	return r;
}

int snapshot_services(const struct snapshot *s, struct service_list *ret_list)
{
	struct service_tally *tally = service_tally_new();
	int r = tally ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s->view->segment_n; i++)
		r = add_services(s->view->segments[i], tally);
	for (size_t i = 0; r == 0 && i < s->view->head_n; i++)
		r = add_head(s->view->heads[i], s->marks[i], tally);
	if (r == 0)
		r = service_tally_list(tally, ret_list);
	service_tally_free(tally);
	return r;
}
