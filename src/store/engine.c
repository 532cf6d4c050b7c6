/* store/engine.c - the durable engine: opened, closed, and what store.h asks of it. */
#include "store/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "segment/group_cache.h"
#include "store/background.h"
#include "store/compact.h"
#include "store/engine_int.h"
#include "store/feed.h"
#include "store/find.h"
#include "store/flush.h"
#include "store/operations.h"
#include "store/parts.h"
#include "store/retain.h"
#include "store/span_walk.h"

#define MEMORY_DEFAULT ((size_t)1 << 30)
#define GROUPS_MOST    ((size_t)64 << 20) /* bytes of groups kept for the next question */
#define FLUSH_DEFAULT  ((size_t)8 << 20)
#define FLUSH_SOON     12 /* times larger heads while much comes in, … */
#define FLUSH_FAST     32 /* … and more than is flushed */
/* With as many again in one batch and what the log has room for, still fewer than a segment may
 * have.
 */
#define FLUSH_STRINGS          ((size_t)4 << 20)
#define FLUSH_INTERVAL_DEFAULT (300 * NS_PER_S)
#define COMPACT_RATE_DEFAULT   ((uint64_t)32 << 20)

void engine_report(struct engine *e, const char *format, ...)
{
	char text[512];
	va_list args;

	if (!e->options.report)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	e->options.report(e->options.context, text);
}

struct view *engine_view(struct engine *e)
{
	struct view *view;

	pthread_mutex_lock(&e->lock);
	view = view_ref(e->view);
	pthread_mutex_unlock(&e->lock);
	return view;
}

struct thinning *engine_thinning(struct engine *e)
{
	struct thinning *t;

	pthread_mutex_lock(&e->lock);
	t = thinning_ref(e->thinning);
	pthread_mutex_unlock(&e->lock);
	return t;
}

int engine_set_thinning(struct store *s, const struct thin_rules *rules, struct error *error)
{
	struct engine *e = engine_of(s);
	struct thinning *fresh, *old;
	int r = thinning_new(rules, &fresh, error);

	if (r < 0)
		return r;
	pthread_mutex_lock(&e->lock);
	old = e->thinning;
	e->thinning = fresh;
	pthread_mutex_unlock(&e->lock);
	thinning_unref(old);
	return 0;
}

void engine_snapshot(struct engine *e, struct snapshot *ret_snapshot)
{
	snapshot_init(ret_snapshot, engine_view(e));
}

static int snapshot_now(struct store *s, struct snapshot *ret_snapshot)
{
	engine_snapshot(engine_of(s), ret_snapshot);
	return 0;
}

/* --- questions --- */

static int engine_recent(struct store *s, int64_t since_ns, store_recent_fn *each, void *context)
{
	struct engine *e = engine_of(s);

	return e->wal ? wal_recent(e->wal, since_ns, each, context) : 0;
}

static uint64_t engine_hash_seed(struct store *s)
{
	struct engine *e = engine_of(s);

	return e->wal ? wal_hash_seed(e->wal) : 0;
}

static int engine_trace(struct store *s, struct trace_id id, struct event_set *ret_set)
{
	struct snapshot snapshot;
	struct event_set set = {0};
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_trace(&snapshot, id, &set);
	snapshot_done(&snapshot);
	if (r < 0)
		event_set_done(&set);
	else
		*ret_set = set;
	return r;
}

static int engine_find(struct store *s, const struct store_query *query,
		       struct trace_list *ret_list)
{
	struct snapshot snapshot;
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_find(&snapshot, query, ret_list);
	snapshot_done(&snapshot);
	return r;
}

static int engine_spans(struct store *s, const struct store_walk *walk)
{
	struct snapshot snapshot;
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_spans(&snapshot, walk);
	snapshot_done(&snapshot);
	return r;
}

static int engine_all(struct store *s, struct event_set *ret_set)
{
	struct snapshot snapshot;
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_all(&snapshot, ret_set);
	snapshot_done(&snapshot);
	return r;
}

static int engine_services(struct store *s, struct service_list *ret_list)
{
	struct snapshot snapshot;
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_services(&snapshot, ret_list);
	snapshot_done(&snapshot);
	return r;
}

static uint64_t engine_feed_end(struct store *s)
{
	struct engine *e = engine_of(s);
	uint64_t end;

	pthread_mutex_lock(&e->lock);
	end = e->last_seq;
	pthread_mutex_unlock(&e->lock);
	return end;
}

