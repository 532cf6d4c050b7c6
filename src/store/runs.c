/* store/runs.c - which rows of which batches belong to a trace.
 *
 * Three arrays that only grow, each in chunks of doubling size, so that an entry never moves:
 *
 *   chunk 0: 1024 entries | chunk 1: 2048 | chunk 2: 4096 | …
 *
 * The writer fills entries, links them into their chains, and then publishes the counts.  A reader
 * that took the counts before may meet a link to a run behind its mark; that is where it ends. */
#include "store/runs.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/store_int.h"

#define CHUNK_FIRST 1024
#define PREFETCHED  8 /* rows ahead */

struct kept {
	struct batch *batch;
	uint64_t seq;
};

struct chain {
	struct trace_id id;
	uint32_t first, last; /* runs; `last` is the writer's, as is what follows */
	int64_t start_ns;     /* the earliest of its blocks; INT64_MAX: none has a time */
	bool rooted;          /* has a block without a parent */
};

/* Which chunk an entry is in, and where. */
static void *entry(void *const *chunks, uint32_t at, size_t size)
{
	uint32_t from_first = at / CHUNK_FIRST + 1;
	int chunk = 31 - __builtin_clz(from_first);
	uint32_t before = ((1U << chunk) - 1) * CHUNK_FIRST;

	return (char *)chunks[chunk] + (size_t)(at - before) * size;
}

/* Makes the chunks of entries up to `need` - 1. */
static bool reserve(void **chunks, uint64_t need, size_t size)
{
	uint64_t have = 0;

	for (int i = 0; i < RUNS_CHUNKS && have < need; i++) {
		uint64_t n = (uint64_t)CHUNK_FIRST << i;

		if (!chunks[i])
			chunks[i] = malloc(n * size);
		if (!chunks[i])
			return false;
		have += n;
	}
	return have >= need && need < RUNS_NONE;
}

static struct run *run_get(const struct runs *r, uint32_t run)
{
	return entry(r->runs, run, sizeof(struct run));
}

static struct chain *chain_get(const struct runs *r, uint32_t trace)
{
	return entry(r->traces, trace, sizeof(struct chain));
}

static struct kept *kept_get(const struct runs *r, uint32_t batch)
{
	return entry(r->batches, batch, sizeof(struct kept));
}

void runs_init(struct runs *r)
{
	*r = (struct runs){0};
	map_init(&r->by_id);
}

void runs_done(struct runs *r)
{
	for (uint32_t i = 0; i < r->batch_n; i++)
		batch_unref(kept_get(r, i)->batch);
	for (int i = 0; i < RUNS_CHUNKS; i++) {
		free(r->batches[i]);
		free(r->traces[i]);
		free(r->runs[i]);
	}
	map_done(&r->by_id);
	*r = (struct runs){0};
}

static size_t count_runs(const struct batch *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->event_n; i++)
		n += i == 0 || !trace_id_eq(b->events[i].trace_id, b->events[i - 1].trace_id);
	return n;
}

static size_t cost(const struct batch *b, size_t runs)
{
	return batch_bytes(b) + sizeof(struct kept) +
	       runs * (sizeof(struct run) + sizeof(struct chain) + 2 * sizeof(struct map_slot));
}

size_t runs_cost(const struct batch *b)
{
	return cost(b, count_runs(b));
}

static bool chain_has_id(const void *context, uint32_t value, const void *key)
{
	return trace_id_eq(chain_get(context, value)->id, *(const struct trace_id *)key);
}

static uint64_t hash_id(const struct runs *r, struct trace_id id)
{
	return hash_bytes(id.b, sizeof(id.b), r->by_id.seed);
}

uint32_t runs_find(const struct runs *r, struct trace_id id)
{
	return map_get(&r->by_id, hash_id(r, id), chain_has_id, r, &id);
}

