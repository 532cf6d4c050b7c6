/* exec/element_field.c - fields and attributes of a trace's elements.
 *
 * What stands in an element's own row is exec/row_field.h's; here is what takes the trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "exec/attr_value.h"
#include "exec/nested_set.h"
#include "exec/row_field.h"
#include "exec/trace_eval.h"
#include "store/summary.h"

#define MANY_MOST 65536 /* values of a span's points or links that a comparison looks at */

struct value row_host(struct event_ref ref, struct arena *arena)
{
	const struct event *e = event_get(ref);

	return resource_field(ref.batch, &ref.batch->resources[e->resource],
			      batch_text(ref.batch, ref.batch->sender), F_HOST, arena);
}

static struct value fail(struct trace_at *at, int r)
{
	at->env.failed = r;
	return value_nil();
}

static struct value text_or_nil(struct slice s)
{
	return s.n ? value_text(s) : value_nil();
}

/* --- the trace --- */

static void bound(struct trace_at *at)
{
	if (!at->bounded)
		trace_bounds(at->refs, at->ref_n, &at->start_ns, &at->duration_ns);
	at->bounded = true;
}

static int by_text(const void *a, const void *b)
{
	return slice_cmp(value_slice(*(const struct value *)a),
			 value_slice(*(const struct value *)b));
}

static struct value services(struct trace_at *at)
{
	const struct trace *t = at->trace;
	struct value *list = arena_alloc(&at->arena, (t->block_n + 1) * sizeof(*list));
	uint32_t n = 0, distinct = 0;

	if (!list)
		return fail(at, -ENOMEM);
	for (uint32_t i = 0; i < t->block_n; i++) {
		struct slice s = trace_block_service(t, i);

		if (s.n && (n == 0 || !slice_eq(s, value_slice(list[n - 1]))))
			list[n++] = value_text(s);
	}
	qsort(list, n, sizeof(*list), by_text);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || by_text(&list[i], &list[i - 1]) != 0)
			list[distinct++] = list[i];
	return value_list(list, distinct);
}

static struct value trace_field(struct trace_at *at, enum plan_field field)
{
	struct trace *t = at->trace;

	switch (field) {
	case F_TRACE_ROOT:
		return t->block_n ? text_or_nil(trace_block_name(t, 0)) : value_nil();
	case F_TRACE_ROOT_SERVICE:
		return t->block_n ? text_or_nil(trace_block_service(t, 0)) : value_nil();
	case F_TRACE_DURATION:
		bound(at);
		return value_of(V_DURATION, at->duration_ns);
	case F_TRACE_START:
		bound(at);
		return time_value((uint64_t)at->start_ns);
	case F_TRACE_END:
		bound(at);
		return time_value((uint64_t)at->start_ns + (uint64_t)at->duration_ns);
	case F_TRACE_SPANS:
		return value_int((int64_t)t->block_n);
	case F_TRACE_ERRORS:
		return value_int((int64_t)t->errors);
	case F_TRACE_SERVICES:
		return services(at);
	case F_TRACE_PROBABILITY:
		return value_float(1 / at->sample.weight);
	case F_TRACE_PATTERN:
		if (at->pattern.n == 0 && trace_pattern(t, &at->arena, &at->pattern) < 0)
			return fail(at, -ENOMEM);
		return value_text(at->pattern);
	default:
		return value_nil();
	}
}

/* --- blocks --- */

/* The row that ended a block: its status, and attributes that came late. */
static const struct event *end_event(const struct trace *t, const struct trace_block *b)
{
	return b->end_row == TRACE_NONE ? NULL : trace_row(t, b->end_row);
}

static struct value end_value(const struct trace *t, const struct trace_block *b)
{
	const struct event *e = end_event(t, b);

	return e ? time_value(e->type == EVENT_SPAN ? e->end_ns : e->time_ns) : value_nil();
}

static struct value many(struct trace_at *at, uint32_t block, const struct plan_expr *e);

