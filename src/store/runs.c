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
#include <sys/mman.h>

#include "base/cleanup.h"
#include "store/store_int.h"

#define CHUNK_FIRST   1024
#define STEP          8 /* traces between the steps of a look-up */
#define LINE          64
#define PAGE_BYTES    ((uintptr_t)4096)
#define POPULATE_FROM ((size_t)64 << 10)

struct kept {
	struct batch *batch;
	uint64_t seq;
};

/* Half a line of the cache: looking one up, and adding to it, touches nothing else. */
struct chain {
	struct trace_id id;
	uint32_t first;                 /* run */
	uint32_t last : 31, rooted : 1; /* the writer's, as is what follows */
	int64_t start_ns;               /* as in struct run_trace */
};
_Static_assert(sizeof(struct chain) == 32, "two of them are a line");

/* Which chunk an entry is in, and where. */
static void *entry(void *const *chunks, uint32_t at, size_t size)
{
	uint32_t from_first = at / CHUNK_FIRST + 1;
	int chunk = 31 - __builtin_clz(from_first);
	uint32_t before = ((1U << chunk) - 1) * CHUNK_FIRST;

	return (char *)chunks[chunk] + (size_t)(at - before) * size;
}

/* Large ones all at once: that saves a fault for each page. */
static void *chunk_new(size_t bytes)
{
	char *p = aligned_alloc(LINE, bytes);
	uintptr_t skip = -(uintptr_t)p & (PAGE_BYTES - 1);

	if (p && bytes >= POPULATE_FROM)
		madvise(p + skip, (bytes - skip) & ~(PAGE_BYTES - 1), MADV_POPULATE_WRITE);
	return p;
}

