/* model/causality_arcs.c - the rules of happened-before, written out as arcs. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/causality.h"
#include "model/causality_graph.h"
#include "model/trace_int.h"

static void arc(struct arc_list *l, uint32_t from, uint32_t to, uint32_t origin)
{
	if (!vec_reserve(&l->arcs, &l->capacity, l->n + 1, sizeof(*l->arcs))) {
		l->failed = true;
		return;
	}
	l->arcs[l->n++] = (struct arc){from, to, origin};
}

static uint32_t begin_of(uint32_t block)
{
	return 2 * block;
}

static uint32_t end_of(uint32_t block)
{
	return 2 * block + 1;
}

static uint32_t point_of(const struct trace *t, uint32_t point)
{
	return (uint32_t)(2 * t->block_n) + point;
}

/* Inside blocks, and what remote parents' pairs add. */
static void structure(const struct trace *t, struct arc_list *l)
{
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *b = &t->blocks[i];

		arc(l, begin_of(i), end_of(i), ARC_STRUCTURE);
		for (uint32_t p = b->point_first; p < b->point_first + b->point_n; p++) {
			arc(l, begin_of(i), point_of(t, p), ARC_STRUCTURE);
			arc(l, point_of(t, p), end_of(i), ARC_STRUCTURE);
		}
		if (b->parent == TRACE_NONE)
			continue;
		arc(l, begin_of(b->parent), begin_of(i), ARC_STRUCTURE);
		if (b->bits & BLOCK_IN_PARENT)
			arc(l, begin_of(i), end_of(b->parent), ARC_STRUCTURE);
		if (b->bits & BLOCK_ENDS_IN_PARENT)
			arc(l, end_of(i), end_of(b->parent), ARC_STRUCTURE);
	}
}

static void edges(const struct trace *t, struct arc_list *l)
{
	for (uint32_t i = 0; i < t->edge_n; i++) {
		const struct trace_edge *e = &t->edges[i];

		if (e->row != TRACE_NONE && !(e->repairs & REPAIR_CYCLE))
			arc(l, trace_pos_number(t, e->from), trace_pos_number(t, e->to), i);
	}
}

/* A position of a unit, and what says where it stands in the unit's order. */
struct place {
	uint64_t key;
	uint32_t unit, node;
	uint64_t seq;
	bool made; /* a point made for an EDGE row: its sequence number is not this unit's */
};

struct places {
	struct place *list;
	size_t n, capacity;
	bool failed;
};

static void put(struct places *p, struct place place)
{
	if (!vec_reserve(&p->list, &p->capacity, p->n + 1, sizeof(*p->list))) {
		p->failed = true;
		return;
	}
	p->list[p->n++] = place;
}

static int place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void block_places(const struct trace *t, uint32_t i, struct places *out)
{
	const struct trace_block *b = &t->blocks[i];
	struct event_place begin = trace_row_place(t, b->row), end;
	bool implied = b->repairs & REPAIR_MISSING_BEGIN;

	if (raw_time(trace_row(t, b->row)->time_ns) != TIME_UNKNOWN || begin.seq != 0)
		put(out, (struct place){(uint64_t)b->begin_ns, b->unit, begin_of(i), begin.seq,
					implied});
	if (b->bits & BLOCK_IMPLIED)
		put(out, (struct place){(uint64_t)b->end_ns, b->unit, end_of(i), 0, true});
	if (b->end_row == TRACE_NONE)
		return;
	end = trace_row_place(t, b->end_row);
	if (end.unit == 0 || end.unit == t->units[b->unit].id)
		if (raw_time(trace_row(t, b->end_row)->time_ns) != TIME_UNKNOWN || end.seq != 0)
			put(out, (struct place){(uint64_t)b->end_ns, b->unit, end_of(i), end.seq,
						false});
}

static void collect_places(const struct trace *t, struct places *out)
{
	for (uint32_t i = 0; i < t->block_n; i++)
		if (!t->units[t->blocks[i].unit].from_clock)
			block_places(t, i, out);
	for (uint32_t i = 0; i < t->point_n; i++) {
		const struct trace_point *p = &t->points[i];
		uint64_t seq = trace_row_place(t, p->row).seq;

		if (p->unit == TRACE_NONE || t->units[p->unit].from_clock ||
		    (p->repairs & REPAIR_TIME_RANGE && seq == 0))
			continue;
		put(out, (struct place){(uint64_t)p->time_ns, p->unit, point_of(t, i), seq,
					trace_row(t, p->row)->type == EVENT_EDGE});
	}
}

/* By sequence number if everything in the unit has one.  Returns how many places remain. */
static size_t choose_keys(struct place *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (list[i].seq == 0 && !list[i].made)
			return n;
	for (size_t i = 0; i < n; i++) {
		if (list[i].made)
			continue;
		list[kept] = list[i];
		list[kept++].key = list[i].seq;
	}
	/* nothing but made ones: by time after all */
	return kept ? kept : n;
}

