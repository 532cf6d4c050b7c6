/* store/flush.c - heads become segments.
 *
 * The traces of a head are sorted by their starts and handed to the segment's writer, each with its
 * rows in order of arrival.  Nothing is changed in the head: readers go on with it until the
 * manifest names the segment (store/engine_change.c). */
#include "store/flush.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "base/vec.h"
#include "core/clock.h"
#include "model/event_unique.h"
#include "store/engine_int.h"
#include "store/feed_file.h"
#include "store/pace.h"
#include "store/split_trace.h"

/* Rows of traces in the order of their starts lie all over the memory of the head, and finding the
 * page costs as much as fetching the line.  So some traces are worked on together, step by step:
 * their runs, and the rows of these are touched; their attributes; then they are written.  Whatever
 * one has to wait for, the others wait for at the same time.  (They are touched, not prefetched: a
 * processor may forget a prefetch when it does not know the page.) */
#define TOGETHER      32    /* traces */
#define TOGETHER_ROWS 1024  /* after so many they are enough; a trace may have more */
#define TOUCH_ROWS    32u   /* of a run, */
#define TOUCH_RUNS    8     /* and runs of a trace: one with more is not waited for alone */
#define KEEP_ROWS     65536 /* memory for more is given back at once */
#define LINE          64

/* The rows of some traces, one after the other. */
struct gathered {
	struct event_ref *refs;
	size_t n, capacity;
	size_t ends[TOGETHER];
};

struct flush {
	struct engine *engine;
	struct view *view; /* its segments are the store's, as long as `files` is held */
	struct head *head;
	struct runs_mark mark;
	uint64_t number;
	struct radix_item *order;   /* traces by start; when their rows are written, by hash */
	struct radix_item *spare;   /* for sorting them */
	struct split_trace *traces; /* by hash, once the rows are written */
	struct gathered rows;
	bool with_feed;
	struct feed_runs feed;
	struct segment_writer *writer;
};

static void flush_done(struct flush *f)
{
	segment_writer_abort(f->writer);
	feed_runs_done(&f->feed);
	free(f->order);
	free(f->spare);
	free(f->traces);
	free(f->rows.refs);
}

static int order_make(struct flush *f)
{
	size_t n = f->mark.traces;

	f->order = malloc((n + 1) * sizeof(*f->order));
	f->spare = malloc((n + 1) * sizeof(*f->spare));
	if (!f->order || !f->spare)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->order[i] = (struct radix_item){(uint64_t)runs_start_ns(&f->head->runs, i), i};
	radix_sort(f->order, f->spare, n);
	return 0;
}

/* What is known of the traces, in the order of their hashes: not sorted when it is there, but made
 * so. */
static int traces_make(struct flush *f)
{
	const struct runs *runs = &f->head->runs;
	size_t n = f->mark.traces;

	f->traces = malloc((n + 1) * sizeof(*f->traces));
	if (!f->traces)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->order[i] = (struct radix_item){segment_id_hash(runs_trace_id(runs, i)), i};
	radix_sort(f->order, f->spare, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t trace = f->order[i].value;

		if (i + TOGETHER < n)
			runs_fetch(runs, f->order[i + TOGETHER].value);
		f->traces[i] = (struct split_trace){.hash = f->order[i].key,
						    .id = runs_trace_id(runs, trace),
						    .start_ns = runs_start_ns(runs, trace),
						    .whole = runs_rooted(runs, trace)};
	}
	return 0;
}

static inline void touch(const void *p)
{
	(void)*(const volatile char *)p;
}

/* Rows that stand side by side. */
static inline void touch_events(const struct event *e, uint32_t n)
{
	const char *at = (const char *)e, *end = (const char *)(e + MIN(n, TOUCH_ROWS));

	touch(at);
	for (at += LINE; at < end; at += LINE)
		__builtin_prefetch(at);
	__builtin_prefetch(end - 1);
}

/* Each run of a trace says where the next one is: the chains of all n traces are followed at the
 * same time. */
static void touch_runs(const struct flush *f, const struct radix_item *order, size_t n)
{
	const struct runs *runs = &f->head->runs;
	const struct run *at[TOGETHER];
	bool any = true;

	for (size_t k = 0; k < n; k++)
		at[k] = runs_first(runs, f->mark, order[k].value);
	for (int turn = 0; turn < TOUCH_RUNS && any; turn++) {
		any = false;
		for (size_t k = 0; k < n; k++) {
			if (!at[k])
				continue;
			touch_events(runs_batch(runs, at[k]->batch)->events + at[k]->first,
				     at[k]->count);
			at[k] = runs_next(runs, f->mark, at[k]);
			any = true;
		}
	}
}