/* Makes the chunks of entries up to `need` - 1. */
static bool reserve(void **chunks, uint64_t need, size_t size)
{
	uint64_t have = 0;

	for (int i = 0; i < RUNS_CHUNKS && have < need; i++) {
		uint64_t n = (uint64_t)CHUNK_FIRST << i;

		if (!chunks[i])
			chunks[i] = chunk_new(n * size);
		if (!chunks[i])
			return false;
		have += n;
	}
	return have >= need && need <= RUNS_MOST;
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
	*r = (struct runs){.start_min_ns = INT64_MAX};
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

static size_t cost(const struct batch *b, size_t runs)
{
	return batch_bytes(b) + sizeof(struct kept) +
	       runs * (sizeof(struct run) + sizeof(struct chain) + 2 * sizeof(struct map_slot));
}

size_t runs_cost(const struct batch *b)
{
	return cost(b, run_list_count(b));
}

static bool chain_has_id(const void *context, uint32_t value, const void *key)
{
	return trace_id_eq(chain_get(context, value)->id, *(const struct trace_id *)key);
}

uint32_t runs_find(const struct runs *r, struct trace_id id)
{
	uint64_t hash = (uint64_t)run_hash(id, r->by_id.seed) << 32;

	return map_find(&r->by_id, hash, chain_has_id, r, &id);
}

/* Where the next entries go, while a batch is being added. */
struct growing {
	uint32_t run_n, trace_n, batch;
	int64_t start_min_ns;
};

/* Puts the runs of a trace side by side; returns the first.  Room was made for all of it. */
static uint32_t pieces_add(struct runs *r, struct growing *g, const struct run_list *list,
			   uint32_t piece)
{
	uint32_t first = g->run_n;

	while (piece != RUNS_NONE) {
		const struct run_piece *p = &list->pieces[piece];
		struct run *run = run_get(r, g->run_n++);

		run->batch = g->batch;
		run->first = p->first;
		run->count = p->count;
		piece = p->next;
		atomic_init(&run->next, piece == RUNS_NONE ? RUNS_NONE : g->run_n);
	}
	return first;
}

static void trace_add(struct runs *r, struct growing *g, const struct run_list *list,
		      const struct run_trace *found)
{
	uint64_t hash = (uint64_t)found->hash << 32;
	uint32_t trace = map_find(&r->by_id, hash, chain_has_id, r, &found->id);
	uint32_t first = pieces_add(r, g, list, found->first), last = g->run_n - 1;
	struct chain *chain;

	if (trace == MAP_NONE) {
		*chain_get(r, g->trace_n) =
			(struct chain){found->id, first, last, found->rooted, found->start_ns};
		map_put(&r->by_id, hash, g->trace_n++);
		return;
	}
	chain = chain_get(r, trace);
	atomic_store_explicit(&run_get(r, chain->last)->next, first, memory_order_release);
	chain->last = last;
	chain->start_ns = MIN(chain->start_ns, found->start_ns);
	chain->rooted |= found->rooted;
}

/* Each look-up goes through three places that are in no cache.  So traces are worked on in steps,
 * several at a time: where the trace would stand, the trace, its last run, and only then the rest.
 */
static void list_add(struct runs *r, struct growing *g, const struct run_list *list)
{
	const struct run_trace *rows = list->traces;
	size_t n = list->trace_n;

	run_list_fetch(list);
	for (size_t i = 0; i < n + (size_t)3 * STEP; i++) {
		size_t second = i - STEP, third = i - (size_t)2 * STEP,
		       last = i - (size_t)3 * STEP; /* wrap around at first */
		uint32_t trace;

		if (i + RUN_LIST_AHEAD < n)
			__builtin_prefetch(&rows[i + RUN_LIST_AHEAD]);
		if (i < n)
			map_prefetch(&r->by_id, (uint64_t)rows[i].hash << 32);
		if (second < n) {
			__builtin_prefetch(&list->pieces[rows[second].first]);
			trace = map_peek(&r->by_id, (uint64_t)rows[second].hash << 32);
			if (trace != MAP_NONE)
				__builtin_prefetch(chain_get(r, trace), 1);
		}
		if (third < n) {
			trace = map_peek(&r->by_id, (uint64_t)rows[third].hash << 32);
			if (trace != MAP_NONE)
				__builtin_prefetch(run_get(r, chain_get(r, trace)->last), 1);
		}
		if (last < n) {
			trace_add(r, g, list, &rows[last]);
			/* What has no block with a time starts with any row. */
			g->start_min_ns =
				MIN(g->start_min_ns,
				    rows[last].start_ns < INT64_MAX ? rows[last].start_ns : 0);
		}
	}
}

int runs_add(struct runs *r, struct batch *b, const struct run_list *list, uint64_t seq)
{
	_cleanup_(freep)
	struct run_list *own = list ? NULL : run_list_new(b);
	struct growing g = {.run_n = r->run_n,
			    .trace_n = r->trace_n,
			    .batch = r->batch_n,
			    .start_min_ns = r->start_min_ns};

	list = list ? list : own;
	if (!list || !reserve(r->batches, (uint64_t)g.batch + 1, sizeof(struct kept)) ||
	    !reserve(r->runs, (uint64_t)g.run_n + list->n, sizeof(struct run)) ||
	    !reserve(r->traces, (uint64_t)g.trace_n + list->trace_n, sizeof(struct chain)) ||
	    !map_reserve(&r->by_id, list->trace_n))
		return -ENOMEM;
	*kept_get(r, g.batch) = (struct kept){b, seq};
	list_add(r, &g, list);
	r->event_n += b->event_n;
	r->span_n += list->span_n;
	r->bytes += cost(b, list->n);
	atomic_store_explicit(&r->start_min_ns, g.start_min_ns, memory_order_relaxed);
	atomic_store_explicit(&r->batch_n, g.batch + 1, memory_order_release);
	atomic_store_explicit(&r->trace_n, g.trace_n, memory_order_release);
	atomic_store_explicit(&r->run_n, g.run_n, memory_order_release);
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
	return run_time(runs_batch(r, first->batch)->events[first->first].time_ns);
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