static struct value block_field(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	struct trace *t = at->trace;
	const struct trace_block *b = &t->blocks[el.index];
	const struct event *end = end_event(t, b);
	struct value v, w;

	switch (e->field.field) {
	case F_TIME:
		if (el.at_end)
			return end_value(t, b);
		break;
	case F_END:
		return end_value(t, b);
	case F_DURATION:
		v = time_value(trace_row(t, b->row)->time_ns);
		w = end_value(t, b);
		return value_is_nil(v) || value_is_nil(w)
			       ? value_nil()
			       : value_of(V_DURATION, w.i > v.i ? w.i - v.i : 0);
	case F_STATUS:
		if (end && end->type == EVENT_END)
			return value_of(V_STATUS, end->status);
		break;
	case F_SELF:
		return value_of(V_DURATION, b->self_ns);
	case F_CHILD_COUNT:
		return value_int(b->child_n);
	case F_NESTED_LEFT:
		return value_int(nested_left(t, el.index));
	case F_NESTED_RIGHT:
		return value_int(nested_right(t, el.index));
	case F_NESTED_PARENT:
		return value_int(nested_parent(t, el.index, b->parent_id));
	case F_SLACK:
		if (!at->slacks && trace_slacks(t, &at->arena, &at->slacks) < 0)
			return fail(at, -ENOMEM);
		return value_of(V_DURATION, at->slacks[el.index]);
	case F_CRITICAL:
		if (!at->critical && trace_critical(t, &at->arena, &at->critical) < 0)
			return fail(at, -ENOMEM);
		return value_of(V_DURATION, at->critical[el.index]);
	case F_EVENT_NAME:
	case F_EVENT_SINCE_START:
	case F_LINK_SPAN_ID:
	case F_LINK_TRACE_ID:
		return many(at, el.index, e);
	default:
		break;
	}
	return row_field(t->rows[b->row], e, at->tracepoint, &at->arena);
}

/* One value of a point or link. */
static struct value one_of(struct trace_at *at, uint32_t block, uint32_t row,
			   const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	const struct event *v = trace_row(t, row);
	const struct batch *b = trace_row_batch(t, row);
	uint64_t begin = trace_row(t, t->blocks[block].row)->time_ns;

	if (e->kind == X_ATTR)
		return range_attr(b, v->attrs, e->attr.key, &at->arena);
	switch (e->field.field) {
	case F_EVENT_NAME:
		return value_text(batch_text(b, v->name));
	case F_EVENT_SINCE_START:
		return duration_value(begin, v->time_ns);
	case F_LINK_SPAN_ID:
		return span_id_value(v->id2, &at->arena);
	case F_LINK_TRACE_ID:
		return trace_id_value(batch_extra_get(b, v)->link_trace, &at->arena);
	default:
		return value_nil();
	}
}

/* What each of a block's points or links says. */
static struct value many(struct trace_at *at, uint32_t block, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	const struct trace_block *b = &t->blocks[block];
	bool links = e->kind == X_ATTR ? e->attr.scope == ATTR_LINK
				       : e->field.field == F_LINK_SPAN_ID ||
						 e->field.field == F_LINK_TRACE_ID;
	size_t most = links ? t->link_n + t->edge_n : b->point_n, n = 0;
	struct value *list;

	if (most > MANY_MOST)
		most = MANY_MOST;
	list = arena_alloc(&at->arena, (most + 1) * sizeof(*list));
	if (!list)
		return fail(at, -ENOMEM);
	if (!links)
		for (uint32_t i = 0; i < most; i++)
			list[n++] = one_of(at, block, t->points[b->point_first + i].row, e);
	for (size_t i = 0; links && i < t->link_n && n < most; i++)
		if (t->links[i].block == block)
			list[n++] = one_of(at, block, t->links[i].row, e);
	for (size_t i = 0; links && i < t->edge_n && n < most; i++)
		if (t->edges[i].kind == EDGE_LINK && t->edges[i].row != TRACE_NONE &&
		    trace_pos_block(t, t->edges[i].to) == block)
			list[n++] = one_of(at, block, t->edges[i].row, e);
	return value_list(list, (uint32_t)n);
}

/* --- the others --- */

