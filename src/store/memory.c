/* store/memory.c - the plain engine: everything in memory, found by walking.
 *
 * Batches are kept as they came, with the index of store/runs.h: searches walk the traces under the
 * read side of one lock.  Writers go first. */
#include "store/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"
#include "store/manifest.h"
#include "store/operation_tally.h"
#include "store/runs.h"
#include "store/span_walk.h"
#include "store/store_int.h"
#include "store/summary.h"

#define LIMIT_DEFAULT 20

struct memory_store {
	struct store store;
	pthread_rwlock_t lock; /* guards all below */
	struct runs runs;
	struct store_stats stats;
	struct manifest cursors; /* only its cursors */
};

static struct memory_store *memory_of(struct store *s)
{
	return container_of(s, struct memory_store, store);
}

static int keep(struct memory_store *m, struct batch *b)
{
	int r;

	if (runs_cost(b) > m->stats.bytes_limit - m->runs.bytes) {
		m->stats.refused[REFUSED_MEMORY]++;
		return -ENOBUFS;
	}
	r = runs_add(&m->runs, b, NULL, m->stats.batches + 1);
	if (r == 0)
		m->stats.batches++;
	return r;
}

static void memory_append(struct store *s, struct store_append *append)
{
	struct memory_store *m = memory_of(s);
	int r;

	pthread_rwlock_wrlock(&m->lock);
	r = manifest_check_cursors(&m->cursors, append->cursors, append->cursor_n);
	if (r == 0 && append->batch)
		r = keep(m, append->batch);
	if (r == 0)
		r = manifest_apply_cursors(&m->cursors, append->cursors, append->cursor_n);
	pthread_rwlock_unlock(&m->lock);
	if (r < 0)
		batch_unref(append->batch);
	append->done(append, r);
}

/* Nothing outlives the process, and the way in remembers what came in this one. */
static int memory_recent(struct store *s, int64_t since_ns, store_recent_fn *each, void *context)
{
	return 0;
}

static uint64_t memory_hash_seed(struct store *s)
{
	return rng_process_seed();
}

static int memory_trace(struct store *s, struct trace_id id, struct event_set *ret_set)
{
	struct memory_store *m = memory_of(s);
	struct event_set set = {0};
	uint32_t trace;
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	trace = runs_find(&m->runs, id);
	if (trace == RUNS_NONE)
		r = -ENOENT;
	else if (!runs_events(&m->runs, runs_mark(&m->runs), trace, &set))
		r = -ENOMEM;
	pthread_rwlock_unlock(&m->lock);
	if (r < 0)
		event_set_done(&set);
	else
		*ret_set = set;
	return r;
}

/* Where the next part begins. */
struct parts {
	struct runs_mark mark;
	const struct run *run; /* NULL: the end */
	uint32_t row;          /* of the run */
};

static struct parts *parts_begin(struct memory_store *m, struct trace_id id)
{
	struct parts *p = calloc(1, sizeof(*p));
	uint32_t trace;

	if (!p)
		return NULL;
	pthread_rwlock_rdlock(&m->lock);
	p->mark = runs_mark(&m->runs);
	trace = runs_find(&m->runs, id);
	p->run = trace == RUNS_NONE ? NULL : runs_first(&m->runs, p->mark, trace);
	pthread_rwlock_unlock(&m->lock);
	return p;
}

static int memory_parts_next(struct store *s, struct store_parts *parts, size_t most,
			     struct event_set *ret_set)
{
	struct memory_store *m = memory_of(s);
	struct event_set set = {0};
	struct parts *p = parts->inside;

	if (!p)
		p = parts->inside = parts_begin(m, parts->id);
	if (!p)
		return -ENOMEM;
	while (p->run && parts->skip > 0) {
		uint32_t n = (uint32_t)MIN(parts->skip, (uint64_t)(p->run->count - p->row));

		parts->skip -= n;
		p->row += n;
		if (p->row == p->run->count) {
			p->run = runs_next(&m->runs, p->mark, p->run);
			p->row = 0;
		}
	}
	while (p->run && set.n < most) {
		uint32_t n = (uint32_t)MIN(most - set.n, (size_t)(p->run->count - p->row));

		if (!event_set_add(&set, runs_batch(&m->runs, p->run->batch),
				   p->run->first + p->row, n)) {
			event_set_done(&set);
			return -ENOMEM;
		}
		p->row += n;
		if (p->row == p->run->count) {
			p->run = runs_next(&m->runs, p->mark, p->run);
			p->row = 0;
		}
	}
	if (set.n == 0)
		return 0;
	*ret_set = set;
	return 1;
}