static int engine_cursor_get(struct store *s, struct slice name, uint64_t *ret_seq)
{
	struct engine *e = engine_of(s);
	const struct manifest_cursor *cursor;

	pthread_mutex_lock(&e->lock);
	cursor = manifest_find_cursor(&e->cursors, name);
	if (cursor)
		*ret_seq = cursor->seq;
	pthread_mutex_unlock(&e->lock);
	return cursor ? 0 : -ENOENT;
}

static int engine_operations(struct store *s, struct operation_list *ret_list)
{
	struct snapshot snapshot;
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_operations(&snapshot, ret_list);
	snapshot_done(&snapshot);
	return r;
}

static void counters_read(struct engine *e, struct store_stats *stats)
{
	struct engine_counters *c = &e->counters;
	struct wal_stats log = e->wal ? wal_stats(e->wal) : (struct wal_stats){0};

	for (int i = 0; i < STORE_REFUSALS; i++)
		stats->refused[i] = atomic_load(&c->refused[i]);
	stats->durable = true;
	stats->log_files = log.files;
	stats->log_bytes = log.live_bytes;
	stats->log_records = log.records;
	stats->log_written_bytes = log.bytes;
	stats->log_syncs = log.syncs;
	stats->log_failures = log.failures;
	stats->flushes = atomic_load(&c->flushes);
	stats->flush_failures = atomic_load(&c->flush_failures);
	stats->flushed_events = atomic_load(&c->flushed_rows);
	stats->flushed_bytes = atomic_load(&c->flushed_bytes);
	stats->compactions = atomic_load(&c->compactions);
	stats->compaction_failures = atomic_load(&c->compaction_failures);
	stats->compacted_events = atomic_load(&c->compacted_rows);
	stats->compacted_bytes = atomic_load(&c->compacted_bytes);
	stats->removed_segments = atomic_load(&c->removed_segments);
	stats->removed_events = atomic_load(&c->removed_rows);
	stats->removed_bytes = atomic_load(&c->removed_bytes);
	stats->damaged = atomic_load(&c->damaged);
	for (int i = 0; i < THIN_FATES; i++)
		stats->thinned[i] = atomic_load(&c->thinned[i]);
}

static struct store_stats engine_stats(struct store *s)
{
	struct engine *e = engine_of(s);
	struct store_stats stats = {.bytes_limit = e->options.memory_bytes};
	struct snapshot snapshot;

	engine_snapshot(e, &snapshot);
	for (size_t i = 0; i < snapshot.view->segment_n; i++) {
		const struct manifest_segment *row = &snapshot.view->segments[i]->row;

		stats.batches += row->seq_last - row->seq_first + 1;
		stats.events += row->rows;
		stats.spans += row->blocks;
		stats.traces += row->pieces;
		stats.segments++;
		stats.segment_bytes += row->bytes;
	}
	for (size_t i = 0; i < snapshot.view->head_n; i++) {
		struct head *h = snapshot.view->heads[i];

		pthread_rwlock_rdlock(&h->lock);
		stats.batches += runs_mark(&h->runs).batches;
		stats.events += h->runs.event_n;
		stats.spans += h->runs.span_n;
		stats.traces += runs_mark(&h->runs).traces;
		pthread_rwlock_unlock(&h->lock);
	}
	snapshot_done(&snapshot);
	stats.bytes = atomic_load(&e->memory);
	counters_read(e, &stats);
	return stats;
}

/* --- opening and closing --- */

int engine_open_segment(struct engine *e, uint64_t number, struct segment **ret_segment,
			struct error *error)
{
	int r = segment_open(e->fs, e->dir, number, ret_segment, error);

	if (r == 0)
		segment_set_cache(*ret_segment, e->groups);
	return r;
}

static void engine_free(struct engine *e)
{
	e->wal = wal_close(e->wal);
	view_unref(e->view);
	group_cache_unref(e->groups);
	thinning_unref(e->thinning);
	manifest_done(&e->manifest);
	manifest_done(&e->cursors);
	free(e->orphans);
	pthread_mutex_destroy(&e->merges);
	id_filter_unref(e->filter);
	pthread_mutex_destroy(&e->files);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->changed);
	free(e->dir);
	free(e);
}