static struct value point_field(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	const struct trace_point *p = &t->points[el.index];
	const struct event *row = trace_row(t, p->row);

	switch (e->field.field) {
	case F_BLOCK:
	case F_SPAN_ID:
		return span_id_value(row->id1, &at->arena);
	case F_EVENT_NAME:
		return value_text(trace_row_name(t, p->row));
	case F_EVENT_SINCE_START:
		return p->block == TRACE_NONE
			       ? value_nil()
			       : duration_value(trace_row(t, t->blocks[p->block].row)->time_ns,
						row->time_ns);
	case F_TYPE:
		return value_text(slice_cstr(event_type_name(row->type)));
	case F_ELEMENT: {
		char *text = arena_printf(
			&at->arena, "%016" PRIx64 "%016" PRIx64 "/%016" PRIx64 "@%" PRIu64,
			load_be64(at->id.b), load_be64(at->id.b + 8), row->id1, row->time_ns);

		return text ? value_text(slice_cstr(text)) : fail(at, -ENOMEM);
	}
	case F_THREAD_ID: { /* its own, else its block's */
		struct value v = row_field(t->rows[p->row], e, at->tracepoint, &at->arena);

		if (value_is_nil(v) && p->block != TRACE_NONE)
			v = row_field(t->rows[t->blocks[p->block].row], e, at->tracepoint,
				      &at->arena);
		return v;
	}
	case F_PARENT_ID:
	case F_KIND:
	case F_STATUS:
	case F_START:
	case F_END:
	case F_DURATION:
	case F_SELF:
		return value_nil();
	default:
		return row_field(t->rows[p->row], e, at->tracepoint, &at->arena);
	}
}

static struct value block_id(struct trace_at *at, struct trace_pos pos)
{
	uint32_t block = trace_pos_block(at->trace, pos);

	return block == TRACE_NONE ? value_nil()
				   : span_id_value(at->trace->blocks[block].id, &at->arena);
}

static struct value edge_duration(const struct trace *t, const struct trace_edge *e)
{
	if (e->row != TRACE_NONE && trace_row(t, e->row)->type == EVENT_EDGE) {
		const struct event *row = trace_row(t, e->row);
		struct value v = duration_value(row->time_ns, row->end_ns);

		if (!value_is_nil(v))
			return v;
	}
	{
		int64_t from = trace_pos_ns(t, e->from), to = trace_pos_ns(t, e->to);

		return value_of(V_DURATION, to > from ? to - from : 0);
	}
}

static struct value edge_field(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	const struct trace_edge *edge = &t->edges[el.index];
	bool named = edge->row != TRACE_NONE && trace_row(t, edge->row)->type == EVENT_EDGE &&
		     trace_row_name(t, edge->row).n;
	struct element to = {.kind = ELEMENT_BLOCK, .index = trace_pos_block(t, edge->to)};

	switch (e->field.field) {
	case F_TYPE:
		return value_text(named && edge->kind == EDGE_OTHER
					  ? trace_row_name(t, edge->row)
					  : slice_cstr(trace_edge_kind_name(edge->kind)));
	case F_NAME:
		return value_text(named ? trace_row_name(t, edge->row)
					: slice_cstr(trace_edge_kind_name(edge->kind)));
	case F_FROM:
		return block_id(at, edge->from);
	case F_TO:
		return block_id(at, edge->to);
	case F_DURATION:
		return edge_duration(t, edge);
	case F_QUEUED:
		return value_of(V_DURATION, edge->queued_ns);
	case F_TIME:
	case F_START:
		return time_value((uint64_t)trace_pos_ns(t, edge->from));
	case F_END:
		return time_value((uint64_t)trace_pos_ns(t, edge->to));
	case F_CONFIDENCE: {
		struct value v = edge->row == TRACE_NONE
					 ? value_nil()
					 : range_attr(trace_row_batch(t, edge->row),
						      trace_row(t, edge->row)->attrs,
						      SLICE("causet.confidence"), &at->arena);

		return value_is_nil(v) ? value_float(1) : v;
	}
	case F_TRACE_ID:
		return trace_id_value(at->id, &at->arena);
	case F_ELEMENT:
		return to.index == TRACE_NONE
			       ? value_nil()
			       : element_value(at->id, t->blocks[to.index].id, &at->arena);
	default: /* what it happened in */
		return to.index == TRACE_NONE ? value_nil() : block_field(at, to, e);
	}
}

