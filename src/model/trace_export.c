/* model/trace_export.c - a modelled trace as plain spans, for those that know nothing else.
 *
 * Every block that was sent is a SPAN row with its raw times; begin and end rows are joined, their
 * attributes one behind the other.  Behind it its points (native instants and counters become
 * points named after what they are), logs and links.  Edges that were sent become links too, marked
 * with `causet.edge`, unless the parent already says it.  What causet added or moved stays out. */
#include <errno.h>

#include "base/cleanup.h"
#include "model/batch_copy.h"
#include "model/trace.h"

struct export
{
	const struct trace *t;
	struct batch *to;
	struct batch_copy copy;
	uint32_t *link_first; /* links of block i: link[link_first[i]] … */
	uint32_t *link;
};

static void export_done(struct export *x)
{
	batch_copy_done(&x->copy);
	batch_unref(x->to);
	free(x->link_first);
	free(x->link);
}

/* Undoes the clock's offset where the raw value has no row of its own. */
static uint64_t raw_end(const struct trace *t, const struct trace_block *b)
{
	const struct event *e;

	if (b->bits & BLOCK_IMPLIED)
		return (uint64_t)MAX(b->end_ns - t->processes[b->process].offset_ns, (int64_t)0);
	if (b->end_row == TRACE_NONE)
		return 0;
	e = trace_row(t, b->end_row);
	return e->type == EVENT_END ? e->time_ns : e->end_ns;
}

/* What the END row adds to the span made from its BEGIN. */
static void join_end(struct export *x, uint32_t at, uint32_t row)
{
	const struct trace *t = x->t;
	const struct batch *from = trace_row_batch(t, row);
	const struct event *end = trace_row(t, row);
	const struct event_extra *extra = batch_extra_get(from, end);
	struct attr_range attrs = x->to->events[at].attrs;

	if (end->status != STATUS_UNSET)
		x->to->events[at].status = end->status;
	if (end->attrs.count > 0) {
		/* the begin's lie last in the pool, unless nested copies of extras came between */
		if (attrs.first + attrs.count != x->to->attr_n) {
			uint32_t first = (uint32_t)x->to->attr_n;

			for (uint32_t i = 0; i < attrs.count; i++)
				batch_attr(x->to, x->to->attrs[attrs.first + i]);
			attrs.first = first;
		}
		batch_copy_attrs(&x->copy, from, end->attrs);
		if (x->to->failed)
			return;
		attrs.count = (uint32_t)x->to->attr_n - attrs.first;
		x->to->events[at].attrs = attrs;
	}
	if (extra->status_message) {
		uint32_t code = batch_string(x->to, batch_text(from, extra->status_message));
		struct event_extra *target = batch_extra(x->to, at);

		if (!x->to->failed)
			target->status_message = code;
	}
}

/* Spans and their points have none. */
static void forget_unit(struct batch *b, uint32_t at)
{
	batch_place(b, at, (struct event_place){0, batch_place_get(b, at).seq});
}

static void put_span(struct export *x, uint32_t block)
{
	const struct trace *t = x->t;
	const struct trace_block *b = &t->blocks[block];
	uint32_t at = batch_copy_event(&x->copy, t->rows[b->row]);
	struct event *e;

	if (x->to->failed)
		return;
	e = &x->to->events[at];
	if (e->type == EVENT_SPAN && b->end_row == b->row)
		return;
	e->type = EVENT_SPAN;
	e->id1 = b->id;
	e->id2 = b->parent_id;
	if (b->parent_id == 0 && b->parent != TRACE_NONE && !(b->bits & BLOCK_SHARED))
		e->id2 = t->blocks[b->parent].id;
	forget_unit(x->to, at);
	e->kind = b->kind;
	e->end_ns = raw_end(t, b);
	if (b->end_row != TRACE_NONE && b->end_row != b->row)
		join_end(x, at, b->end_row);
}

/* A point, whatever the row was. */
static void put_instant(struct export *x, uint32_t row, span_id_t block)
{
	const struct event *from = trace_row(x->t, row);
	uint32_t at = batch_copy_event(&x->copy, x->t->rows[row]);
	struct event *e;

	if (x->to->failed || from->type == EVENT_POINT || from->type == EVENT_LOG)
		return;
	e = &x->to->events[at];
	e->type = EVENT_POINT;
	e->id1 = block;
	e->id2 = 0;
	forget_unit(x->to, at);
	if (from->name == 0)
		e->name = batch_string(x->to, slice_cstr(event_type_name(from->type)));
}