static void engine_close(struct store *s)
{
	struct engine *e = engine_of(s);

	e->background = background_stop(e->background);
	/* What is in memory is in the log as well; a segment makes the next start quick. */
	if (!e->options.manual)
		flush_all(e);
	engine_free(e);
}

static struct engine *engine_new(const struct engine_options *options)
{
	static const struct store_ops ops = {
		.append = engine_append,
		.recent = engine_recent,
		.hash_seed = engine_hash_seed,
		.trace = engine_trace,
		.parts_next = parts_next,
		.parts_done = parts_done,
		.find = engine_find,
		.services = engine_services,
		.operations = engine_operations,
		.spans = engine_spans,
		.all = engine_all,
		.feed_next = feed_next,
		.feed_end = engine_feed_end,
		.feed_done = feed_done,
		.cursor_get = engine_cursor_get,
		.snapshot = snapshot_now,
		.stats = engine_stats,
		.close = engine_close,
	};
	struct engine *e = calloc(1, sizeof(*e));
	struct engine_options *o;
	pthread_condattr_t monotonic;
	struct head *head;

	if (!e)
		return NULL;
	e->store.ops = &ops;
	e->options = *options;
	o = &e->options;
	e->fs = o->fs ? o->fs : fs_real();
	e->dir = strdup(o->dir);
	o->dir = e->dir;
	o->manual |= o->read_only;
	o->memory_bytes = o->memory_bytes ? o->memory_bytes : MEMORY_DEFAULT;
	o->flush_bytes = o->flush_bytes ? o->flush_bytes : FLUSH_DEFAULT;
	o->flush_bytes_most =
		o->flush_bytes_most ? o->flush_bytes_most : FLUSH_FAST * o->flush_bytes;
	/* Two heads must fit: one is filled while the other is written. */
	o->flush_bytes_most = MIN(o->flush_bytes_most, o->memory_bytes / 3);
	if (!o->flush_bytes_soon)
		o->flush_bytes_soon = MIN(FLUSH_SOON * o->flush_bytes, o->flush_bytes_most);
	o->flush_rows_soon = o->flush_rows_soon ? o->flush_rows_soon : COMPACT_ROWS_SMALL;
	o->flush_strings = o->flush_strings ? o->flush_strings : FLUSH_STRINGS;
	o->flush_interval_ns = o->flush_interval_ns ? o->flush_interval_ns : FLUSH_INTERVAL_DEFAULT;
	o->compact_rate = o->compact_rate ? o->compact_rate : COMPACT_RATE_DEFAULT;
	pthread_mutex_init(&e->merges, NULL);
	pthread_mutex_init(&e->files, NULL);
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&e->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	e->view = view_new(0);
	head = head_new();
	if (e->view && head)
		view_add_head(e->view, head);
	head_unref(head);
	e->groups = group_cache_new(GROUPS_MOST);
	if (e->dir && e->view && head && e->groups)
		return e;
	engine_free(e);
	return NULL;
}

int engine_open(const struct engine_options *options, struct store **ret_store, struct error *error)
{
	struct engine *e = engine_new(options);
	int r;

	if (!e)
		return error_set(error, -ENOMEM, "out of memory");
	r = e->options.read_only ? engine_read(e, error) : engine_recover(e, error);
	if (r == 0 && !e->options.read_only)
		r = engine_open_log(e, error);
	if (r == 0 && !e->options.manual)
		r = background_start(e, &e->background, error);
	if (r < 0) {
		engine_free(e);
		return r;
	}
	*ret_store = &e->store;
	return 0;
}

int engine_flush(struct store *s)
{
	return engine_of(s)->options.read_only ? -EROFS : flush_all(engine_of(s));
}

int engine_compact(struct store *s, bool all)
{
	return engine_of(s)->options.read_only ? -EROFS : compact_until_done(engine_of(s), all);
}

int engine_compact_once(struct store *s, bool all)
{
	static const struct compact_pace at_once = {0};

	if (engine_of(s)->options.read_only)
		return -EROFS;
	return compact_once(engine_of(s), all ? COMPACT_ALL : COMPACT_IDLE, &at_once);
}

int engine_retain(struct store *s)
{
	return engine_of(s)->options.read_only ? -EROFS : retain(engine_of(s), clock_wall_ns());
}

int engine_settle(struct store *s)
{
	int r = engine_flush(s);

	if (r == 0)
		r = engine_retain(s);
	return r < 0 ? r : compact_until_done(engine_of(s), false);
}
