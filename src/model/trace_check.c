/* model/trace_check.c - the invariants of a modelled trace, callable. */
#include "base/cleanup.h"
#include "model/trace.h"

static bool none_or(uint32_t index, size_t n)
{
	return index == TRACE_NONE || index < n;
}

static bool pos_ok(const struct trace *t, struct trace_pos at)
{
	switch (at.kind) {
	case POS_BEGIN:
	case POS_END:
		return at.index < t->block_n;
	case POS_POINT:
		return at.index < t->point_n && t->points[at.index].block != TRACE_NONE;
	default:
		return false;
	}
}

static bool block_ok(const struct trace *t, uint32_t i)
{
	const struct trace_block *b = &t->blocks[i], *p;

	if (b->row >= t->row_n || !none_or(b->end_row, t->row_n) || b->unit >= t->unit_n ||
	    b->process >= t->process_n || !none_or(b->inferred, t->inferred_n) || b->last < i ||
	    b->last >= t->block_n || b->end_ns < b->begin_ns || b->begin_ns < 0 || b->self_ns < 0 ||
	    b->self_ns > b->end_ns - b->begin_ns || b->repairs >> REPAIR_BITS ||
	    b->point_first > t->point_n || b->point_n > t->point_n - b->point_first)
		return false;
	if ((b->inferred != TRACE_NONE) != !!(b->repairs & REPAIR_INFERRED) ||
	    (b->inferred != TRACE_NONE && (b->parent == TRACE_NONE || b->last != i)))
		return false;
	if (b->bits & BLOCK_RUNNING &&
	    (!(b->repairs & REPAIR_MISSING_END) || b->end_row != TRACE_NONE))
		return false;
	if (b->ends_in > i || (b->ends_in == i) == !!(b->bits & BLOCK_ENDS_IN_PARENT))
		return false;
	for (uint32_t j = b->point_first; j < b->point_first + b->point_n; j++)
		if (t->points[j].block != i ||
		    (j > b->point_first && t->points[j].time_ns < t->points[j - 1].time_ns))
			return false;
	if (b->parent == TRACE_NONE)
		return b->depth == 0 &&
		       !(b->bits & (BLOCK_REMOTE_PARENT | BLOCK_IN_PARENT | BLOCK_ENDS_IN_PARENT));
	p = &t->blocks[b->parent];
	return b->parent < i && b->last <= p->last && b->depth == p->depth + 1;
}

/* Walks over the children of a block (or the roots): they tile its range and come in order. */
static bool children_ok(const struct trace *t, uint32_t parent, uint32_t first, uint32_t end,
			size_t n)
{
	size_t count = 0;

	for (uint32_t i = first, previous = TRACE_NONE; i < end; i = t->blocks[i].last + 1) {
		if (t->blocks[i].parent != parent)
			return false;
		if (previous != TRACE_NONE && t->blocks[i].begin_ns < t->blocks[previous].begin_ns)
			return false;
		previous = i;
		count++;
	}
	return count == n;
}

static bool edges_ok(const struct trace *t)
{
	for (size_t i = 0; i < t->edge_n; i++) {
		const struct trace_edge *e = &t->edges[i];

		if (!pos_ok(t, e->from) || !pos_ok(t, e->to) || e->kind >= EDGE_KINDS ||
		    !none_or(e->row, t->row_n) || e->queued_ns < 0)
			return false;
		if (i > 0 && trace_pos_block(t, e->to) < trace_pos_block(t, t->edges[i - 1].to))
			return false;
	}
	return true;
}

static bool points_ok(const struct trace *t)
{
	for (size_t i = 0; i < t->point_n; i++) {
		const struct trace_point *p = &t->points[i];

		if (p->row >= t->row_n || !none_or(p->block, t->block_n) ||
		    !none_or(p->unit, t->unit_n) || p->copies == 0)
			return false;
		if (p->block != TRACE_NONE &&
		    (p->unit == TRACE_NONE || i < t->blocks[p->block].point_first ||
		     i - t->blocks[p->block].point_first >= t->blocks[p->block].point_n))
			return false;
	}
	return true;
}

static bool rest_ok(const struct trace *t)
{
	for (size_t i = 0; i < t->unit_n; i++)
		if (t->units[i].process >= t->process_n || !none_or(t->units[i].row, t->row_n) ||
		    !none_or(t->units[i].parent, t->unit_n))
			return false;
	for (size_t i = 0; i < t->link_n; i++)
		if (t->links[i].row >= t->row_n || !none_or(t->links[i].block, t->block_n))
			return false;
	for (size_t i = 0; i < t->counter_n; i++)
		if (t->counters[i].row >= t->row_n || !none_or(t->counters[i].block, t->block_n) ||
		    !none_or(t->counters[i].unit, t->unit_n) ||
		    (i > 0 && t->counters[i].block < t->counters[i - 1].block))
			return false;
	for (size_t i = 0; i < t->skew_n; i++)
		if (t->skews[i].from >= t->skews[i].to || t->skews[i].to >= t->process_n)
			return false;
	for (size_t i = 0; i < t->block_n; i++)
		if (t->by_id[i] >= t->block_n ||
		    (i > 0 && t->blocks[t->by_id[i]].id < t->blocks[t->by_id[i - 1]].id))
			return false;
	return true;
}

/* Every row is somewhere: nothing was dropped without a word. */
static bool rows_ok(const struct trace *t)
{
	size_t n = t->row_n;
	_cleanup_(freep)
	uint8_t *used = calloc(n + 1, 1);
	bool ok = true;

	if (!used)
		return true; /* cannot tell */
	for (size_t i = 0; i < t->block_n; i++) {
		used[t->blocks[i].row] = 1;
		if (t->blocks[i].end_row != TRACE_NONE)
			used[t->blocks[i].end_row] = 1;
	}
	for (size_t i = 0; i < t->point_n; i++)
		used[t->points[i].row] = 1;
	for (size_t i = 0; i < t->edge_n; i++)
		if (t->edges[i].row != TRACE_NONE)
			used[t->edges[i].row] = 1;
	for (size_t i = 0; i < t->link_n; i++)
		used[t->links[i].row] = 1;
	for (size_t i = 0; i < t->counter_n; i++)
		used[t->counters[i].row] = 1;
	for (size_t i = 0; i < n; i++) {
		uint8_t type = trace_row(t, (uint32_t)i)->type;

		/* a unit told twice differently keeps one row; a BEGIN may stand for a SPAN */
		ok &= used[i] || type == EVENT_UNIT || type == EVENT_BEGIN;
	}
	return ok;
}

bool trace_check(const struct trace *t)
{
	if (t->block_n > 0 && !children_ok(t, TRACE_NONE, 0, (uint32_t)t->block_n, t->roots))
		return false;
	for (uint32_t i = 0; i < t->block_n; i++)
		if (!block_ok(t, i))
			return false;
	for (uint32_t i = 0; i < t->block_n; i++)
		if (!children_ok(t, i, i + 1, t->blocks[i].last + 1, t->blocks[i].child_n))
			return false;
	return edges_ok(t) && points_ok(t) && rest_ok(t) && rows_ok(t);
}
