/* model/trace_order.c - from the builder's order to the one readers see: times, pre-order, points
 * by block, edges by target.
 *
 * The children lists need no sorting of their own: all blocks are sorted once by begin, and handing
 * them out in that order fills every list in order.  No recursion: a trace may be a chain a million
 * blocks deep. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "model/trace_int.h"

/* Moves a raw time by its clock's offset, kept within what a time can be. */
static int64_t moved(int64_t time, int64_t offset)
{
	int64_t sum;

	if (time == TIME_UNKNOWN)
		return time;
	if (__builtin_add_overflow(time, offset, &sum))
		return INT64_MAX;
	return MAX(sum, (int64_t)0);
}

static void move_clocks(struct build *b)
{
	struct trace *t = b->t;

	for (size_t i = 0; i < t->block_n; i++) {
		struct trace_block *block = &b->blocks[i];
		int64_t offset = t->processes[block->process].offset_ns;

		if (block->inferred !=
		    TRACE_NONE) { /* its client stands before it, moved already */
			block->begin_ns = b->blocks[block->parent].begin_ns;
			block->end_ns = b->blocks[block->parent].end_ns;
			continue;
		}
		if (offset == 0)
			continue;
		block->begin_ns = moved(block->begin_ns, offset);
		block->end_ns = moved(block->end_ns, offset);
		block->repairs |= REPAIR_CLOCK;
	}
	for (size_t i = 0; i < t->point_n; i++) {
		struct trace_point *p = &t->points[i];
		uint32_t process = p->block != TRACE_NONE ? b->blocks[p->block].process
							  : b->info[p->row].process;

		if (t->processes[process].offset_ns == 0)
			continue;
		p->time_ns = moved(p->time_ns, t->processes[process].offset_ns);
		p->repairs |= REPAIR_CLOCK;
	}
	for (size_t i = 0; i < t->counter_n; i++) {
		struct trace_counter *c = &t->counters[i];
		uint32_t process = c->block != TRACE_NONE ? b->blocks[c->block].process
							  : b->info[c->row].process;

		if (t->processes[process].offset_ns == 0)
			continue;
		c->time_ns = moved(c->time_ns, t->processes[process].offset_ns);
		c->repairs |= REPAIR_CLOCK;
	}
}

static int64_t earliest(const struct build *b)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < b->t->block_n; i++) {
		if (b->blocks[i].begin_ns != TIME_UNKNOWN)
			first = MIN(first, b->blocks[i].begin_ns);
		if (b->blocks[i].end_ns != TIME_UNKNOWN)
			first = MIN(first, b->blocks[i].end_ns);
	}
	return first == INT64_MAX ? 0 : first;
}

/* A begin nobody said is the block's end, else its parent's begin, else the trace's. */
static int guess_begins(struct build *b)
{
	size_t n = b->t->block_n, up_n = 0;
	_cleanup_(freep)
	uint32_t *up = NULL;
	int64_t first = TIME_UNKNOWN;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		if (b->blocks[i].begin_ns != TIME_UNKNOWN)
			continue;
		if (!up) {
			up = malloc((n + 1) * sizeof(*up));
			if (!up)
				return -ENOMEM;
			first = earliest(b);
		}
		for (up_n = 0; at != TRACE_NONE && b->blocks[at].begin_ns == TIME_UNKNOWN;
		     at = b->blocks[at].parent)
			up[up_n++] = at;
		while (up_n > 0) {
			struct trace_block *block = &b->blocks[up[--up_n]];

			if (block->end_ns != TIME_UNKNOWN)
				block->begin_ns = block->end_ns;
			else if (block->parent != TRACE_NONE)
				block->begin_ns = b->blocks[block->parent].begin_ns;
			else
				block->begin_ns = first;
		}
	}
	return 0;
}

/* Lists of children, each in order of begin: those of block i are child[first[i]] …
 * child[first[i + 1]], the roots those of block n. */