static void touch_attrs(const struct gathered *of)
{
	for (size_t i = 0; i < of->n && i < TOGETHER_ROWS; i++) {
		const struct event *e = event_get(of->refs[i]);
		const struct attr *a = of->refs[i].batch->attrs + e->attrs.first;
		const char *at = (const char *)a, *end = (const char *)(a + e->attrs.count);

		if (e->attrs.count == 0)
			continue;
		touch(at);
		touch(end - 1); /* what is looked at first */
		/* What most rows have, without a loop that ends at another place each time. */
		__builtin_prefetch(at + LINE);
		for (at += 2 * LINE; at < end; at += LINE)
			__builtin_prefetch(at);
	}
}

static int gather_trace(struct flush *f, uint32_t trace)
{
	const struct runs *runs = &f->head->runs;
	struct gathered *to = &f->rows;

	for (const struct run *run = runs_first(runs, f->mark, trace); run;
	     run = runs_next(runs, f->mark, run)) {
		const struct batch *batch = runs_batch(runs, run->batch);

		if (to->n + run->count > to->capacity &&
		    !vec_reserve(&to->refs, &to->capacity, to->n + run->count, sizeof(*to->refs)))
			return -ENOMEM;
		for (uint32_t i = 0; i < run->count; i++)
			to->refs[to->n++] = (struct event_ref){batch, run->first + i};
	}
	return 0;
}

/* The rows of up to n traces; how many there are is returned. */
static ssize_t gather(struct flush *f, const struct radix_item *order, size_t n)
{
	struct gathered *to = &f->rows;
	size_t k = 0;

	touch_runs(f, order, n);
	to->n = 0;
	do {
		int r = gather_trace(f, order[k].value);

		if (r < 0)
			return r;
		to->ends[k++] = to->n;
	} while (k < n && to->n < TOGETHER_ROWS);
	touch_attrs(to);
	return (ssize_t)k;
}

/* Notes the batches of the rows that are left of a trace.  Repeats are taken out here, so that the
 * writer finds none and the rows are counted right. */
static int feed_note(struct flush *f, uint32_t trace, struct event_ref *refs, size_t *n)
{
	const struct runs *runs = &f->head->runs;
	size_t at = 0;
	int r = events_unique(refs, n);

	for (const struct run *run = runs_first(runs, f->mark, trace); run && r == 0;
	     run = runs_next(runs, f->mark, run)) {
		const struct batch *batch = runs_batch(runs, run->batch);
		size_t from = at;

		while (at < *n && refs[at].batch == batch &&
		       refs[at].index - run->first < run->count)
			at++;
		r = feed_runs_add(&f->feed, runs_seq(runs, run->batch), at - from);
	}
	return r;
}

static int trace_write(struct flush *f, uint32_t trace, struct event_ref *refs, size_t n)
{
	int r = f->with_feed ? feed_note(f, trace, refs, &n) : 0;

	return r == 0 ? segment_writer_add(f->writer, refs, n) : r;
}

static int gathered_write(struct flush *f, const struct radix_item *order, size_t n)
{
	struct gathered *of = &f->rows;
	int r = 0;

	for (size_t k = 0; k < n && r == 0; k++) {
		size_t from = k > 0 ? of->ends[k - 1] : 0;

		r = trace_write(f, order[k].value, of->refs + from, of->ends[k] - from);
	}
	if (of->capacity > KEEP_ROWS) {
		free(of->refs);
		*of = (struct gathered){0};
	}
	return r;
}

static int rows_write(struct flush *f)
{
	size_t n = f->mark.traces;

	for (size_t i = 0; i < n;) {
		const struct radix_item *order = f->order + i;
		ssize_t k = gather(f, order, MIN(n - i, (size_t)TOGETHER));
		int r = k < 0 ? (int)k : gathered_write(f, order, (size_t)k);

		if (r < 0)
			return r;
		i += (size_t)k;
	}
	return 0;
}