static void memory_parts_done(struct store *s, struct store_parts *p)
{
	free(p->inside);
	p->inside = NULL;
}

/* --- searching --- */

struct hit {
	struct trace_key key; /* first: what the comparisons below see */
	uint32_t trace;
};

struct hits {
	struct hit *rows;
	size_t n, capacity;
};

static int by_newest(const void *a, const void *b)
{
	return trace_key_order(STORE_NEWEST, a, b);
}

static int by_slowest(const void *a, const void *b)
{
	return trace_key_order(STORE_SLOWEST, a, b);
}

static int collect_hits(const struct memory_store *m, const struct store_query *q,
			struct hits *hits)
{
	struct runs_mark mark = runs_mark(&m->runs);
	struct event_set set = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < mark.traces; i++) {
		struct trace_key key = {.id = runs_trace_id(&m->runs, i)};

		if (!store_query_has_part(q, key.id))
			continue;
		event_set_clear(&set);
		if (!runs_events(&m->runs, mark, i, &set)) {
			r = -ENOMEM;
			break;
		}
		if (!trace_matches(set.refs, set.n, q, &key.start_ns, &key.duration_ns) ||
		    !trace_key_is_after(q, &key))
			continue;
		if (!vec_reserve(&hits->rows, &hits->capacity, hits->n + 1, sizeof(*hits->rows)))
			r = -ENOMEM;
		else
			hits->rows[hits->n++] = (struct hit){key, i};
	}
	event_set_done(&set);
	return r;
}

static int summarise_hits(const struct memory_store *m, const struct hits *hits,
			  struct trace_list *list)
{
	struct event_set set = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		event_set_clear(&set);
		if (!runs_events(&m->runs, runs_mark(&m->runs), hits->rows[i].trace, &set))
			r = -ENOMEM;
		else
			r = trace_summarise(set.refs, set.n, list->arena, &list->rows[i]);
	}
	event_set_done(&set);
	return r;
}

static int memory_find(struct store *s, const struct store_query *query,
		       struct trace_list *ret_list)
{
	struct memory_store *m = memory_of(s);
	struct trace_list list = {.arena = calloc(1, sizeof(struct arena))};
	size_t limit = query->limit ? query->limit : LIMIT_DEFAULT;
	struct hits hits = {0};
	int r = list.arena ? 0 : -ENOMEM;

	pthread_rwlock_rdlock(&m->lock);
	if (r == 0)
		r = collect_hits(m, query, &hits);
	if (r == 0) {
		if (hits.n > 1)
			qsort(hits.rows, hits.n, sizeof(*hits.rows),
			      query->order == STORE_SLOWEST ? by_slowest : by_newest);
		list.n = MIN(hits.n, limit);
		list.more = hits.n > limit;
		list.rows = arena_zalloc(list.arena, list.n + 1, sizeof(*list.rows));
		r = list.rows ? summarise_hits(m, &hits, &list) : -ENOMEM;
	}
	pthread_rwlock_unlock(&m->lock);
	free(hits.rows);
	if (r < 0)
		trace_list_done(&list);
	else
		*ret_list = list;
	return r;
}

static int memory_all(struct store *s, struct event_set *ret_set)
{
	struct memory_store *m = memory_of(s);
	struct event_set set = {0};
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	for (uint32_t i = 0; r == 0 && i < runs_mark(&m->runs).batches; i++) {
		struct batch *b = runs_batch(&m->runs, i);

		if (!event_set_add(&set, b, 0, (uint32_t)b->event_n))
			r = -ENOMEM;
	}
	pthread_rwlock_unlock(&m->lock);
	if (r < 0)
		event_set_done(&set);
	else
		*ret_set = set;
	return r;
}

static int memory_services(struct store *s, struct service_list *ret_list)
{
	struct event_set set = {0};
	int r = memory_all(s, &set);

	if (r == 0)
		r = services_summarise(set.refs, set.n, ret_list);
	event_set_done(&set);
	return r;
}

static int memory_operations(struct store *s, struct operation_list *ret_list)
{
	struct operation_tally tally;
	struct event_set set = {0};
	int r;

	operation_tally_init(&tally);
	r = memory_all(s, &set);
	if (r == 0)
		r = operation_tally_rows(&tally, set.refs, set.n);
	if (r == 0)
		r = operation_tally_list(&tally, ret_list);
	event_set_done(&set);
	operation_tally_done(&tally);
	return r;
}

