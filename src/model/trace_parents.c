/* model/trace_parents.c - who is whose child: the tree inside the DAG.
 *
 * The parent a row names, looked up.  A block without one that came to life by receiving a request
 * (or, first in its unit, a message) becomes a child of the sender.  Parents that never came leave
 * orphans, roots of their own; cycles are cut at their earliest block. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/trace_int.h"

static void named_parent(struct build *b, uint32_t i)
{
	struct trace_block *block = &b->blocks[i];

	if (block->parent != TRACE_NONE || block->parent_id == 0)
		return; /* the client side of a shared id, or a root */
	if (block->parent_id == block->id) {
		block->repairs |= REPAIR_CYCLE;
		return;
	}
	block->parent = build_find(b, block->parent_id, block->process);
	if (block->parent == TRACE_NONE)
		block->repairs |= REPAIR_ORPHAN;
}

/* Blocks of native units, by (process, unit, begin): to know which is first in its unit. */
struct place {
	uint64_t unit;
	int64_t begin_ns;
	uint32_t process, block;
};

static int place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* One byte per block: is another one before it in its unit? */
static int find_followers(const struct build *b, uint8_t **ret_follows)
{
	size_t n = b->t->block_n, place_n = 0;
	_cleanup_(freep)
	struct place *places = malloc((n + 1) * sizeof(*places));
	uint8_t *follows = calloc(n + 1, 1);

	if (!places || !follows) {
		free(follows);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t unit;

		if (!(b->blocks[i].bits & BLOCK_NATIVE))
			continue;
		unit = trace_row_place(b->t, b->blocks[i].row).unit;
		if (unit != 0)
			places[place_n++] = (struct place){unit, b->blocks[i].begin_ns,
							   b->blocks[i].process, i};
	}
	if (place_n)
		qsort(places, place_n, sizeof(*places), place_cmp);
	for (size_t i = 1; i < place_n; i++)
		follows[places[i].block] = places[i].process == places[i - 1].process &&
					   places[i].unit == places[i - 1].unit;
	*ret_follows = follows;
	return 0;
}

/* When each block first did something with others: what it did before it cannot have caused it. */
static void first_instants(const struct build *b, int64_t *first)
{
	const struct trace *t = b->t;

	for (size_t i = 0; i < t->block_n; i++)
		first[i] = INT64_MAX;
	for (size_t i = 0; i < t->point_n; i++) {
		const struct trace_point *p = &t->points[i];
		uint8_t type = b->info[p->row].type;

		if (p->block != TRACE_NONE && type >= EVENT_SEND && type <= EVENT_LOCK_RELEASE)
			first[p->block] = MIN(first[p->block], p->time_ns);
	}
}

/* Blocks without a parent of their own are adopted by who called them: the earliest such edge. */
static int adopt(struct build *b)
{
	struct trace *t = b->t;
	_cleanup_(freep)
	uint8_t *follows = NULL;
	_cleanup_(freep)
	int64_t *since = NULL;
	int r;

	if (b->edge_n == 0)
		return 0;
	r = find_followers(b, &follows);
	if (r < 0)
		return r;
	since = malloc((t->block_n + 1) * sizeof(*since));
	if (!since)
		return -ENOMEM;
	first_instants(b, since);
	for (size_t i = 0; i < b->edge_n; i++) {
		const struct trace_edge *edge = &b->edges[i];
		uint32_t from = trace_pos_block(t, edge->from), to = trace_pos_block(t, edge->to);
		struct trace_block *block = &b->blocks[to];
		int64_t when = edge->to.kind == POS_POINT ? t->points[edge->to.index].time_ns
							  : block->begin_ns;

		if (edge->kind != EDGE_REQUEST && (edge->kind != EDGE_MESSAGE || follows[to]))
			continue;
		if (from == to || block->parent_id != 0 || block->bits & BLOCK_SHARED ||
		    block->parent != TRACE_NONE || when > since[to])
			continue;
		block->parent = from;
	}
	return 0;
}

static bool adopted(const struct trace_block *block)
{
	return block->parent_id == 0 && !(block->bits & BLOCK_SHARED);
}

/* The block of a cycle at which it is cut: one that was only adopted, else the earliest, then the
 * first in canonical order. */
