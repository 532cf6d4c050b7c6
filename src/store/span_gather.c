/* store/span_gather.c - the spans of one trace side by side, so that each finds its parent. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/span_gather_int.h"

void span_gather_done(struct span_gather *g)
{
	free(g->rows);
	free(g->texts);
	*g = (struct span_gather){0};
}

struct slice *span_gather_add(struct span_gather *g, const struct span_seen *span, size_t key_n)
{
	struct slice *texts;

	if (!vec_reserve(&g->rows, &g->capacity, g->n + 1, sizeof(*g->rows)) ||
	    !vec_reserve(&g->texts, &g->text_capacity, g->text_n + key_n + 1, sizeof(*g->texts)))
		return NULL;
	texts = &g->texts[g->text_n];
	for (size_t i = 0; i < key_n; i++)
		texts[i] = slice_of(NULL, 0);
	g->rows[g->n] = *span;
	g->rows[g->n++].parent = g->text_n; /* until it is shown: the array may still move */
	g->text_n += key_n;
	return texts;
}

static struct slice first_text(const struct batch *b, struct attr_range range, struct slice key)
{
	for (uint32_t i = 0; i < range.count; i++) {
		const struct attr *a = &b->attrs[range.first + i];

		if (a->type == VALUE_STRING && slice_eq(batch_text(b, a->key), key))
			return text_there(batch_text(b, a->string));
	}
	return slice_of(NULL, 0);
}

int span_gather_rows(struct span_gather *g, const struct store_walk *walk,
		     const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		struct slice *texts;

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		texts = span_gather_add(
			g,
			&(struct span_seen){.id = e->id1,
					    .parent_id = e->id2,
					    .service = batch_service(refs[i].batch, e),
					    .name = batch_text(refs[i].batch, e->name),
					    .time_ns = e->time_ns,
					    .duration_ns = e->end_ns - e->time_ns,
					    .ended = e->type == EVENT_SPAN,
					    .kind = e->kind,
					    .status = e->status,
					    .shared = event_is_shared(e->format, e->bits),
					    .format = e->format,
					    .bits = e->bits},
			walk->key_n);
		if (!texts)
			return -ENOMEM;
		for (size_t k = 0; k < walk->key_n; k++)
			texts[k] = first_text(refs[i].batch, e->attrs, walk->keys[k]);
	}
	return 0;
}

/* By id; of one id the caller's side first; then so that what came twice stands together. */
static int by_id(const void *a, const void *b)
{
	const struct span_seen *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->shared != y->shared)
		return x->shared ? 1 : -1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static bool is_again(const struct span_seen *x, const struct span_seen *y)
{
	return by_id(x, y) == 0 && x->parent_id == y->parent_id &&
	       slice_eq(x->service, y->service) && slice_eq(x->name, y->name);
}

static const struct span_seen *first_of(const struct span_gather *g, uint64_t id)
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
static const struct span_seen *parent_of(const struct span_gather *g, const struct span_seen *child)
{
	const struct span_seen *end = g->rows + g->n, *first;

	if (child->shared) {
		first = first_of(g, child->id);
		if (!first->shared)
			return first;
	}
	first = child->parent_id && child->parent_id != child->id ? first_of(g, child->parent_id)
								  : NULL;
	for (const struct span_seen *s = first; s && s < end && s->id == first->id; s++)
		if (s->shared && slice_eq(s->service, child->service))
			return s;
	return first;
}

/* Each once, by id. */
static void gathered_sort(struct span_gather *g)
{
	size_t n = 0;

	if (g->n < 2)
		return;
	qsort(g->rows, g->n, sizeof(*g->rows), by_id);
	for (size_t i = 0; i < g->n; i++)
		if (n == 0 || !is_again(&g->rows[i], &g->rows[n - 1]))
			g->rows[n++] = g->rows[i];
	g->n = n;
}

int span_gather_show(struct span_gather *g, struct trace_id id, const struct store_walk *walk)
{
	int r = 0;

	gathered_sort(g);
	for (size_t i = 0; i < g->n; i++) {
		struct span_seen *s = &g->rows[i];
		const struct span_seen *parent;

		s->trace_id = id;
		s->ended = s->ended && (int64_t)s->duration_ns >= 0;
		s->texts = g->texts + s->parent;
		parent = parent_of(g, s);
		s->has_parent = parent != NULL;
		if (parent) {
			s->parent = (size_t)(parent - g->rows);
			s->parent_service = parent->service;
			s->parent_kind = parent->kind;
			s->parent_duration_ns = parent->duration_ns;
		}
	}
	if (walk->trace && g->n > 0)
		r = walk->trace(walk->context, g->rows, g->n);
	for (size_t i = 0; walk->span && r == 0 && i < g->n; i++)
		r = walk->span(walk->context, &g->rows[i]);
	g->n = g->text_n = 0;
	return r;
}
