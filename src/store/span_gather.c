/* store/span_gather.c - the spans of one trace side by side, so that each finds its parent. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/span_gather_int.h"

void span_gather_done(struct span_gather *g)
{
	free(g->rows);
	*g = (struct span_gather){0};
}

bool span_gather_add(struct span_gather *g, const struct gathered_span *span)
{
	if (!vec_reserve(&g->rows, &g->capacity, g->n + 1, sizeof(*g->rows)))
		return false;
	g->rows[g->n++] = *span;
	return true;
}

int span_gather_rows(struct span_gather *g, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		struct gathered_span span;

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		span = (struct gathered_span){
			.seen = {.service = batch_service(refs[i].batch, e),
				 .name = batch_text(refs[i].batch, e->name),
				 .time_ns = e->time_ns,
				 .duration_ns = e->end_ns - e->time_ns,
				 .kind = e->kind,
				 .status = e->status},
			.id = e->id1,
			.parent = e->id2,
			.finished = e->type == EVENT_SPAN,
			.shared = event_is_shared(e->format, e->bits),
		};
		if (!span_gather_add(g, &span))
			return -ENOMEM;
	}
	return 0;
}

/* By id; of one id the caller's side first; then so that what came twice stands together. */
static int by_id(const void *a, const void *b)
{
	const struct gathered_span *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->shared != y->shared)
		return x->shared ? 1 : -1;
	if (x->seen.time_ns != y->seen.time_ns)
		return x->seen.time_ns < y->seen.time_ns ? -1 : 1;
	if (x->seen.duration_ns != y->seen.duration_ns)
		return x->seen.duration_ns < y->seen.duration_ns ? -1 : 1;
	return x->seen.kind < y->seen.kind ? -1 : x->seen.kind > y->seen.kind;
}

static bool is_again(const struct gathered_span *x, const struct gathered_span *y)
{
	return by_id(x, y) == 0 && x->parent == y->parent &&
	       slice_eq(x->seen.service, y->seen.service) && slice_eq(x->seen.name, y->seen.name);
}

static const struct gathered_span *first_of(const struct span_gather *g, uint64_t id)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->n && g->rows[low].id == id ? &g->rows[low] : NULL;
}

/* Of an id that both sides of a call have, the side that the child ran beside. */
static const struct gathered_span *parent_of(const struct span_gather *g,
					     const struct gathered_span *child)
{
	const struct gathered_span *end = g->rows + g->n, *first;

	if (child->shared) {
		first = first_of(g, child->id);
		if (!first->shared)
			return first;
	}
	first = child->parent && child->parent != child->id ? first_of(g, child->parent) : NULL;
	for (const struct gathered_span *s = first; s && s < end && s->id == first->id; s++)
		if (s->shared && slice_eq(s->seen.service, child->seen.service))
			return s;
	return first;
}

int span_gather_show(struct span_gather *g, struct trace_id id, const struct store_walk *walk)
{
	int r = 0;

	if (g->n > 1)
		qsort(g->rows, g->n, sizeof(*g->rows), by_id);
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		struct gathered_span *s = &g->rows[i];
		const struct gathered_span *parent;

		if (i > 0 && is_again(s, s - 1))
			continue;
		s->seen.trace_id = id;
		s->seen.id = s->id;
		s->seen.ended = s->finished && (int64_t)s->seen.duration_ns >= 0;
		parent = parent_of(g, s);
		if (parent) {
			s->seen.has_parent = true;
			s->seen.parent_service = parent->seen.service;
			s->seen.parent_kind = parent->seen.kind;
			s->seen.parent_duration_ns = parent->seen.duration_ns;
		}
		r = walk->span(walk->context, &s->seen);
	}
	g->n = 0;
	return r;
}
