/* store/find.c - questions about many traces, asked of a snapshot.
 *
 * Each trace that is anywhere is gathered once and judged as a whole (store/summary.c). */
#include "store/find.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/group.h"
#include "store/operation_tally.h"
#include "store/store_int.h"
#include "store/summary.h"

#define LIMIT_DEFAULT 20
#define ALL_ROWS_MOST ((uint64_t)8 << 20) /* what may be asked for at once */

struct finding {
	const struct snapshot *snapshot;
	const struct store_query *query;
	struct trace_id *ids; /* every trace, perhaps several times */
	size_t id_n, id_capacity;
	struct trace_key *hits;
	size_t hit_n, hit_capacity;
};

static int id_add(struct finding *f, struct trace_id id)
{
	if (!vec_reserve(&f->ids, &f->id_capacity, f->id_n + 1, sizeof(*f->ids)))
		return -ENOMEM;
	f->ids[f->id_n++] = id;
	return 0;
}

static int ids_of_segment(struct finding *f, struct segment *s)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < segment_info(s)->groups; i++) {
		const struct group_piece *pieces;
		uint32_t n;

		r = g ? group_reopen(g, i) : group_open(s, i, &g);
		if (r == 0)
			r = group_pieces(g, &pieces, &n);
		for (uint32_t k = 0; r == 0 && k < n; k++)
			r = id_add(f, pieces[k].id);
	}
	return r;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

/* Every trace there is, each once. */
static int ids_list(struct finding *f)
{
	const struct view *v = f->snapshot->view;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->segment_n; i++)
		r = ids_of_segment(f, v->segments[i]->segment);
	for (size_t i = 0; i < v->head_n; i++)
		for (uint32_t t = 0; r == 0 && t < f->snapshot->marks[i].traces; t++)
			if (runs_first(&v->heads[i]->runs, f->snapshot->marks[i], t))
				r = id_add(f, runs_trace_id(&v->heads[i]->runs, t));
	if (r < 0)
		return r;
	if (f->id_n > 1)
		qsort(f->ids, f->id_n, sizeof(*f->ids), by_bytes);
	for (size_t i = 0; i < f->id_n; i++)
		if (kept == 0 || !trace_id_eq(f->ids[i], f->ids[kept - 1]))
			f->ids[kept++] = f->ids[i];
	f->id_n = kept;
	return 0;
}

static int hits_collect(struct finding *f)
{
	const struct store_query *q = f->query;
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->id_n; i++) {
		struct trace_key key = {.id = f->ids[i]};
		struct event_set set = {0};
		bool fits = false;

		r = snapshot_trace(f->snapshot, key.id, &set);
		if (r == 0)
			fits = trace_matches(set.refs, set.n, q, &key.start_ns, &key.duration_ns) &&
			       trace_key_is_after(q, &key);
		if (fits &&
		    !vec_reserve(&f->hits, &f->hit_capacity, f->hit_n + 1, sizeof(*f->hits)))
			r = -ENOMEM;
		else if (fits)
			f->hits[f->hit_n++] = key;
		event_set_done(&set);
	}
	return r;
}

static int by_order(const void *a, const void *b, void *context)
{
	return trace_key_order(((const struct store_query *)context)->order, a, b);
}

static int hits_summarise(const struct finding *f, struct trace_list *list)
{
	int r = 0;

	list->rows = arena_zalloc(list->arena, list->n + 1, sizeof(*list->rows));
	if (!list->rows)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		struct event_set set = {0};

		r = snapshot_trace(f->snapshot, f->hits[i].id, &set);
		if (r == 0)
			r = trace_summarise(set.refs, set.n, list->arena, &list->rows[i]);
		event_set_done(&set);
	}
	return r;
}

int snapshot_find(const struct snapshot *s, const struct store_query *query,
		  struct trace_list *ret_list)
{
	struct trace_list list = {.arena = calloc(1, sizeof(struct arena))};
	struct finding f = {.snapshot = s, .query = query};
	size_t limit = query->limit ? query->limit : LIMIT_DEFAULT;
	int r = list.arena ? ids_list(&f) : -ENOMEM;

	if (r == 0)
		r = hits_collect(&f);
	if (r == 0) {
		if (f.hit_n > 1)
			qsort_r(f.hits, f.hit_n, sizeof(*f.hits), by_order, (void *)query);
		list.n = MIN(f.hit_n, limit);
		list.more = f.hit_n > limit;
		r = hits_summarise(&f, &list);
	}
	free(f.ids);
	free(f.hits);
	if (r < 0)
		trace_list_done(&list);
	else
		*ret_list = list;
	return r;
}

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

static int segment_operations(struct segment *s, struct operation_tally *tally)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < segment_info(s)->groups; i++) {
		struct event_set set = {0};

		r = g ? group_reopen(g, i) : group_open(s, i, &g);
		if (r == 0)
			r = group_rows(g, 0, group_zone(g)->rows, &set);
		if (r == 0)
			r = operation_tally_rows(tally, set.refs, set.n);
		event_set_done(&set);
	}
	return r;
}

int snapshot_operations(const struct snapshot *s, struct operation_list *ret_list)
{
	const struct view *v = s->view;
	struct operation_tally tally;
	int r = 0;

	operation_tally_init(&tally);
	for (size_t i = 0; r == 0 && i < v->segment_n; i++)
		r = segment_operations(v->segments[i]->segment, &tally);
	for (size_t i = 0; i < v->head_n; i++)
		for (uint32_t k = 0; r == 0 && k < s->marks[i].batches; k++) {
			struct batch *b = runs_batch(&v->heads[i]->runs, k);
			struct event_set set = {0};

			r = event_set_add(&set, b, 0, (uint32_t)b->event_n)
				    ? operation_tally_rows(&tally, set.refs, set.n)
				    : -ENOMEM;
			event_set_done(&set);
		}
	if (r == 0)
		r = operation_tally_list(&tally, ret_list);
	operation_tally_done(&tally);
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
