/* model/trace_clocks.c - a trace's edges as bounds on its processes' clocks. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/clock_align.h"
#include "model/trace_int.h"

struct bounds {
	struct map by_pair;
	struct clock_bound *list;
	size_t n, capacity;
	uint32_t last; /* edges of one pair often follow each other */
};

static void bounds_done(struct bounds *b)
{
	map_done(&b->by_pair);
	free(b->list);
}

static bool same_pair(const void *context, uint32_t value, const void *key)
{
	const struct clock_bound *a = &((const struct bounds *)context)->list[value], *b = key;

	return a->from == b->from && a->to == b->to;
}

static struct clock_bound *bound_of(struct bounds *b, uint32_t from, uint32_t to)
{
	struct clock_bound key = {
		.from = from, .to = to, .low_ns = INT64_MIN, .high_ns = INT64_MAX};
	uint64_t hash;
	uint32_t at = b->last;

	if (at < b->n && same_pair(b, at, &key))
		return &b->list[at];
	hash = hash_u64((uint64_t)from << 32 | to, b->by_pair.seed);
	at = map_get(&b->by_pair, hash, same_pair, b, &key);
	if (at == MAP_NONE) {
		if (!vec_reserve(&b->list, &b->capacity, b->n + 1, sizeof(*b->list)) ||
		    !map_put(&b->by_pair, hash, (uint32_t)b->n))
			return NULL;
		at = (uint32_t)b->n;
		b->list[b->n++] = key;
	}
	b->last = at;
	return &b->list[at];
}

/* A message left `from` at one raw time and reached `to` at another. */
static int add(struct bounds *b, uint32_t from, int64_t sent, uint32_t to, int64_t received)
{
	struct clock_bound *bound;

	if (from == to || sent == TIME_UNKNOWN || received == TIME_UNKNOWN)
		return 0;
	bound = bound_of(b, MIN(from, to), MAX(from, to));
	if (!bound)
		return -ENOMEM;
	/* both times lie in 1 … INT64_MAX, so no difference overflows */
	if (from < to) {
		bound->requests++;
		bound->low_ns = MAX(bound->low_ns, sent - received);
	} else {
		bound->responses++;
		bound->high_ns = MIN(bound->high_ns, received - sent);
	}
	return 0;
}

static int64_t raw_pos(const struct build *b, struct trace_pos at)
{
	switch (at.kind) {
	case POS_BEGIN:
		return b->blocks[at.index].begin_ns;
	case POS_END:
		return b->blocks[at.index].bits & BLOCK_RUNNING ? TIME_UNKNOWN
								: b->blocks[at.index].end_ns;
	default:
		return b->t->points[at.index].time_ns;
	}
}

static int collect(const struct build *b, struct bounds *bounds)
{
	const struct trace *t = b->t;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->block_n; i++) {
		const struct trace_block *child = &b->blocks[i], *parent;

		if (!(child->bits & BLOCK_REMOTE_PARENT) || child->bits & BLOCK_HAS_REQUEST ||
		    child->inferred != TRACE_NONE)
			continue;
		parent = &b->blocks[child->parent];
		r = add(bounds, parent->process, parent->begin_ns, child->process, child->begin_ns);
		if (r == 0 && child->bits & BLOCK_ENDS_IN_PARENT)
			r = add(bounds, child->process, child->end_ns, parent->process,
				parent->end_ns);
	}
	for (size_t i = 0; r == 0 && i < b->edge_n; i++) {
		const struct trace_edge *edge = &b->edges[i];
		uint32_t from = trace_pos_block(t, edge->from), to = trace_pos_block(t, edge->to);

		if (!(edge->repairs & REPAIR_CYCLE))
			r = add(bounds, b->blocks[from].process, raw_pos(b, edge->from),
				b->blocks[to].process, raw_pos(b, edge->to));
	}
	return r;
}

static int by_pair_cmp(const void *a, const void *b)
{
	const struct clock_bound *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The clock everything is measured by: that of the earliest root, true roots before orphans. */
static uint32_t anchor(const struct build *b)
{
	const struct trace_block *best = NULL;

	for (size_t i = 0; i < b->t->block_n; i++) {
		const struct trace_block *block = &b->blocks[i];

		if (block->parent != TRACE_NONE)
			continue;
		if (!best || (block->parent_id == 0) > (best->parent_id == 0) ||
		    ((block->parent_id == 0) == (best->parent_id == 0) &&
		     block->begin_ns < best->begin_ns))
			best = block;
	}
	return best ? best->process : 0;
}

int build_clocks(struct build *b)
{
	struct trace *t = b->t;
	_cleanup_(bounds_done)
	struct bounds bounds = {0};
	_cleanup_(freep)
	int64_t *offsets = NULL;
	int r;

	map_init(&bounds.by_pair);
	r = collect(b, &bounds);
	if (r < 0 || bounds.n == 0)
		return r;
	qsort(bounds.list, bounds.n, sizeof(*bounds.list), by_pair_cmp);
	offsets = calloc(t->process_n + 1, sizeof(*offsets));
	t->skews = arena_alloc(&t->arena, bounds.n * sizeof(*t->skews));
	if (!offsets || !t->skews)
		return -ENOMEM;
	if (!(b->flags & TRACE_RAW_CLOCKS)) {
		r = clock_align(bounds.list, bounds.n, (uint32_t)t->process_n, anchor(b), offsets);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < t->process_n; i++)
		t->processes[i].offset_ns = offsets[i];
	for (size_t i = 0; i < bounds.n; i++) {
		const struct clock_bound *bound = &bounds.list[i];

		t->skews[t->skew_n++] = (struct trace_skew){
			.from = bound->from,
			.to = bound->to,
			.requests = bound->requests,
			.responses = bound->responses,
			.low_ns = bound->low_ns,
			.high_ns = bound->high_ns,
			.applied_ns = offsets[bound->to] - offsets[bound->from],
		};
	}
	return 0;
}