static void put_counter(struct export *x, const struct trace_counter *c, span_id_t block)
{
	const struct batch *from = trace_row_batch(x->t, c->row);
	const struct event_extra *extra = batch_extra_get(from, trace_row(x->t, c->row));
	struct attr value = extra->body;
	size_t at = x->to->event_n;

	put_instant(x, c->row, block);
	if (x->to->failed || (value.type != VALUE_INT && value.type != VALUE_DOUBLE))
		return;
	value.word = batch_word(x->to, attr_bits(from, &extra->body));
	/* the event's own attributes were copied last */
	value.key = batch_string(x->to, SLICE("value"));
	if (x->to->events[at].attrs.count == 0)
		x->to->events[at].attrs.first = (uint32_t)x->to->attr_n;
	if (x->to->events[at].attrs.first + x->to->events[at].attrs.count != x->to->attr_n)
		return;
	batch_attr(x->to, value);
	x->to->events[at].attrs.count++;
}

/* An edge that was sent, as a link from where it leads to where it comes from. */
static void put_edge(struct export *x, const struct trace_edge *edge, uint32_t to)
{
	const struct trace *t = x->t;
	uint32_t from = trace_pos_block(t, edge->from);
	struct event *e;

	if (edge->row == TRACE_NONE)
		return;
	if (trace_row(t, edge->row)->type == EVENT_LINK) {
		batch_copy_event(&x->copy, t->rows[edge->row]);
		return;
	}
	if (from == to || t->blocks[to].parent == from)
		return;
	e = batch_event(x->to);
	*e = (struct event){
		.type = EVENT_LINK,
		.trace_id = t->id,
		.id1 = t->blocks[to].id,
		.id2 = t->blocks[from].id,
		.attrs = {(uint32_t)x->to->attr_n, 1},
		.resource = x->to->events[x->to->event_n - 2].resource,
		.scope = x->to->events[x->to->event_n - 2].scope,
		.format = trace_row(t, edge->row)->format,
	};
	batch_extra(x->to, (uint32_t)x->to->event_n - 1)->link_trace = t->id;
	batch_attr_string(x->to, SLICE("causet.edge"),
			  slice_cstr(trace_edge_kind_name(edge->kind)));
}

static void put_block(struct export *x, uint32_t block, size_t *counter)
{
	const struct trace *t = x->t;
	const struct trace_block *b = &t->blocks[block];
	size_t first, edges = trace_edges_into(t, block, &first);

	put_span(x, block);
	for (uint32_t i = b->point_first; i < b->point_first + b->point_n; i++)
		if (trace_row(t, t->points[i].row)->type != EVENT_EDGE)
			put_instant(x, t->points[i].row, b->id);
	for (size_t i = first; i < first + edges && !x->to->failed; i++)
		put_edge(x, &t->edges[i], block);
	for (uint32_t i = x->link_first[block]; i < x->link_first[block + 1]; i++)
		if (trace_row(t, t->links[x->link[i]].row)->type == EVENT_LINK)
			batch_copy_event(&x->copy, t->rows[t->links[x->link[i]].row]);
	for (; *counter < t->counter_n && t->counters[*counter].block == block; ++*counter)
		put_counter(x, &t->counters[*counter], b->id);
}

/* Links by block. */
static int index_links(struct export *x)
{
	const struct trace *t = x->t;

	x->link_first = calloc(t->block_n + 2, sizeof(*x->link_first));
	x->link = malloc((t->link_n + 1) * sizeof(*x->link));
	if (!x->link_first || !x->link)
		return -ENOMEM;
	for (size_t i = 0; i < t->link_n; i++)
		if (t->links[i].block != TRACE_NONE)
			x->link_first[t->links[i].block + 2]++;
	for (size_t i = 2; i < t->block_n + 2; i++)
		x->link_first[i] += x->link_first[i - 1];
	for (size_t i = 0; i < t->link_n; i++)
		if (t->links[i].block != TRACE_NONE)
			x->link[x->link_first[t->links[i].block + 1]++] = (uint32_t)i;
	return 0;
}

int trace_to_batch(const struct trace *t, struct batch **ret_batch)
{
	_cleanup_(export_done)
	struct export x = {.t = t};
	size_t counter = 0;
	int r;

	x.to = batch_new(0);
	batch_copy_init(&x.copy, x.to);
	if (!x.to)
		return -ENOMEM;
	r = index_links(&x);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < t->block_n && !x.to->failed; i++)
		if (t->blocks[i].inferred == TRACE_NONE)
			put_block(&x, i, &counter);
	for (size_t i = 0; i < t->point_n && !x.to->failed; i++)
		if (t->points[i].block == TRACE_NONE)
			put_instant(&x, t->points[i].row, trace_row(t, t->points[i].row)->id1);
	for (size_t i = 0; i < t->counter_n && !x.to->failed; i++)
		if (t->counters[i].block == TRACE_NONE)
			put_counter(&x, &t->counters[i], trace_row(t, t->counters[i].row)->id1);
	for (size_t i = 0; i < t->link_n && !x.to->failed; i++)
		if (t->links[i].block == TRACE_NONE &&
		    trace_row(t, t->links[i].row)->type == EVENT_LINK)
			batch_copy_event(&x.copy, t->rows[t->links[i].row]);
	r = batch_seal(x.to);
	if (r < 0)
		return r;
	*ret_batch = TAKE_PTR(x.to);
	return 0;
}
