/* exec/column_scan.c - a query over columns at work: threads and merging. */
#include "exec/column_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int column_scan_init(struct column_scan *s, struct query_at *run, const struct column_query *q,
		     const struct series_steps *steps)
{
	const struct view *view = run->options->snapshot->view;
	bool grouped = q->kind == COLUMN_GROUP || q->kind == COLUMN_SERIES;
	int r = 0;

	*s = (struct column_scan){.run = run, .query = q, .steps = *steps};
	column_filter_init(&s->drivers, q, NULL, NULL);
	pthread_mutex_init(&s->lock, NULL);
	for (uint32_t i = 0; i < q->aggregate_n; i++)
		s->timed |= q->aggregates[i].kind == AGG_FIRST ||
			    q->aggregates[i].kind == AGG_LAST ||
			    (q->aggregates[i].kind == AGG_RATE && q->aggregates[i].seconds <= 0);
	for (uint32_t i = 0; r == 0 && i < COLUMN_PARTS; i++)
		r = grouped ? grouping_init(&s->parts[i].groups,
					    q->key_n + (q->kind == COLUMN_SERIES), q->aggregates,
					    q->aggregate_n, &run->budget)
			    : ordering_init(&s->parts[i].ordering, q->key_n, q->descending,
					    q->output_n - q->key_n, q->limit, &run->budget);
	s->shapes = calloc(view->segment_n + 1, sizeof(struct column_shapes *));
	return r == 0 && !s->shapes ? -ENOMEM : r;
}

void column_scan_done(struct column_scan *s)
{
	const struct view *view = s->run->options->snapshot->view;
	bool grouped = s->query->kind == COLUMN_GROUP || s->query->kind == COLUMN_SERIES;

	for (uint32_t i = 0; i < COLUMN_PARTS; i++) {
		if (grouped)
			grouping_done(&s->parts[i].groups);
		else
			ordering_done(&s->parts[i].ordering);
	}
	for (size_t i = 0; s->shapes && i < view->segment_n; i++)
		column_shapes_free(s->shapes[i]);
	free(s->shapes);
	pthread_mutex_destroy(&s->lock);
}

static int shapes_make(struct column_scan *s, size_t i)
{
	struct segment *segment = s->run->options->snapshot->view->segments[i]->segment;
	int r = s->query->only_spans ? 0 : segment_has_native(segment);

	if (r != 0)
		return r > 0 ? -EOPNOTSUPP : r;
	return column_shapes_new(s->query, &s->drivers, segment, &s->shapes[i]);
}

int column_scan_shapes(struct column_scan *s, const struct segment *segment,
		       const struct column_shapes **ret_shapes)
{
	const struct view *view = s->run->options->snapshot->view;
	size_t i = 0;
	int r = 0;

	while (i < view->segment_n && view->segments[i]->segment != segment)
		i++;
	if (i == view->segment_n)
		return -ENOENT;
	pthread_mutex_lock(&s->lock);
	if (!s->shapes[i])
		r = shapes_make(s, i);
	*ret_shapes = s->shapes[i];
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void *work(void *argument)
{
	struct column_scan *s = argument;
	uint32_t part;
	int r = 0, none = 0;

	while (r == 0 && (part = atomic_fetch_add(&s->next, 1)) < COLUMN_PARTS)
		r = column_part_run(s, part);
	if (r < 0)
		atomic_compare_exchange_strong(&s->failed, &none, r);
	return NULL;
}

static int merge(struct column_scan *s)
{
	bool grouped = s->query->kind == COLUMN_GROUP || s->query->kind == COLUMN_SERIES;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < COLUMN_PARTS; i++) {
		if (grouped) {
			r = grouping_merge(&s->parts[0].groups, &s->parts[i].groups);
			if (r == 0)
				grouping_done(&s->parts[i].groups);
		} else {
			r = ordering_merge(&s->parts[0].ordering, &s->parts[i].ordering);
			if (r == 0)
				ordering_done(&s->parts[i].ordering);
		}
	}
	return r;
}

int column_scan_run(struct column_scan *s)
{
	pthread_t threads[RUN_THREADS_MOST];
	unsigned started = 0;
	int r;

	while (started + 1 < s->run->threads && started < RUN_THREADS_MOST &&
	       pthread_create(&threads[started], NULL, work, s) == 0)
		started++;
	work(s); /* what got no thread is done here */
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	r = atomic_load(&s->failed);
	return r < 0 ? r : merge(s);
}
