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

/* Rows of traces in the order of their starts lie all over the memory of the head.  So a trace is
 * looked at in steps, some traces apart: where its runs are; which rows it has, and these are asked
 * for; then what they refer to; then it is written. */
#define AHEAD          8     /* traces; a power of two */
#define AHEAD_ROWS     32u   /* of each */
#define AHEAD_CAPACITY 65536 /* rows of a trace; memory for more is given back at once */
#define LINE           64

/* The rows of one trace. */
struct gathered {
	struct event_ref *refs;
	size_t n, capacity;
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
	struct gathered ahead[AHEAD];
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
	for (size_t i = 0; i < AHEAD; i++)
		free(f->ahead[i].refs);
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

		if (i + AHEAD < n)
			runs_fetch(runs, f->order[i + AHEAD].value);
		f->traces[i] = (struct split_trace){.hash = f->order[i].key,
						    .id = runs_trace_id(runs, trace),
						    .start_ns = runs_start_ns(runs, trace),
						    .whole = runs_rooted(runs, trace)};
	}
	return 0;
}

/* Rows that stand side by side. */
static inline void fetch_events(const struct event *e, uint32_t n)
{
	const char *at = (const char *)e, *end = (const char *)(e + MIN(n, AHEAD_ROWS));

	do {
		__builtin_prefetch(at);
		at += LINE;
	} while (at < end);
	__builtin_prefetch(end - 1);
}

static int gather(struct flush *f, uint32_t trace, struct gathered *to)
{
	const struct runs *runs = &f->head->runs;

	to->n = 0;
	for (const struct run *run = runs_first(runs, f->mark, trace); run;
	     run = runs_next(runs, f->mark, run)) {
		const struct batch *batch = runs_batch(runs, run->batch);

		if (to->n + run->count > to->capacity &&
		    !vec_reserve(&to->refs, &to->capacity, to->n + run->count, sizeof(*to->refs)))
			return -ENOMEM;
		fetch_events(batch->events + run->first, run->count);
		for (uint32_t i = 0; i < run->count; i++)
			to->refs[to->n++] = (struct event_ref){batch, run->first + i};
	}
	return 0;
}

static void fetch_attrs(const struct gathered *of)
{
	for (size_t i = 0; i < of->n && i < AHEAD_ROWS; i++) {
		const struct event *e = event_get(of->refs[i]);
		const struct attr *a = of->refs[i].batch->attrs + e->attrs.first;
		const char *at = (const char *)a, *end = (const char *)(a + e->attrs.count);

		/* What most rows have, without a loop that ends at another place each time; the
		 * last one may lie in a line of its own, and is looked at first. */
		__builtin_prefetch(end - 1);
		__builtin_prefetch(at);
		__builtin_prefetch(at + LINE);
		__builtin_prefetch(at + 2 * LINE);
		for (at += 3 * LINE; at < end; at += LINE)
			__builtin_prefetch(at);
	}
}

/* Notes the batches of the rows that are left of a trace.  Repeats are taken out here, so that the
 * writer finds none and the rows are counted right. */
static int feed_note(struct flush *f, uint32_t trace, struct gathered *of)
{
	const struct runs *runs = &f->head->runs;
	size_t at = 0;
	int r = events_unique(of->refs, &of->n);

	for (const struct run *run = runs_first(runs, f->mark, trace); run && r == 0;
	     run = runs_next(runs, f->mark, run)) {
		const struct batch *batch = runs_batch(runs, run->batch);
		size_t from = at;

		while (at < of->n && of->refs[at].batch == batch &&
		       of->refs[at].index - run->first < run->count)
			at++;
		r = feed_runs_add(&f->feed, runs_seq(runs, run->batch), at - from);
	}
	return r;
}

static int trace_write(struct flush *f, uint32_t trace, struct gathered *of)
{
	int r = f->with_feed ? feed_note(f, trace, of) : 0;

	if (r == 0)
		r = segment_writer_add(f->writer, of->refs, of->n);
	if (of->capacity > AHEAD_CAPACITY) {
		free(of->refs);
		*of = (struct gathered){0};
	}
	return r;
}

/* Each run of a trace says where the next one is: the chains of some traces are followed at the
 * same time, a run of each while trace `i` is written. */
static void walk_chains(const struct flush *f, size_t i, const struct run *walked[AHEAD])
{
	const struct runs *runs = &f->head->runs;

	if (i + 2 * AHEAD < f->mark.traces)
		runs_fetch(runs, f->order[i + 2 * AHEAD].value);
	for (size_t k = 0; k < AHEAD; k++) {
		if (!walked[k])
			continue;
		walked[k] = runs_next(runs, f->mark, walked[k]);
		__builtin_prefetch(walked[k]);
	}
	walked[i % AHEAD] =
		i + AHEAD + AHEAD / 2 < f->mark.traces
			? runs_first(runs, f->mark, f->order[i + AHEAD + AHEAD / 2].value)
			: NULL;
	__builtin_prefetch(walked[i % AHEAD]);
}

static int rows_write(struct flush *f)
{
	const struct run *walked[AHEAD] = {NULL};
	size_t n = f->mark.traces;
	int r = 0;

	for (size_t i = 0; i < n + AHEAD - 1 && r == 0; i++) {
		walk_chains(f, i, walked);
		if (i < n)
			r = gather(f, f->order[i].value, &f->ahead[i % AHEAD]);
		if (i >= AHEAD / 2 && i - AHEAD / 2 < n)
			fetch_attrs(&f->ahead[(i - AHEAD / 2) % AHEAD]);
		if (r == 0 && i >= AHEAD - 1)
			r = trace_write(f, f->order[i - (AHEAD - 1)].value,
					&f->ahead[(i - (AHEAD - 1)) % AHEAD]);
	}
	return r;
}

static int finish(struct flush *f, struct segment_info *info)
{
	struct engine *e = f->engine;
	struct segment_seal seal = {.seq_first = f->head->seq_first, .seq_last = f->head->seq_last};
	_cleanup_(freep)
	struct trace_id *split = NULL;
	int r = traces_make(f);

	if (r == 0)
		r = split_mark(f->view, f->traces, f->mark.traces, NULL, 0);
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
	uint64_t *hashes;
	int r = engine_open_segment(e, f->number, &segment, NULL);

	if (r < 0) {
		engine_discard(e, f->number);
		return r;
	}
	hashes = split_hashes(f->traces, f->mark.traces);
	change.add = view_segment_new(&row, segment, hashes, hashes ? f->mark.traces : 0);
	if (change.add) {
		r = engine_change(e, &change);
	} else {
		engine_discard(e, f->number);
		r = -ENOMEM;
	}
	view_segment_unref(change.add);
	if (r == 0) {
		split_hashes_trim(f->view);
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
