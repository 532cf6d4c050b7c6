/* model/trace_build.c - the steps from rows to a modelled trace (see model/trace_int.h). */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/trace_int.h"
#include "sampling/trace_sampling.h"

static void build_done(struct build *b)
{
	free(b->info);
	free(b->links);
	free(b->edges);
	map_done(&b->ids);
	trace_free(b->t); /* NULL once it was handed over */
}

/* What the trace says about itself as a whole. */
static void sum_up(struct trace *t)
{
	bool any = false;

	for (size_t i = 0; i < t->block_n; i++) {
		const struct trace_block *block = &t->blocks[i];

		t->begin_ns = any ? MIN(t->begin_ns, block->begin_ns) : block->begin_ns;
		t->end_ns = any ? MAX(t->end_ns, block->end_ns) : block->end_ns;
		any = true;
		t->roots += block->parent == TRACE_NONE;
		t->errors += block->bits & BLOCK_ERROR ? 1 : 0;
		t->running += block->bits & BLOCK_RUNNING && block->inferred == TRACE_NONE;
		t->repairs |= block->repairs;
		if (block->inferred == TRACE_NONE)
			t->processes[block->process].blocks++;
	}
	for (size_t i = 0; i < t->point_n; i++) {
		const struct trace_point *p = &t->points[i];

		t->repairs |= p->repairs;
		if (p->repairs & REPAIR_TIME_RANGE)
			continue;
		t->begin_ns = any ? MIN(t->begin_ns, p->time_ns) : p->time_ns;
		t->end_ns = any ? MAX(t->end_ns, p->time_ns) : p->time_ns;
		any = true;
	}
	for (size_t i = 0; i < t->edge_n; i++)
		t->repairs |= t->edges[i].repairs;
	for (size_t i = 0; i < t->counter_n; i++)
		t->repairs |= t->counters[i].repairs;
	for (size_t i = 0; i < t->unit_n; i++)
		t->repairs |= t->units[i].repairs;
}

/* The threshold the trace was sampled with: what the root says, else the first block that says. */
static void find_threshold(struct trace *t)
{
	for (size_t i = 0; i < t->block_n && !t->threshold_known; i++) {
		uint32_t row = t->blocks[i].row;
		const struct batch *b = trace_row_batch(t, row);
		uint32_t state = batch_extra_get(b, trace_row(t, row))->trace_state;
		struct trace_sampling sampling;

		if (state == 0)
			continue;
		sampling = trace_sampling_parse(batch_text(b, state), t->id);
		if (sampling.threshold >= THRESHOLD_NEVER)
			continue;
		t->threshold_known = true;
		t->threshold = sampling.threshold;
		t->probability = threshold_probability(sampling.threshold);
	}
}

static int run(struct build *b, const struct event_ref *refs, size_t n)
{
	int r = build_rows(b, refs, n);

	if (r == 0)
		r = build_blocks(b);
	if (r == 0)
		r = build_edges(b);
	if (r == 0)
		r = build_parents(b);
	if (r == 0 && !(b->flags & TRACE_NO_INFER))
		r = build_peers(b);
	if (r < 0)
		return r;
	build_parent_bits(b);
	r = build_clocks(b);
	if (r == 0)
		r = build_order(b);
	if (r == 0)
		r = build_units(b);
	if (r == 0)
		r = trace_self_time(b->t);
	if (r == 0)
		r = trace_mark_cycles(b->t);
	if (r < 0)
		return r;
	sum_up(b->t);
	if (b->has_state)
		find_threshold(b->t);
	return 0;
}

int trace_build(const struct event_ref *refs, size_t n, unsigned flags, struct trace **ret_trace)
{
	_cleanup_(build_done)
	struct build b = {.flags = flags};
	struct arena arena = {0};
	int r;

	if (n > TRACE_MAX_EVENTS)
		return -E2BIG;
	b.t = arena_zalloc(&arena, 1, sizeof(*b.t));
	if (!b.t)
		return -ENOMEM;
	b.t->arena = arena;
	b.t->probability = 1;
	if (n > 0)
		b.t->id = event_get(refs[0])->trace_id;
	map_init(&b.ids);
	r = run(&b, refs, n);
	if (r < 0)
		return r;
	*ret_trace = TAKE_PTR(b.t);
	return 0;
}
