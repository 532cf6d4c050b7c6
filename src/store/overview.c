/* store/overview.c - what there is in all: services, and everything. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/find.h"
#include "store/group.h"
#include "store/store_int.h"
#include "store/summary.h"

#define ALL_ROWS_MOST ((uint64_t)8 << 20) /* what may be asked for at once */

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

/* A segment's spans by service and operation, from its shapes: no row is touched. */
static int segment_services(struct segment *s, const struct segment_tables *t,
			    struct service_tally *tally)
{
	const struct shapes *shapes = tables_shapes(t);
	const struct batch *batch = tables_batch(t);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < shapes->n; i++) {
		const struct shape *shape = &shapes->rows[i];

		if (shape->rows == 0 || (shape->type != EVENT_SPAN && shape->type != EVENT_BEGIN))
			continue;
		r = service_tally_add(tally,
				      batch_attr_text(batch,
						      batch->resources[shape->resource].attrs,
						      SLICE("service.name")),
				      tables_text(t, shape->name), shape->rows,
				      shape->status == STATUS_ERROR ? shape->rows : 0);
	}
	return r;
}

static int heads_services(const struct snapshot *s, struct service_tally *tally)
{
	int r = 0;

	for (size_t i = 0; i < s->view->head_n; i++)
		for (uint32_t k = 0; r == 0 && k < s->marks[i].batches; k++) {
			struct batch *b = runs_batch(&s->view->heads[i]->runs, k);

			struct event_set set = {0};

			r = event_set_add(&set, b, 0, (uint32_t)b->event_n)
				    ? service_tally_rows(tally, set.refs, set.n)
				    : -ENOMEM;
			event_set_done(&set);
		}
	return r;
}

int snapshot_services(const struct snapshot *s, struct service_list *ret_list)
{
	const struct view *v = s->view;
	struct service_tally *tally = service_tally_new();
	size_t pinned = 0;
	int r = tally ? 0 : -ENOMEM;

	/* Texts are the tables' until the list is made. */
	for (; r == 0 && pinned < v->segment_n; pinned++) {
		const struct segment_tables *t;

		r = segment_pin(v->segments[pinned]->segment, &t);
		if (r < 0)
			break;
		r = segment_services(v->segments[pinned]->segment, t, tally);
	}
	if (r == 0)
		r = heads_services(s, tally);
	if (r == 0)
		r = service_tally_list(tally, ret_list);
	while (pinned-- > 0)
		segment_unpin(v->segments[pinned]->segment);
	service_tally_free(tally);
	return r;
}
