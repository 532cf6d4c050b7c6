/* store/memory.c - the plain engine: everything in memory, found by walking.
 *
 * Batches are kept as they came.  A map leads from a trace id to a chain of runs; a run is a
 * stretch of neighbouring rows of one batch that belong to one trace:
 *
 *   traces[t] ──first──▶ runs[a] ──next──▶ runs[b] ──next──▶ none
 *                        batch 3, rows 0-9  batch 7, rows 40-41
 *
 * So the way in costs one look-up per run, not per span, and nothing else is indexed: searches walk
 * the traces, newest last, under the read side of one lock.  Writers go first. */
#include "store/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/store_int.h"
#include "store/summary.h"

#define NONE          UINT32_MAX
#define LIMIT_DEFAULT 20

struct run {
	uint32_t batch, first, count;
	uint32_t next; /* index of the trace's next run, or NONE */
};

struct chain {
	struct trace_id id;
	uint32_t first, last; /* runs */
};

struct memory_store {
	struct store store;
	pthread_rwlock_t lock; /* guards all below */
	struct batch **batches;
	size_t batch_n, batch_capacity;
	struct chain *traces;
	size_t trace_n, trace_capacity;
	struct run *runs;
	size_t run_n, run_capacity;
	struct map by_id; /* trace id → index of its chain */
	struct store_stats stats;
};

static struct memory_store *memory_of(struct store *s)
{
	return container_of(s, struct memory_store, store);
}

static bool chain_has_id(const void *context, uint32_t value, const void *key)
{
	const struct memory_store *m = context;

	return trace_id_eq(m->traces[value].id, *(const struct trace_id *)key);
}

static uint64_t hash_id(const struct memory_store *m, struct trace_id id)
{
	return hash_bytes(id.b, sizeof(id.b), m->by_id.seed);
}

static uint32_t chain_find(const struct memory_store *m, struct trace_id id)
{
	return map_get(&m->by_id, hash_id(m, id), chain_has_id, m, &id);
}

/* Room for everything a batch can add: afterwards nothing can fail. */
static bool reserve_for(struct memory_store *m, size_t runs)
{
	return vec_reserve(&m->batches, &m->batch_capacity, m->batch_n + 1, sizeof(*m->batches)) &&
	       vec_reserve(&m->runs, &m->run_capacity, m->run_n + runs, sizeof(*m->runs)) &&
	       vec_reserve(&m->traces, &m->trace_capacity, m->trace_n + runs, sizeof(*m->traces)) &&
	       m->run_n + runs < NONE && map_reserve(&m->by_id, runs);
}

static void add_run(struct memory_store *m, struct trace_id id, struct run run)
{
	uint32_t at = (uint32_t)m->run_n, chain = chain_find(m, id);

	m->runs[m->run_n++] = run;
	if (chain != MAP_NONE) {
		m->runs[m->traces[chain].last].next = at;
		m->traces[chain].last = at;
		return;
	}
	m->traces[m->trace_n] = (struct chain){id, at, at};
	map_put(&m->by_id, hash_id(m, id), (uint32_t)m->trace_n++);
}

static size_t count_runs(const struct batch *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->event_n; i++)
		n += i == 0 || !trace_id_eq(b->events[i].trace_id, b->events[i - 1].trace_id);
	return n;
}

static int keep(struct memory_store *m, struct batch *b)
{
	size_t runs = count_runs(b),
	       bytes = batch_bytes(b) + runs * (sizeof(struct run) + sizeof(struct chain));

	if (bytes > m->stats.bytes_limit - m->stats.bytes) {
		m->stats.refused++;
		return -ENOBUFS;
	}
	if (!reserve_for(m, runs))
		return -ENOMEM;
	for (uint32_t i = 0; i < b->event_n;) {
		struct trace_id id = b->events[i].trace_id;
		struct run run = {(uint32_t)m->batch_n, i, 0, NONE};

		while (i < b->event_n && trace_id_eq(b->events[i].trace_id, id)) {
			m->stats.spans +=
				b->events[i].type == EVENT_SPAN || b->events[i].type == EVENT_BEGIN;
			i++;
		}
		run.count = i - run.first;
		add_run(m, id, run);
	}
	m->batches[m->batch_n++] = b;
	m->stats.batches++;
	m->stats.events += b->event_n;
	m->stats.traces = m->trace_n;
	m->stats.bytes += bytes;
	return 0;
}