/* Everything with a lower key before everything with a higher one. */
static void chain(struct arc_list *l, const struct place *list, size_t n, uint32_t origin,
		  uint32_t clock)
{
	for (size_t i = 0, end, next; i < n; i = end) {
		uint32_t tick;

		for (end = i + 1; end < n && list[end].key == list[i].key;)
			end++;
		for (next = end; next < n && list[next].key == list[end].key;)
			next++;
		if (end == n)
			return;
		if (end - i == 1 && next - end == 1) {
			arc(l, list[i].node, list[end].node | clock, origin);
			continue;
		}
		tick = l->node_n++;
		for (size_t j = i; j < end; j++)
			arc(l, list[j].node, tick | clock, origin);
		for (size_t j = end; j < next; j++)
			arc(l, tick, list[j].node | clock, origin);
	}
}

static void native_units(const struct trace *t, struct arc_list *l)
{
	struct places p = {0};

	collect_places(t, &p);
	if (p.n)
		qsort(p.list, p.n, sizeof(*p.list), place_cmp);
	for (size_t i = 0, end; !p.failed && i < p.n; i = end) {
		uint32_t unit = p.list[i].unit;
		size_t n;

		for (end = i + 1; end < p.n && p.list[end].unit == unit;)
			end++;
		if (t->units[unit].repairs & REPAIR_CYCLE)
			continue;
		n = choose_keys(p.list + i, end - i);
		qsort(p.list + i, n, sizeof(*p.list), place_cmp);
		chain(l, p.list + i, n, ARC_UNIT | unit, 0);
	}
	l->failed |= p.failed;
	free(p.list);
}

/* Begins and ends of the spans of one unit on a timeline.  In one tick of the clock begins come
 * first: an end there is not before them. */
struct moment {
	int64_t time_ns;
	uint32_t unit, node;
};

static int moment_cmp(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->node % 2 != y->node % 2)
		return x->node % 2 ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Ends gather at a tick until a begin comes; that one and all later begins follow the tick. */
static void timeline(struct arc_list *l, const struct moment *list, size_t n)
{
	uint32_t tick = UINT32_MAX, gathering = UINT32_MAX, origin = ARC_UNIT | list[0].unit;

	for (size_t i = 0; i < n; i++) {
		if (list[i].node % 2) {
			if (gathering == UINT32_MAX)
				gathering = l->node_n++;
			arc(l, list[i].node, gathering | ARC_CLOCK, origin);
			continue;
		}
		if (gathering != UINT32_MAX) {
			if (tick != UINT32_MAX)
				arc(l, tick, gathering | ARC_CLOCK, origin);
			tick = gathering;
			gathering = UINT32_MAX;
		}
		if (tick != UINT32_MAX)
			arc(l, tick, list[i].node | ARC_CLOCK, origin);
	}
}

static void span_units(const struct trace *t, struct arc_list *l)
{
	_cleanup_(freep)
	struct moment *list = malloc((2 * t->block_n + 1) * sizeof(*list));
	size_t n = 0;

	if (!list) {
		l->failed = true;
		return;
	}
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *b = &t->blocks[i];
		int64_t begin = raw_time(trace_row(t, b->row)->time_ns), end;

		if (!t->units[b->unit].from_clock || t->units[b->unit].blocks < 2 ||
		    b->inferred != TRACE_NONE)
			continue;
		if (begin != TIME_UNKNOWN)
			list[n++] = (struct moment){begin, b->unit, begin_of(i)};
		if (b->end_row == TRACE_NONE)
			continue;
		end = raw_time(trace_row(t, b->end_row)->type == EVENT_END
				       ? trace_row(t, b->end_row)->time_ns
				       : trace_row(t, b->end_row)->end_ns);
		if (end != TIME_UNKNOWN)
			list[n++] = (struct moment){MAX(begin, end), b->unit, end_of(i)};
	}
	if (n)
		qsort(list, n, sizeof(*list), moment_cmp);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && list[end].unit == list[i].unit;)
			end++;
		timeline(l, list + i, end - i);
	}
}

/* Points of one span, which its process stamped one after the other. */
static void span_points(const struct trace *t, struct arc_list *l)
{
	_cleanup_(freep)
	struct place *list = NULL;
	size_t capacity = 0;

	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *b = &t->blocks[i];
		size_t n = 0;

		if (b->point_n < 2 || !t->units[b->unit].from_clock)
			continue;
		if (!vec_reserve(&list, &capacity, b->point_n, sizeof(*list))) {
			l->failed = true;
			return;
		}
		for (uint32_t p = b->point_first; p < b->point_first + b->point_n; p++)
			if (t->points[p].unit == b->unit &&
			    !(t->points[p].repairs & REPAIR_TIME_RANGE))
				list[n++] = (struct place){.key = (uint64_t)t->points[p].time_ns,
							   .node = point_of(t, p)};
		chain(l, list, n, ARC_UNIT | b->unit, ARC_CLOCK);
	}
}

void arcs_collect(const struct trace *t, bool clocks, struct arc_list *ret_list)
{
	*ret_list = (struct arc_list){.node_n = (uint32_t)(2 * t->block_n + t->point_n)};
	structure(t, ret_list);
	edges(t, ret_list);
	native_units(t, ret_list);
	if (clocks) {
		span_units(t, ret_list);
		span_points(t, ret_list);
	}
}
