/* exec/column_scan.c - a query over columns at work: threads and merging. */
#include "exec/column_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/column_totals.h"

/* What is known of a segment's shapes. */
enum making { MAKING_NOT, MAKING_NOW, MADE };

static enum argument argument_of(const struct column_query *q, const struct plan_expr *e)
{
	const struct plan_expr *leaf;

	if (!e)
		return ARGUMENT_ROWS;
	if (e->kind != X_COLUMN || e->column < q->unnest_n)
		return ARGUMENT_OTHER;
	leaf = q->leaves[e->column - q->unnest_n];
	return leaf->kind == X_FIELD && leaf->field.field == F_DURATION ? ARGUMENT_DURATION
									: ARGUMENT_OTHER;
}

static void place_arguments(struct column_scan *s)
{
	const struct column_query *q = s->query;

	s->fast = s->exact = true;
	for (uint32_t i = 0; i < q->aggregate_n; i++) {
		const struct aggregate *a = &q->aggregates[i];

		s->arguments[i] = (uint8_t)argument_of(q, q->outputs[q->key_n + i]);
		s->fast &= s->arguments[i] != ARGUMENT_OTHER;
		s->durations |= s->arguments[i] == ARGUMENT_DURATION;
		s->exact &= aggregate_is_exact(a);
		s->timed |= a->kind == AGG_FIRST || a->kind == AGG_LAST ||
			    (a->kind == AGG_RATE && a->seconds <= 0);
	}
	s->fast &= !s->timed;
	s->exact &= s->fast && column_grouped(q);
}

static int groups_init(struct column_scan *s, struct grouping *g)
{
	const struct column_query *q = s->query;

	return grouping_init(g, q->key_n + (q->kind == COLUMN_SERIES), q->aggregates,
			     q->aggregate_n, &s->run->budget);
}

int column_scan_init(struct column_scan *s, struct query_at *run, const struct column_query *q,
		     const struct series_steps *steps)
{
	const struct view *view = run->options->snapshot->view;
	int r = 0;

	*s = (struct column_scan){.run = run, .query = q, .steps = *steps};
	id_set_init(&s->in_heads);
	column_filter_init(&s->drivers, q, NULL, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->made, NULL);
	place_arguments(s);
	s->thread_n = MIN(MAX(run->threads, 1u), (unsigned)RUN_THREADS_MOST);
	s->exacts = calloc(s->thread_n, sizeof(*s->exacts));
	s->shapes = calloc(view->segment_n + 1, sizeof(struct column_shapes *));
	s->making = calloc(view->segment_n + 1, 1);
	if (!s->exacts || !s->shapes || !s->making)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < COLUMN_PARTS; i++)
		r = column_grouped(q)
			    ? groups_init(s, &s->parts[i].groups)
			    : ordering_init(&s->parts[i].ordering, q->key_n, q->descending,
					    q->output_n - q->key_n, q->limit, &run->budget);
	for (unsigned i = 0; r == 0 && i < s->thread_n; i++)
		r = groups_init(s, &s->exacts[i]);
	return r;
}

void column_scan_done(struct column_scan *s)
{
	const struct view *view = s->run->options->snapshot->view;

	for (uint32_t i = 0; i < COLUMN_PARTS; i++) {
		if (column_grouped(s->query))
			grouping_done(&s->parts[i].groups);
		else
			ordering_done(&s->parts[i].ordering);
	}
	for (unsigned i = 0; s->exacts && i < s->thread_n; i++)
		grouping_done(&s->exacts[i]);
	for (size_t i = 0; s->shapes && i < view->segment_n; i++)
		column_shapes_free(s->shapes[i]);
	free(s->exacts);
	free(s->shapes);
	free(s->making);
	id_set_done(&s->in_heads);
	pthread_cond_destroy(&s->made);
	pthread_mutex_destroy(&s->lock);
}

/* --- shapes --- */

static int shapes_make(struct column_scan *s, size_t i)
{
	struct segment *segment = s->run->options->snapshot->view->segments[i]->segment;
	int r = column_shapes_new(s->query, &s->drivers, segment, &s->shapes[i]);

	return r == 0 && !s->query->only_spans && s->shapes[i]->native ? -EOPNOTSUPP : r;
}

