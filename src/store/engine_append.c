/* store/engine_append.c - the way in: from a request to the log, from there into the head, and from
 * one head to the next. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "store/engine_int.h"
#include "store/flush.h"
#include "store/pace.h"

#define FLUSH_CALM_NS (5 * NS_PER_S) /* a head that fills up faster may grow further */

static void refuse(struct engine *e, struct store_append *append, enum store_refusal cause, int r)
{
	atomic_fetch_add_explicit(&e->counters.refused[cause], 1, memory_order_relaxed);
	batch_unref(append->batch);
	free(append->runs);
	append->done(append, r);
}

static int cursors_check(struct engine *e, const struct store_append *append)
{
	int r;

	if (append->cursor_n == 0)
		return 0;
	pthread_mutex_lock(&e->lock);
	r = manifest_check_cursors(&e->cursors, append->cursors, append->cursor_n);
	pthread_mutex_unlock(&e->lock);
	return r;
}

/* A head with too many strings would never become a segment.  Is the active one full, and cannot
 * become one of those that wait to be written?  What is on its way still fits. */
static bool strings_full(struct engine *e)
{
	struct view *old;

	if (atomic_load_explicit(&e->strings, memory_order_relaxed) < e->options.flush_strings)
		return false;
	pthread_mutex_lock(&e->lock);
	old = engine_rotate(e);
	pthread_mutex_unlock(&e->lock);
	view_unref(old);
	return !old;
}

void engine_append(struct store *s, struct store_append *append)
{
	struct engine *e = engine_of(s);
	size_t bytes = append->batch ? batch_bytes(append->batch) : 0;
	int r = cursors_check(e, append);

	append->runs = NULL;
	if (r < 0) {
		batch_unref(append->batch);
		append->done(append, r);
		return;
	}
	if (e->options.read_only) {
		refuse(e, append, REFUSED_DISK, -EROFS);
		return;
	}
	if (append->batch && append->batch->strings > STORE_BATCH_STRINGS) {
		refuse(e, append, REFUSED_MEMORY, -E2BIG);
		return;
	}
	if (strings_full(e)) {
		refuse(e, append, REFUSED_MEMORY, -ENOBUFS);
		return;
	}
	if (atomic_fetch_add(&e->memory, bytes) + bytes > e->options.memory_bytes) {
		atomic_fetch_sub(&e->memory, bytes);
		refuse(e, append, REFUSED_MEMORY, -ENOBUFS);
		return;
	}
	if (append->batch) /* or by the log's thread, should there be no memory now */
		append->runs = run_list_new(append->batch);
	r = wal_append(e->wal, append);
	if (r < 0) {
		atomic_fetch_sub(&e->memory, bytes);
		refuse(e, append, r == -ENOBUFS ? REFUSED_QUEUE : REFUSED_DISK, r);
	}
}

struct view *engine_rotate(struct engine *e)
{
	struct view *old = e->view, *fresh;
	struct head *active = view_active(old), *head;
	struct manifest_cursor *cursors;

	if (head_is_empty(active) || old->head_n == VIEW_HEADS)
		return NULL;
	fresh = view_new(old->segment_n);
	head = head_new();
	cursors = malloc((e->cursors.cursor_n + 1) * sizeof(*cursors));
	if (!fresh || !head || !cursors) {
		view_unref(fresh);
		head_unref(head);
		free(cursors);
		return NULL; /* it goes on growing; the next batch asks again */
	}
	if (e->cursors.cursor_n)
		memcpy(cursors, e->cursors.cursors, e->cursors.cursor_n * sizeof(*cursors));
	active->cursors = cursors;
	active->cursor_n = e->cursors.cursor_n;
	for (size_t i = 0; i < old->segment_n; i++)
		view_add_segment(fresh, old->segments[i]);
	for (size_t i = 0; i < old->head_n; i++)
		view_add_head(fresh, old->heads[i]);
	view_add_head(fresh, head);
	head_unref(head);
	e->view = fresh;
	atomic_store(&e->strings, 0);
	pthread_cond_broadcast(&e->changed);
	return old;
}