/* Under the read lock, so the callback must not come back to the store. */
static int memory_spans(struct store *s, const struct store_walk *walk)
{
	struct memory_store *m = memory_of(s);
	struct span_gather spans = {0};
	struct event_set set = {0};
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	for (uint32_t i = 0; r == 0 && i < runs_mark(&m->runs).traces; i++) {
		int64_t start_ns, duration_ns;

		event_set_clear(&set);
		if (!runs_events(&m->runs, runs_mark(&m->runs), i, &set)) {
			r = -ENOMEM;
			break;
		}
		trace_bounds(set.refs, set.n, &start_ns, &duration_ns);
		if ((walk->from_ns && start_ns < walk->from_ns) ||
		    (walk->to_ns && start_ns >= walk->to_ns))
			continue;
		r = span_gather_rows(&spans, walk, set.refs, set.n);
		if (r == 0)
			r = span_gather_show(&spans, runs_trace_id(&m->runs, i), walk);
	}
	pthread_rwlock_unlock(&m->lock);
	event_set_done(&set);
	span_gather_done(&spans);
	return r;
}

/* Batches are numbered from 1, without gaps. */
static int memory_feed_next(struct store *s, struct store_feed *f, struct feed_page *ret_page)
{
	struct memory_store *m = memory_of(s);
	struct feed_page page = {.cursor = f->cursor};
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	while (r == 0 && page.cursor < runs_mark(&m->runs).batches && page.set.n < FEED_PAGE_ROWS) {
		struct batch *b = runs_batch(&m->runs, (uint32_t)page.cursor++);

		if (!event_set_add(&page.set, b, 0, (uint32_t)b->event_n))
			r = -ENOMEM;
	}
	pthread_rwlock_unlock(&m->lock);
	if (r < 0 || page.set.n == 0) {
		event_set_done(&page.set);
		return r;
	}
	f->cursor = page.cursor;
	*ret_page = page;
	return 1;
}

static uint64_t memory_feed_end(struct store *s)
{
	struct memory_store *m = memory_of(s);
	uint64_t end;

	pthread_rwlock_rdlock(&m->lock);
	end = runs_mark(&m->runs).batches;
	pthread_rwlock_unlock(&m->lock);
	return end;
}

static int memory_cursor_get(struct store *s, struct slice name, uint64_t *ret_seq)
{
	struct memory_store *m = memory_of(s);
	const struct manifest_cursor *cursor;

	pthread_rwlock_rdlock(&m->lock);
	cursor = manifest_find_cursor(&m->cursors, name);
	if (cursor)
		*ret_seq = cursor->seq;
	pthread_rwlock_unlock(&m->lock);
	return cursor ? 0 : -ENOENT;
}

static struct store_stats memory_stats(struct store *s)
{
	struct memory_store *m = memory_of(s);
	struct store_stats stats;

	pthread_rwlock_rdlock(&m->lock);
	stats = m->stats;
	stats.events = m->runs.event_n;
	stats.spans = m->runs.span_n;
	stats.traces = runs_mark(&m->runs).traces;
	stats.bytes = m->runs.bytes;
	pthread_rwlock_unlock(&m->lock);
	return stats;
}

static void memory_close(struct store *s)
{
	struct memory_store *m = memory_of(s);

	runs_done(&m->runs);
	manifest_done(&m->cursors);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

int memory_store_open(size_t bytes_limit, struct store **ret_store)
{
	static const struct store_ops ops = {
		.append = memory_append,
		.recent = memory_recent,
		.hash_seed = memory_hash_seed,
		.trace = memory_trace,
		.parts_next = memory_parts_next,
		.parts_done = memory_parts_done,
		.find = memory_find,
		.services = memory_services,
		.operations = memory_operations,
		.spans = memory_spans,
		.all = memory_all,
		.feed_next = memory_feed_next,
		.feed_end = memory_feed_end,
		.cursor_get = memory_cursor_get,
		.stats = memory_stats,
		.close = memory_close,
	};
	struct memory_store *m = calloc(1, sizeof(*m));
	pthread_rwlockattr_t attr;

	if (!m)
		return -ENOMEM;
	m->store.ops = &ops;
	m->stats.bytes_limit = bytes_limit;
	runs_init(&m->runs);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&m->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	*ret_store = &m->store;
	return 0;
}
