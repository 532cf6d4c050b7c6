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
#include "base/rng.h"
#include "store/store_int.h"

#define CHUNK_FIRST 1024
#define STEP        8 /* runs between the steps of a look-up */
#define LINE        64
#define RUNS_MOST   ((uint32_t)1 << 31)
#define COUNT_FROM  4096 /* rows: below, room is made for as many runs */

struct kept {
	struct batch *batch;
	uint64_t seq;
};

/* Half a line of the cache: looking one up, and adding to it, touches nothing else. */
struct chain {
	struct trace_id id;
	uint32_t first;                 /* run */
	uint32_t last : 31, rooted : 1; /* the writer's, as is what follows */
	int64_t start_ns;               /* as in struct run_found */
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

/* Makes the chunks of entries up to `need` - 1. */
static bool reserve(void **chunks, uint64_t need, size_t size)
{
	uint64_t have = 0;

	for (int i = 0; i < RUNS_CHUNKS && have < need; i++) {
		uint64_t n = (uint64_t)CHUNK_FIRST << i;

		if (!chunks[i])
			chunks[i] = aligned_alloc(LINE, n * size);
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

/* The half of a hash that a map asks for. */
static uint32_t hash_half(struct trace_id id, uint64_t seed)
{
	return (uint32_t)(wide_hash_bytes((const char *)id.b, sizeof(id.b), seed) >> 32);
}

uint32_t runs_find(const struct runs *r, struct trace_id id)
{
	uint64_t hash = (uint64_t)hash_half(id, r->by_id.seed) << 32;

	return map_get(&r->by_id, hash, chain_has_id, r, &id);
}

static int64_t clamp_ns(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static bool is_block(const struct event *e)
{
	return e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
}

static void row_note(struct run_list *list, struct run_found *run, const struct event *e)
{
	run->count++;
	if (!is_block(e))
		return;
	list->span_n++;
	run->rooted |= e->id2 == 0;
	if (e->time_ns != 0)
		run->start_ns = MIN(run->start_ns, clamp_ns(e->time_ns));
}

struct run_list *run_list_new(const struct batch *b)
{
	size_t most = b->event_n < COUNT_FROM ? b->event_n : count_runs(b);
	struct run_list *list =
		b->event_n < RUNS_MOST ? malloc(sizeof(*list) + most * sizeof(*list->rows)) : NULL;
	uint64_t seed = rng_process_seed();
	struct run_found *run = NULL;

	if (!list)
		return NULL;
	*list = (struct run_list){0};
	for (uint32_t i = 0; i < b->event_n; i++) {
		const struct event *e = &b->events[i];

		if (!run || !trace_id_eq(run->id, e->trace_id)) {
			run = &list->rows[list->n++];
			*run = (struct run_found){.id = e->trace_id,
						  .start_ns = INT64_MAX,
						  .hash = hash_half(e->trace_id, seed),
						  .first = i};
		}
		row_note(list, run, e);
	}
	return list;
}

/* Where the next entries go, while a batch is being added. */
struct growing {
	uint32_t run_n, trace_n, batch;
};

/* Room was made for all of it. */
static void run_add(struct runs *r, struct growing *g, const struct run_found *found)
{
	uint32_t at = g->run_n++, trace;
	struct run *run = run_get(r, at);
	uint64_t hash = (uint64_t)found->hash << 32;

	run->batch = g->batch;
	run->first = found->first;
	run->count = found->count;
	atomic_init(&run->next, RUNS_NONE);
	trace = map_get(&r->by_id, hash, chain_has_id, r, &found->id);
	if (trace != MAP_NONE) {
		struct chain *chain = chain_get(r, trace);

		atomic_store_explicit(&run_get(r, chain->last)->next, at, memory_order_release);
		chain->last = at;
		chain->start_ns = MIN(chain->start_ns, found->start_ns);
		chain->rooted |= found->rooted;
		return;
	}
	*chain_get(r, g->trace_n) =
		(struct chain){found->id, at, at, found->rooted, found->start_ns};
	map_put(&r->by_id, hash, g->trace_n++);
}

/* Runs of a trace come apart, and each look-up goes through three places that are in no cache.  So
 * they are worked on in steps, several at a time: where the trace would stand, the trace, its last
 * run, and only then the run itself. */
static void list_add(struct runs *r, struct growing *g, const struct run_found *rows, size_t n)
{
	for (size_t i = 0; i < n + (size_t)3 * STEP; i++) {
		size_t second = i - STEP, third = i - (size_t)2 * STEP,
		       last = i - (size_t)3 * STEP; /* wrap around at first */
		uint32_t trace;

		if (i < n)
			map_prefetch(&r->by_id, (uint64_t)rows[i].hash << 32);
		if (second < n) {
			trace = map_peek(&r->by_id, (uint64_t)rows[second].hash << 32);
			if (trace != MAP_NONE)
				__builtin_prefetch(chain_get(r, trace));
		}
		if (third < n) {
			trace = map_peek(&r->by_id, (uint64_t)rows[third].hash << 32);
			if (trace != MAP_NONE)
				__builtin_prefetch(run_get(r, chain_get(r, trace)->last), 1);
		}
		if (last < n)
			run_add(r, g, &rows[last]);
	}
}

int runs_add(struct runs *r, struct batch *b, const struct run_list *list, uint64_t seq)
{
	_cleanup_(freep)
	struct run_list *own = list ? NULL : run_list_new(b);
	struct growing g = {.run_n = r->run_n, .trace_n = r->trace_n, .batch = r->batch_n};

	list = list ? list : own;
	if (!list || !reserve(r->batches, (uint64_t)g.batch + 1, sizeof(struct kept)) ||
	    !reserve(r->runs, (uint64_t)g.run_n + list->n, sizeof(struct run)) ||
	    !reserve(r->traces, (uint64_t)g.trace_n + list->n, sizeof(struct chain)) ||
	    !map_reserve(&r->by_id, list->n))
		return -ENOMEM;
	*kept_get(r, g.batch) = (struct kept){b, seq};
	list_add(r, &g, list->rows, list->n);
	r->event_n += b->event_n;
	r->span_n += list->span_n;
	r->bytes += cost(b, list->n);
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