static int list_children(struct build *b, uint32_t *first, uint32_t *child)
{
	uint32_t n = (uint32_t)b->t->block_n;
	_cleanup_(freep)
	struct radix_item *items = malloc(((size_t)n + 1) * sizeof(*items));
	_cleanup_(freep)
	struct radix_item *spare = malloc(((size_t)n + 1) * sizeof(*spare));
	_cleanup_(freep)
	uint32_t *next = malloc(((size_t)n + 1) * sizeof(*next));
	_cleanup_(freep)
	uint32_t *parent = malloc(((size_t)n + 1) * sizeof(*parent));

	if (!items || !spare || !next || !parent)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		parent[i] = MIN(b->blocks[i].parent, n);
		items[i] = (struct radix_item){(uint64_t)b->blocks[i].begin_ns, i};
		first[parent[i] + 1]++;
	}
	radix_sort(items, spare, n);
	for (uint32_t i = 0; i <= n; i++) {
		if (i < n)
			b->blocks[i].child_n = first[i + 1];
		first[i + 1] += first[i];
		next[i] = first[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t block = items[i].value;

		child[next[parent[block]]++] = block;
	}
	return 0;
}

/* Where each block goes: place[old] = new, and old[new] back. */
static int number_blocks(struct build *b, uint32_t *place, uint32_t *old)
{
	uint32_t n = (uint32_t)b->t->block_n, at = 0, stack_n = 0;
	_cleanup_(freep)
	uint32_t *first = calloc((size_t)n + 2, sizeof(*first));
	_cleanup_(freep)
	uint32_t *child = malloc(((size_t)n + 1) * sizeof(*child));
	_cleanup_(freep)
	uint32_t *stack = malloc(((size_t)n + 1) * sizeof(*stack));
	int r;

	if (!first || !child || !stack)
		return -ENOMEM;
	r = list_children(b, first, child);
	if (r < 0)
		return r;
	for (uint32_t i = first[n + 1]; i-- > first[n];)
		stack[stack_n++] = child[i];
	while (stack_n > 0) {
		uint32_t block = stack[--stack_n];

		place[block] = at;
		old[at++] = block;
		for (uint32_t i = first[block + 1]; i-- > first[block];)
			stack[stack_n++] = child[i];
	}
	return 0;
}

/* Moves every block to its place, along the cycles of the permutation. */
static void permute(struct trace_block *blocks, uint32_t *old, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct trace_block held = blocks[i];
		uint32_t at = i;

		if (old[i] == i)
			continue;
		while (old[at] != i) {
			uint32_t from = old[at];

			blocks[at] = blocks[from];
			old[at] = at;
			at = from;
		}
		blocks[at] = held;
		old[at] = at;
	}
}

static void renumber(struct build *b, const uint32_t *place)
{
	struct trace *t = b->t;
	struct trace_pos *ends[2];

	for (size_t i = 0; i < t->block_n; i++) {
		struct trace_block *block = &b->blocks[i];

		if (block->parent != TRACE_NONE) {
			block->parent = place[block->parent];
			block->depth = b->blocks[block->parent].depth + 1; /* stands before it */
		}
		block->last = (uint32_t)i;
	}
	for (size_t i = t->block_n; i-- > 0;) {
		const struct trace_block *block = &b->blocks[i];

		if (block->parent != TRACE_NONE && b->blocks[block->parent].last < block->last)
			b->blocks[block->parent].last = block->last;
	}
	for (size_t i = 0; i < t->point_n; i++)
		if (t->points[i].block != TRACE_NONE)
			t->points[i].block = place[t->points[i].block];
	for (size_t i = 0; i < t->counter_n; i++) {
		struct trace_counter *c = &t->counters[i];

		if (c->block != TRACE_NONE)
			c->block = place[c->block];
		if (c->time_ns == TIME_UNKNOWN)
			c->time_ns = c->block != TRACE_NONE ? b->blocks[c->block].begin_ns : 0;
	}
	for (size_t i = 0; i < t->link_n; i++)
		if (t->links[i].block != TRACE_NONE)
			t->links[i].block = place[t->links[i].block];
	for (size_t i = 0; i < b->edge_n; i++) {
		ends[0] = &b->edges[i].from;
		ends[1] = &b->edges[i].to;
		for (int j = 0; j < 2; j++)
			if (ends[j]->kind != POS_POINT)
				ends[j]->index = place[ends[j]->index];
	}
}

struct point_key {
	int64_t time_ns;
	uint64_t seq;
	uint32_t point;
};