static uint32_t weakest(const struct build *b, uint32_t start)
{
	uint32_t best = start;

	for (uint32_t i = b->blocks[start].parent; i != start; i = b->blocks[i].parent) {
		const struct trace_block *x = &b->blocks[i], *y = &b->blocks[best];

		if (adopted(x) != adopted(y)) {
			best = adopted(x) ? i : best;
			continue;
		}
		if (x->begin_ns < y->begin_ns || (x->begin_ns == y->begin_ns && i < best))
			best = i;
	}
	return best;
}

/* Follows parents from every block not yet seen; `seen` holds the walk that saw it, so meeting
 * one's own walk again is a cycle.  Each block is walked over once. */
static int cut_cycles(struct build *b)
{
	size_t n = b->t->block_n;
	_cleanup_(freep)
	uint32_t *seen = calloc(n + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		while (at != TRACE_NONE && seen[at] == 0) {
			seen[at] = i + 1;
			at = b->blocks[at].parent;
		}
		if (at == TRACE_NONE || seen[at] != i + 1)
			continue;
		at = weakest(b, at);
		if (!adopted(&b->blocks[at]))
			b->blocks[at].repairs |= REPAIR_CYCLE;
		b->blocks[at].parent = TRACE_NONE;
		b->blocks[at].bits &= (uint16_t)~BLOCK_SHARED;
	}
	return 0;
}

int build_parents(struct build *b)
{
	int r;

	for (uint32_t i = 0; i < b->t->block_n; i++)
		named_parent(b, i);
	r = adopt(b);
	return r < 0 ? r : cut_cycles(b);
}

static bool is_remote(const struct trace_block *child, const struct trace_block *parent)
{
	return child->process != parent->process ||
	       (kind_serves(child->kind) && kind_calls(parent->kind));
}

/* On one process's clock, did the parent end before the child began? */
static bool began_after(const struct build *b, const struct trace_block *child,
			const struct trace_block *parent)
{
	if (child->process != parent->process || parent->bits & BLOCK_RUNNING)
		return false;
	if (child->bits & parent->bits & BLOCK_NATIVE && parent->end_row != TRACE_NONE) {
		struct event_place begin = trace_row_place(b->t, child->row);
		struct event_place end = trace_row_place(b->t, parent->end_row);

		if (begin.unit != 0 && begin.unit == end.unit && begin.seq != 0 && end.seq != 0)
			return begin.seq > end.seq;
	}
	return child->begin_ns != TIME_UNKNOWN && parent->end_ns != TIME_UNKNOWN &&
	       child->begin_ns > parent->end_ns;
}

/* Nobody's clock can say when a remote child ended in its parent's time, but durations do not
 * depend on clocks: one that took longer than its parent was not waited for. */
static bool ends_inside(const struct trace_block *child, const struct trace_block *parent)
{
	if ((child->bits | parent->bits) & BLOCK_RUNNING || child->begin_ns == TIME_UNKNOWN ||
	    child->end_ns == TIME_UNKNOWN || parent->begin_ns == TIME_UNKNOWN ||
	    parent->end_ns == TIME_UNKNOWN || child->end_ns < child->begin_ns ||
	    parent->end_ns < parent->begin_ns)
		return false;
	return child->end_ns - child->begin_ns <= parent->end_ns - parent->begin_ns;
}

void build_parent_bits(struct build *b)
{
	for (size_t i = 0; i < b->t->block_n; i++) {
		struct trace_block *child = &b->blocks[i];
		const struct trace_block *parent;

		if (child->parent == TRACE_NONE)
			continue;
		parent = &b->blocks[child->parent];
		if (is_remote(child, parent)) {
			child->bits |= BLOCK_REMOTE_PARENT;
			if (child->kind == KIND_CONSUMER || parent->kind == KIND_PRODUCER)
				child->bits |= BLOCK_MESSAGE;
		}
		if (child->bits & (BLOCK_MESSAGE | BLOCK_HAS_REQUEST))
			continue; /* its edges say all there is to say */
		if (!began_after(b, child, parent))
			child->bits |= BLOCK_IN_PARENT;
		if (child->bits & BLOCK_REMOTE_PARENT && ends_inside(child, parent))
			child->bits |= BLOCK_ENDS_IN_PARENT;
	}
}