static int64_t clamp_ns(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Room was made for all of it. */
static void run_add(struct runs *r, struct trace_id id, uint32_t at, int64_t start_ns, bool rooted,
		    uint32_t *trace_n)
{
	uint64_t hash = hash_id(r, id);
	uint32_t trace = map_get(&r->by_id, hash, chain_has_id, r, &id);

	if (trace != MAP_NONE) {
		struct chain *chain = chain_get(r, trace);

		atomic_store_explicit(&run_get(r, chain->last)->next, at, memory_order_release);
		chain->last = at;
		chain->start_ns = MIN(chain->start_ns, start_ns);
		chain->rooted |= rooted;
		return;
	}
	*chain_get(r, *trace_n) = (struct chain){id, at, at, start_ns, rooted};
	map_put(&r->by_id, hash, (*trace_n)++);
}

int runs_add(struct runs *r, struct batch *b, uint64_t seq)
{
	uint32_t run_n = r->run_n, trace_n = r->trace_n, batch_n = r->batch_n;
	size_t runs = count_runs(b);

	if (b->event_n >= RUNS_NONE ||
	    !reserve(r->batches, (uint64_t)batch_n + 1, sizeof(struct kept)) ||
	    !reserve(r->runs, (uint64_t)run_n + runs, sizeof(struct run)) ||
	    !reserve(r->traces, (uint64_t)trace_n + runs, sizeof(struct chain)) ||
	    !map_reserve(&r->by_id, runs))
		return -ENOMEM;
	*kept_get(r, batch_n) = (struct kept){b, seq};
	for (uint32_t i = 0; i < b->event_n;) {
		struct trace_id id = b->events[i].trace_id;
		struct run *run = run_get(r, run_n);
		int64_t start_ns = INT64_MAX;
		uint32_t first = i;
		bool rooted = false;

		/* Spans of a trace seldom stand together: nearly each row is looked up. */
		if (i + PREFETCHED < b->event_n)
			map_prefetch(&r->by_id, hash_id(r, b->events[i + PREFETCHED].trace_id));

		while (i < b->event_n && trace_id_eq(b->events[i].trace_id, id)) {
			const struct event *e = &b->events[i++];

			if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
				continue;
			r->span_n++;
			rooted |= e->id2 == 0;
			if (e->time_ns != 0)
				start_ns = MIN(start_ns, clamp_ns(e->time_ns));
		}
		run->batch = batch_n;
		run->first = first;
		run->count = i - first;
		atomic_init(&run->next, RUNS_NONE);
		run_add(r, id, run_n++, start_ns, rooted, &trace_n);
	}
	r->event_n += b->event_n;
	r->bytes += cost(b, runs);
	atomic_store_explicit(&r->batch_n, batch_n + 1, memory_order_release);
	atomic_store_explicit(&r->trace_n, trace_n, memory_order_release);
	atomic_store_explicit(&r->run_n, run_n, memory_order_release);
	return 0;
}

struct runs_mark runs_mark(const struct runs *r)
{
	/* Runs first: whatever they refer to is then counted in the others as well. */
	uint32_t runs = atomic_load_explicit(&r->run_n, memory_order_acquire);

	return (struct runs_mark){atomic_load_explicit(&r->batch_n, memory_order_acquire),
				  atomic_load_explicit(&r->trace_n, memory_order_acquire), runs};
}

struct trace_id runs_trace_id(const struct runs *r, uint32_t trace)
{
	return chain_get(r, trace)->id;
}

int64_t runs_start_ns(const struct runs *r, uint32_t trace)
{
	const struct chain *chain = chain_get(r, trace);
	const struct run *first;

	if (chain->start_ns < INT64_MAX)
		return chain->start_ns;
	first = run_get(r, chain->first);
	return clamp_ns(runs_batch(r, first->batch)->events[first->first].time_ns);
}

bool runs_rooted(const struct runs *r, uint32_t trace)
{
	return chain_get(r, trace)->rooted;
}

const struct run *runs_first(const struct runs *r, struct runs_mark mark, uint32_t trace)
{
	uint32_t first = chain_get(r, trace)->first;

	return first < mark.runs ? run_get(r, first) : NULL;
}

void runs_fetch(const struct runs *r, uint32_t trace)
{
	__builtin_prefetch(chain_get(r, trace));
}

const struct run *runs_next(const struct runs *r, struct runs_mark mark, const struct run *run)
{
	uint32_t next = atomic_load_explicit(&run->next, memory_order_acquire);

	return next < mark.runs ? run_get(r, next) : NULL;
}

struct batch *runs_batch(const struct runs *r, uint32_t batch)
{
	return kept_get(r, batch)->batch;
}

uint64_t runs_seq(const struct runs *r, uint32_t batch)
{
	return kept_get(r, batch)->seq;
}

bool runs_events(const struct runs *r, struct runs_mark mark, uint32_t trace, struct event_set *set)
{
	for (const struct run *run = runs_first(r, mark, trace); run; run = runs_next(r, mark, run))
		if (!event_set_add(set, runs_batch(r, run->batch), run->first, run->count))
			return false;
	return true;
}