static int point_key_cmp(const void *a, const void *b)
{
	const struct point_key *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

/* Points by block, in each block by time; those of no block last.  A time nobody said is the
 * block's begin. */
static int order_points(struct build *b)
{
	struct trace *t = b->t;
	size_t n = t->point_n, block_n = t->block_n;
	_cleanup_(freep)
	struct point_key *keys = malloc((n + 1) * sizeof(*keys));
	_cleanup_(freep)
	struct trace_point *points = malloc((n + 1) * sizeof(*points));
	_cleanup_(freep)
	uint32_t *next = calloc(block_n + 2, sizeof(*next));
	_cleanup_(freep)
	uint32_t *place = malloc((n + 1) * sizeof(*place));

	if (!keys || !points || !next || !place)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		next[MIN(t->points[i].block, (uint32_t)block_n) + 1]++;
	for (size_t i = 1; i < block_n + 2; i++)
		next[i] += next[i - 1];
	for (size_t i = 0; i < block_n; i++) {
		t->blocks[i].point_first = next[i];
		t->blocks[i].point_n = next[i + 1] - next[i];
	}
	for (size_t i = 0; i < n; i++) {
		struct trace_point *p = &t->points[i];

		if (p->time_ns == TIME_UNKNOWN)
			p->time_ns = p->block != TRACE_NONE ? t->blocks[p->block].begin_ns : 0;
		keys[next[MIN(p->block, (uint32_t)block_n)]++] =
			(struct point_key){p->time_ns, trace_row_place(t, p->row).seq, (uint32_t)i};
	}
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;

		while (end < n &&
		       t->points[keys[end].point].block == t->points[keys[i].point].block)
			end++;
		if (end - i > 1)
			qsort(keys + i, end - i, sizeof(*keys), point_key_cmp);
		i = end;
	}
	for (size_t i = 0; i < n; i++) {
		points[i] = t->points[keys[i].point];
		place[keys[i].point] = (uint32_t)i;
	}
	if (n)
		memcpy(t->points, points, n * sizeof(*points));
	for (size_t i = 0; i < b->edge_n; i++) {
		if (b->edges[i].from.kind == POS_POINT)
			b->edges[i].from.index = place[b->edges[i].from.index];
		if (b->edges[i].to.kind == POS_POINT)
			b->edges[i].to.index = place[b->edges[i].to.index];
	}
	return 0;
}

/* Ends nobody said: as late as the block's points and children are known to be.  Children stand
 * behind their parents, so one pass from the back is enough. */
static void settle_ends(struct trace *t)
{
	for (size_t i = t->block_n; i-- > 0;) {
		struct trace_block *block = &t->blocks[i];
		uint32_t last = block->point_first + block->point_n;

		if (block->end_ns == TIME_UNKNOWN) {
			block->end_ns = block->begin_ns;
			if (block->point_n)
				block->end_ns = MAX(block->end_ns, t->points[last - 1].time_ns);
			for (uint32_t child = (uint32_t)i + 1; child <= block->last;
			     child = t->blocks[child].last + 1)
				block->end_ns = MAX(block->end_ns, t->blocks[child].end_ns);
		} else if (block->end_ns < block->begin_ns) {
			block->repairs |= REPAIR_END_BEFORE_BEGIN;
			block->end_ns = block->begin_ns;
		}
		block->bits &= (uint16_t) ~(BLOCK_HAS_REQUEST | BLOCK_HAS_PEER);
	}
}

static int edge_cmp(const void *a, const void *b)
{
	const struct trace_edge *x = a, *y = b;

	if (x->to.kind != y->to.kind)
		return x->to.kind < y->to.kind ? -1 : 1;
	if (x->to.index != y->to.index)
		return x->to.index < y->to.index ? -1 : 1;
	if (x->from.kind != y->from.kind)
		return x->from.kind < y->from.kind ? -1 : 1;
	if (x->from.index != y->from.index)
		return x->from.index < y->from.index ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->queued_ns < y->queued_ns ? -1 : x->queued_ns > y->queued_ns;
}

static bool has_parent_edge(const struct trace_block *block)
{
	return block->bits & BLOCK_REMOTE_PARENT && !(block->bits & BLOCK_HAS_REQUEST);
}