/* Full for the pace at which it fills: large heads make large segments, which are written once.
 * But the sooner one is written, the sooner its memory is used again: new memory costs more than
 * filling it. */
static bool head_is_full(const struct engine *e, const struct head *h, int64_t now_ns)
{
	const struct engine_options *o = &e->options;

	if (h->bytes >= o->flush_bytes_most || h->strings >= o->flush_strings)
		return true;
	if (h->bytes >= o->flush_bytes_soon && h->rows >= o->flush_rows_soon &&
	    e->view->head_n == 1)
		return true;
	return h->bytes >= o->flush_bytes && now_ns - h->born_ns >= FLUSH_CALM_NS;
}

/* On the log's thread (or the one that opens). */
static int publish(struct engine *e, struct batch *batch, const struct run_list *list, uint64_t seq,
		   int64_t received_ns, const struct store_cursor *cursors, size_t cursor_n)
{
	struct view *old = NULL;
	int r;

	pthread_mutex_lock(&e->lock);
	r = manifest_apply_cursors(&e->cursors, cursors, cursor_n);
	if (r == 0 && batch)
		r = head_add(view_active(e->view), batch, list, seq, received_ns);
	if (r == 0) {
		e->last_seq = seq;
		e->last_append_ns = clock_mono_ns();
		atomic_store(&e->strings, view_active(e->view)->strings);
		if (head_is_full(e, view_active(e->view), e->last_append_ns))
			old = engine_rotate(e);
	}
	pthread_mutex_unlock(&e->lock);
	view_unref(old);
	return r;
}

static void engine_settled(void *context, struct store_append *chain, int result)
{
	struct engine *e = context;
	struct store_append *next;

	for (struct store_append *a = chain; a; a = next) {
		int r = result;

		next = a->next;
		if (next && next->runs)
			run_list_fetch(next->runs);
		if (r == 0)
			r = publish(e, a->batch, a->runs, a->seq,
				    a->batch ? a->batch->received_ns : 0, a->cursors, a->cursor_n);
		if (r < 0) {
			atomic_fetch_sub(&e->memory, a->batch ? batch_bytes(a->batch) : 0);
			atomic_fetch_add(&e->counters.refused[REFUSED_DISK], 1);
			batch_unref(a->batch);
		}
		free(a->runs);
		a->done(a, r);
	}
}

static int engine_replayed(void *context, const struct wal_record *record)
{
	struct engine *e = context;
	int r;

	if (record->batch) {
		batch_ref(record->batch);
		atomic_fetch_add(&e->memory, batch_bytes(record->batch));
	}
	r = publish(e, record->batch, NULL, record->seq, record->received_ns, record->cursors,
		    record->cursor_n);
	if (r < 0) {
		batch_unref(record->batch);
		return r;
	}
	/* No flusher runs yet.  A disk that is full is for later: memory holds what the log held.
	 */
	if (e->view->head_n > 1)
		flush_oldest(e);
	return 0;
}

static void engine_found(void *context, const struct wal_finding *finding)
{
	struct engine *e = context;

	if (finding->kind != WAL_TAIL_CUT)
		atomic_fetch_add(&e->counters.damaged, 1);
	engine_report(e, "%s, byte %llu: %s", finding->file, (unsigned long long)finding->offset,
		      finding->text);
}

/* On the log's thread. */
static int64_t pace(void *context, size_t bytes)
{
	struct engine *e = context;
	double known = atomic_load(&e->flush_pace);

	return pace_ns(atomic_load(&e->memory), e->options.memory_bytes, bytes,
		       known > 0 ? known : PACE_DEFAULT);
}

int engine_open_log(struct engine *e, struct error *error)
{
	const struct wal_options options = {
		.fs = e->fs,
		.dir = e->dir,
		.sync = e->options.sync,
		.interval_ns = e->options.sync_interval_ns,
		.file_bytes = e->options.wal_file_bytes,
		.dedup_ns = e->options.dedup_ns,
		.after_seq = e->manifest.flushed,
		.settle = engine_settled,
		.pace = e->options.manual ? NULL : pace,
		.replay = engine_replayed,
		.finding = engine_found,
		.context = e,
	};

	return wal_open(&options, &e->wal, error);
}