static void memory_append(struct store *s, struct store_append *append)
{
	struct memory_store *m = memory_of(s);
	int r;

	pthread_rwlock_wrlock(&m->lock);
	r = keep(m, append->batch);
	pthread_rwlock_unlock(&m->lock);
	if (r < 0)
		batch_unref(append->batch);
	append->done(append, r);
}

/* Appends the refs of one chain.  With `set` NULL-batched: see event_set_add(). */
static bool chain_events(const struct memory_store *m, uint32_t chain, struct event_set *set)
{
	for (uint32_t at = m->traces[chain].first; at != NONE; at = m->runs[at].next) {
		const struct run *run = &m->runs[at];

		if (!event_set_add(set, m->batches[run->batch], run->first, run->count))
			return false;
	}
	return true;
}

static int memory_trace(struct store *s, struct trace_id id, struct event_set *ret_set)
{
	struct memory_store *m = memory_of(s);
	struct event_set set = {0};
	uint32_t chain;
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	chain = chain_find(m, id);
	if (chain == MAP_NONE)
		r = -ENOENT;
	else if (!chain_events(m, chain, &set))
		r = -ENOMEM;
	pthread_rwlock_unlock(&m->lock);
	if (r < 0)
		event_set_done(&set);
	else
		*ret_set = set;
	return r;
}

/* --- searching --- */

struct hit {
	int64_t start_ns;
	uint32_t chain;
	struct trace_id id;
};

struct hits {
	struct hit *rows;
	size_t n, capacity;
};

static int by_order(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return trace_order(x->start_ns, x->id, y->start_ns, y->id);
}

/* Forgets a set's content but keeps its memory, for the next trace. */
static void set_clear(struct event_set *set)
{
	for (size_t i = 0; i < set->batch_n; i++)
		batch_unref(set->batches[i]);
	set->batch_n = set->n = 0;
}

static int collect_hits(const struct memory_store *m, const struct store_query *q,
			struct hits *hits)
{
	struct event_set set = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->trace_n; i++) {
		int64_t start, duration;

		set_clear(&set);
		if (!chain_events(m, i, &set)) {
			r = -ENOMEM;
			break;
		}
		if (!trace_matches(set.refs, set.n, q, &start, &duration))
			continue;
		if (q->after &&
		    trace_order(start, m->traces[i].id, q->after_start_ns, q->after_id) <= 0)
			continue;
		if (!vec_reserve(&hits->rows, &hits->capacity, hits->n + 1, sizeof(*hits->rows)))
			r = -ENOMEM;
		else
			hits->rows[hits->n++] = (struct hit){start, i, m->traces[i].id};
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
		set_clear(&set);
		if (!chain_events(m, hits->rows[i].chain, &set))
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
			qsort(hits.rows, hits.n, sizeof(*hits.rows), by_order);
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
	for (size_t i = 0; r == 0 && i < m->batch_n; i++)
		if (!event_set_add(&set, m->batches[i], 0, (uint32_t)m->batches[i]->event_n))
			r = -ENOMEM;
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

static struct store_stats memory_stats(struct store *s)
{
	struct memory_store *m = memory_of(s);
	struct store_stats stats;

	pthread_rwlock_rdlock(&m->lock);
	stats = m->stats;
	pthread_rwlock_unlock(&m->lock);
	return stats;
}

static void memory_close(struct store *s)
{
	struct memory_store *m = memory_of(s);

	for (size_t i = 0; i < m->batch_n; i++)
		batch_unref(m->batches[i]);
	free(m->batches);
	free(m->traces);
	free(m->runs);
	map_done(&m->by_id);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

int memory_store_open(size_t bytes_limit, struct store **ret_store)
{
	static const struct store_ops ops = {
		.append = memory_append,
		.trace = memory_trace,
		.find = memory_find,
		.services = memory_services,
		.all = memory_all,
		.stats = memory_stats,
		.close = memory_close,
	};
	struct memory_store *m = calloc(1, sizeof(*m));
	pthread_rwlockattr_t attr;

	if (!m)
		return -ENOMEM;
	m->store.ops = &ops;
	m->stats.bytes_limit = bytes_limit;
	map_init(&m->by_id);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&m->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	*ret_store = &m->store;
	return 0;
}