static struct trace_edge parent_edge(const struct trace_block *block, struct trace_pos from,
				     struct trace_pos to)
{
	return (struct trace_edge){
		.from = from,
		.to = to,
		.row = TRACE_NONE,
		.kind = block->bits & BLOCK_MESSAGE ? EDGE_MESSAGE : EDGE_PARENT,
		.repairs = block->repairs & REPAIR_INFERRED,
	};
}

/* The explicit edges and those of remote parents, by the block they lead to. */
static int order_edges(struct build *b)
{
	struct trace *t = b->t;
	_cleanup_(freep)
	uint32_t *next = calloc(t->block_n + 2, sizeof(*next));
	size_t n = b->edge_n;

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i < b->edge_n; i++)
		next[trace_pos_block(t, b->edges[i].to) + 1]++;
	for (size_t i = 0; i < t->block_n; i++) {
		const struct trace_block *block = &t->blocks[i];

		if (!has_parent_edge(block))
			continue;
		n++;
		next[i + 1]++;
		if (block->bits & BLOCK_ENDS_IN_PARENT) {
			n++;
			next[block->parent + 1]++;
		}
	}
	t->edges = arena_alloc(&t->arena, n * sizeof(*t->edges));
	if (!t->edges)
		return -ENOMEM;
	t->edge_n = n;
	for (size_t i = 1; i < t->block_n + 1; i++)
		next[i] += next[i - 1];
	for (size_t i = 0; i < b->edge_n; i++)
		t->edges[next[trace_pos_block(t, b->edges[i].to)]++] = b->edges[i];
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *block = &t->blocks[i];
		uint32_t parent = block->parent;

		if (!has_parent_edge(block))
			continue;
		t->edges[next[i]++] =
			parent_edge(block, trace_pos(POS_BEGIN, parent), trace_pos(POS_BEGIN, i));
		if (block->bits & BLOCK_ENDS_IN_PARENT)
			t->edges[next[parent]++] = parent_edge(block, trace_pos(POS_END, i),
							       trace_pos(POS_END, parent));
	}
	for (size_t i = 0; i < n;) {
		uint32_t to = trace_pos_block(t, t->edges[i].to);
		size_t end = i + 1;

		while (end < n && trace_pos_block(t, t->edges[end].to) == to)
			end++;
		if (end - i > 1)
			qsort(t->edges + i, end - i, sizeof(*t->edges), edge_cmp);
		i = end;
	}
	return 0;
}

static int index_ids(struct trace *t)
{
	size_t n = t->block_n;
	_cleanup_(freep)
	struct radix_item *items = malloc((n + 1) * sizeof(*items));
	_cleanup_(freep)
	struct radix_item *spare = malloc((n + 1) * sizeof(*spare));

	t->by_id = arena_alloc(&t->arena, n * sizeof(*t->by_id));
	if (!items || !spare || !t->by_id)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		items[i] = (struct radix_item){t->blocks[i].id, i};
	radix_sort(items, spare, n);
	for (size_t i = 0; i < n; i++)
		t->by_id[i] = items[i].value;
	return 0;
}

static int counter_cmp(const void *a, const void *b)
{
	const struct trace_counter *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int order_blocks(struct build *b)
{
	size_t n = b->t->block_n;
	_cleanup_(freep)
	uint32_t *place = malloc((n + 1) * sizeof(*place));
	_cleanup_(freep)
	uint32_t *old = malloc((n + 1) * sizeof(*old));
	int r;

	if (!place || !old)
		return -ENOMEM;
	r = number_blocks(b, place, old);
	if (r < 0)
		return r;
	permute(b->blocks, old, (uint32_t)n);
	renumber(b, place);
	return 0;
}

int build_order(struct build *b)
{
	int r;

	move_clocks(b);
	r = guess_begins(b);
	if (r == 0)
		r = order_blocks(b);
	if (r == 0)
		r = order_points(b);
	if (r == 0)
		r = order_edges(b);
	if (r < 0)
		return r;
	settle_ends(b->t);
	if (b->t->counter_n)
		qsort(b->t->counters, b->t->counter_n, sizeof(*b->t->counters), counter_cmp);
	return index_ids(b->t);
}