static int finish(struct flush *f, struct segment_info *info)
{
	struct engine *e = f->engine;
	struct segment_seal seal = {.seq_first = f->head->seq_first, .seq_last = f->head->seq_last};
	_cleanup_(freep)
	struct trace_id *split = NULL;
	int r = traces_make(f);

	if (r == 0)
		r = split_mark(f->view, f->traces, f->mark.traces, NULL, 0, &e->filter);
	if (r == 0)
		r = split_list(f->traces, f->mark.traces, &split, &seal.split_n);
	if (r == 0 && f->with_feed)
		r = feed_file_save(e->fs, e->dir, f->number, &f->feed);
	if (r == 0) {
		seal.split = split;
		r = segment_writer_finish(TAKE_PTR(f->writer), &seal, info);
	}
	if (r < 0 && f->with_feed)
		feed_file_remove(e->fs, e->dir, f->number);
	return r;
}

/* The segment is there; now it becomes part of the store. */
static int install(struct flush *f, const struct segment_info *info)
{
	struct engine *e = f->engine;
	struct head *h = f->head;
	const struct manifest_segment row = {
		.number = f->number,
		.seq_first = h->seq_first,
		.seq_last = h->seq_last,
		.received_min_ns = h->received_min_ns,
		.received_max_ns = h->received_max_ns,
		.rows = info->rows,
		.blocks = info->blocks,
		.pieces = info->pieces,
		.bytes = info->bytes,
		.feed = f->with_feed,
	};
	struct engine_change change = {.flushed = h};
	struct segment *segment;
	int r = engine_open_segment(e, f->number, &segment, NULL);

	if (r < 0) {
		engine_discard(e, f->number);
		return r;
	}
	change.add = view_segment_new(&row, segment);
	if (change.add) {
		split_keep(change.add, f->traces, f->mark.traces, &e->filter);
		r = engine_change(e, &change);
	} else {
		engine_discard(e, f->number);
		r = -ENOMEM;
	}
	view_segment_unref(change.add);
	if (r == 0) {
		split_trim(f->view);
		atomic_fetch_add(&e->counters.flushes, 1);
		atomic_fetch_add(&e->counters.flushed_rows, info->rows);
		atomic_fetch_add(&e->counters.flushed_bytes, info->bytes);
	}
	return r;
}

/* With `files` held. */
static int flush_head(struct engine *e, struct view *view)
{
	const struct segment_options options = {0};
	struct head *head = view->heads[0];
	struct segment_info info;
	struct flush f = {.engine = e,
			  .view = view,
			  .head = head,
			  .mark = runs_mark(&head->runs),
			  .with_feed = head->cursor_n > 0};
	int r = engine_tidy(e);

	if (r == 0)
		r = order_make(&f);
	f.number = engine_number(e);
	if (r == 0)
		r = segment_writer_new(e->fs, e->dir, f.number, &options, &f.writer);
	if (r == 0)
		r = rows_write(&f);
	if (r == 0)
		r = finish(&f, &info);
	if (r == 0)
		r = install(&f, &info);
	if (r < 0)
		atomic_fetch_add(&e->counters.flush_failures, 1);
	else if (e->wal)
		wal_retire(e->wal, head->seq_last); /* or the next time */
	flush_done(&f);
	return r;
}

int flush_oldest(struct engine *e)
{
	int64_t began_ns = clock_mono_ns();
	struct view *view;
	int r = 0;

	pthread_mutex_lock(&e->files);
	view = engine_view(e);
	if (view->head_n > 1)
		r = flush_head(e, view);
	if (r == 0 && view->heads[0]->bytes >= e->options.flush_bytes) /* others say little */
		atomic_store(&e->flush_pace,
			     pace_note(atomic_load(&e->flush_pace), clock_mono_ns() - began_ns,
				       view->heads[0]->bytes));
	pthread_mutex_unlock(&e->files);
	view_unref(view);
	return r;
}

int flush_all(struct engine *e)
{
	struct view *old;
	size_t frozen;
	bool again;
	int r = 0;

	do {
		pthread_mutex_lock(&e->lock);
		old = engine_rotate(e);
		frozen = e->view->head_n - 1;
		pthread_mutex_unlock(&e->lock);
		view_unref(old);
		/* With as many frozen heads as may be, the active one had no room among them. */
		again = old || frozen > 0;
		for (; r == 0 && frozen > 0; frozen--)
			r = flush_oldest(e);
	} while (r == 0 && again);
	return r;
}