static int shapes_get(struct column_scan *s, size_t i)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (s->making[i] == MAKING_NOW)
		pthread_cond_wait(&s->made, &s->lock);
	if (s->making[i] == MAKING_NOT) {
		s->making[i] = MAKING_NOW;
		pthread_mutex_unlock(&s->lock);
		r = shapes_make(s, i);
		pthread_mutex_lock(&s->lock);
		s->making[i] = r < 0 ? MAKING_NOT : MADE;
		if (r < 0)
			s->shapes[i] = column_shapes_free(s->shapes[i]);
		pthread_cond_broadcast(&s->made);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int column_scan_shapes(struct column_scan *s, const struct segment *segment,
		       const struct column_shapes **ret_shapes)
{
	const struct view *view = s->run->options->snapshot->view;
	size_t i = 0;
	int r;

	while (i < view->segment_n && view->segments[i]->segment != segment)
		i++;
	if (i == view->segment_n)
		return -ENOENT;
	r = shapes_get(s, i);
	if (r == 0)
		*ret_shapes = s->shapes[i];
	return r;
}

/* Threads that would wait for each other at the first segment each take another. */
static int shapes_ahead(struct column_scan *s)
{
	const struct view *view = s->run->options->snapshot->view;
	uint32_t i;
	int r = 0;

	while (r == 0 && (i = atomic_fetch_add(&s->next_segment, 1)) < view->segment_n)
		if (query_meets(s->run, view->segments[i]->segment))
			r = shapes_get(s, i);
	return r;
}

/* --- threads --- */

static int work_on(struct column_scan *s, struct column_worker *w)
{
	uint32_t part;
	int r = shapes_ahead(s);

	while (r == 0 && (part = atomic_fetch_add(&s->next, 1)) < COLUMN_PARTS)
		r = column_worker_part(w, part);
	return r == 0 ? column_worker_end(w) : r;
}

/* Segments that need not be looked into. */
static void *work_totals(void *argument)
{
	struct column_scan *s = argument;
	const struct view *view = s->run->options->snapshot->view;
	struct grouping *exact = &s->exacts[atomic_fetch_add(&s->next_thread, 1)];
	bool held = leash_hold(s->run->budget.leash);
	int r = shapes_ahead(s), none = 0;
	uint32_t i;

	while (r == 0 && (i = atomic_fetch_add(&s->next_totals, 1)) < view->segment_n) {
		if (!query_meets(s->run, view->segments[i]->segment))
			continue;
		r = budget_check(&s->run->budget);
		if (r == 0)
			r = shapes_get(s, i);
		if (r == 0 && s->shapes[i]->possible)
			r = column_totals_add(s, s->shapes[i], exact);
		if (r > 0)
			s->shapes[i]->counted = true;
		r = MIN(r, 0);
	}
	if (r < 0)
		atomic_compare_exchange_strong(&s->failed, &none, r);
	if (held)
		leash_drop();
	return NULL;
}

static void *work(void *argument)
{
	struct column_scan *s = argument;
	struct column_worker *w = NULL;
	bool held = leash_hold(s->run->budget.leash);
	int none = 0;
	int r = column_worker_new(s, &s->exacts[atomic_fetch_add(&s->next_thread, 1)], &w);

	if (r == 0)
		r = work_on(s, w);
	column_worker_free(w);
	if (r < 0)
		atomic_compare_exchange_strong(&s->failed, &none, r);
	if (held)
		leash_drop();
	return NULL;
}

/* What stands for itself is whole numbers, which are added first: then it does not matter which
 * thread had them. */
static int merge_exacts(struct column_scan *s)
{
	int r = 0;

	for (unsigned i = 1; r == 0 && i < s->thread_n; i++) {
		r = grouping_merge(&s->exacts[0], &s->exacts[i]);
		if (r == 0)
			grouping_done(&s->exacts[i]);
	}
	return r == 0 ? grouping_merge(&s->parts[0].groups, &s->exacts[0]) : r;
}

static int merge(struct column_scan *s)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < COLUMN_PARTS; i++) {
		if (column_grouped(s->query)) {
			r = grouping_merge(&s->parts[0].groups, &s->parts[i].groups);
			if (r == 0)
				grouping_done(&s->parts[i].groups);
		} else {
			r = ordering_merge(&s->parts[0].ordering, &s->parts[i].ordering);
			if (r == 0)
				ordering_done(&s->parts[i].ordering);
		}
	}
	return r == 0 && s->exact ? merge_exacts(s) : r;
}

static int on_all_threads(struct column_scan *s, void *(*run)(void *))
{
	pthread_t threads[RUN_THREADS_MOST];
	unsigned started = 0;

	atomic_store(&s->next_thread, 0);
	while (started + 1 < s->thread_n && pthread_create(&threads[started], NULL, run, s) == 0)
		started++;
	run(s); /* what got no thread is done here */
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&s->failed);
}

int column_scan_run(struct column_scan *s)
{
	int r = 0;

	if (column_totals_fit(s)) {
		r = snapshot_joint(s->run->options->snapshot, &s->in_heads);
		if (r == 0)
			r = on_all_threads(s, work_totals);
	}
	if (r == 0)
		r = on_all_threads(s, work);
	return r < 0 ? r : merge(s);
}