static struct value unit_field(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	const struct trace_unit *u = &t->units[el.index];
	struct event_ref ref = {0};

	if (u->row != TRACE_NONE)
		ref = t->rows[u->row];
	for (uint32_t i = 0; !ref.batch && i < t->block_n; i++)
		if (t->blocks[i].unit == el.index)
			ref = t->rows[t->blocks[i].row];
	switch (e->field.field) {
	case F_TRACE_ID:
		return trace_id_value(at->id, &at->arena);
	case F_SPAN_ID:
	case F_ELEMENT:
		return element_value(at->id, u->id, &at->arena);
	case F_PARENT_ID:
		return u->parent == TRACE_NONE ? value_nil()
					       : span_id_value(t->units[u->parent].id, &at->arena);
	case F_NAME:
		/* A unit made from spans is called after its process. */
		if (u->row == TRACE_NONE)
			return text_or_nil(t->processes[u->process].service);
		break;
	case F_THREAD: {
		struct plan_expr id = {.kind = X_FIELD, .field = {F_THREAD_ID, OF_SELF}};

		return ref.batch ? row_field(ref, &id, at->tracepoint, &at->arena) : value_nil();
	}
	default:
		break;
	}
	return ref.batch ? row_field(ref, e, at->tracepoint, &at->arena) : value_nil();
}

static struct value counter_field(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	const struct trace_counter *c = &t->counters[el.index];
	const struct batch *b = trace_row_batch(t, c->row);
	const struct event *row = trace_row(t, c->row);

	if (e->field.field == F_VALUE)
		return attr_value(b, &batch_extra_get(b, row)->body, &at->arena);
	if (e->field.field == F_BLOCK)
		return span_id_value(row->id1, &at->arena);
	return row_field(t->rows[c->row], e, at->tracepoint, &at->arena);
}

static struct value whole_field(struct trace_at *at, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	struct element root = {.kind = ELEMENT_BLOCK};

	switch (e->field.field) {
	case F_DURATION:
		return trace_field(at, F_TRACE_DURATION);
	case F_TIME:
	case F_START:
		return trace_field(at, F_TRACE_START);
	case F_END:
		return trace_field(at, F_TRACE_END);
	case F_TRACE_ID:
	case F_ELEMENT:
		return trace_id_value(at->id, &at->arena);
	default: /* a trace is called after its root */
		return t->block_n ? block_field(at, root, e) : value_nil();
	}
}

static struct value attribute(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	uint32_t row = TRACE_NONE, late = TRACE_NONE;
	struct value v;

	switch ((enum element_kind)el.kind) {
	case ELEMENT_TRACE:
		if (t->block_n == 0)
			return value_nil();
		el = (struct element){.kind = ELEMENT_BLOCK};
		/* fall through */
	case ELEMENT_BLOCK:
		if (e->attr.scope == ATTR_EVENT || e->attr.scope == ATTR_LINK)
			return many(at, el.index, e);
		row = t->blocks[el.index].row;
		if (t->blocks[el.index].end_row != row)
			late = t->blocks[el.index].end_row;
		break;
	case ELEMENT_POINT:
		row = t->points[el.index].row;
		if (e->attr.scope == ATTR_SPAN || e->attr.scope == ATTR_LINK)
			return value_nil();
		break;
	case ELEMENT_EDGE:
		row = t->edges[el.index].row;
		break;
	case ELEMENT_UNIT:
		row = t->units[el.index].row;
		break;
	case ELEMENT_COUNTER:
		row = t->counters[el.index].row;
		break;
	}
	if (late != TRACE_NONE && e->attr.scope != ATTR_RESOURCE) {
		v = range_attr(trace_row_batch(t, late), trace_row(t, late)->attrs, e->attr.key,
			       &at->arena);
		if (!value_is_nil(v))
			return v;
	}
	return row == TRACE_NONE ? value_nil()
				 : row_field(t->rows[row], e, at->tracepoint, &at->arena);
}

struct value element_value_of(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	if (e->kind == X_ATTR)
		return attribute(at, el, e);
	if (e->field.field >= F_TRACE_ROOT && e->field.field <= F_TRACE_PROBABILITY)
		return trace_field(at, e->field.field);
	if (e->field.field == F_TRACEPOINT)
		return value_text(at->tracepoint);
	switch ((enum element_kind)el.kind) {
	case ELEMENT_BLOCK:
		return block_field(at, el, e);
	case ELEMENT_POINT:
		return point_field(at, el, e);
	case ELEMENT_EDGE:
		return edge_field(at, el, e);
	case ELEMENT_UNIT:
		return unit_field(at, el, e);
	case ELEMENT_COUNTER:
		return counter_field(at, el, e);
	case ELEMENT_TRACE:
		return whole_field(at, e);
	}
	return value_nil();
}
