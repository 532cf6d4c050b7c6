/* exec/trace_eval.c - operators of a plan over one trace: sources, filters, projections, lists. */
#include "exec/trace_eval.h"

#include <errno.h>

#include "exec/light_trace.h"

int tuples_add(struct trace_at *at, struct tuples *out, struct value *values, struct element anchor)
{
	if (out->n == out->capacity) {
		uint32_t capacity = out->capacity ? 2 * out->capacity : 16;
		struct trace_tuple *items;

		if (capacity > TUPLES_MOST)
			return -E2BIG;
		items = arena_alloc(&at->arena, (size_t)capacity * sizeof(*items));
		if (!items)
			return -ENOMEM;
		if (out->n)
			memcpy(items, out->items, out->n * sizeof(*items));
		out->items = items;
		out->capacity = capacity;
		if (at->run && at->run->budget.memory_most &&
		    at->arena.bytes > at->run->budget.memory_most)
			return -ENOSPC;
	}
	out->items[out->n++] = (struct trace_tuple){values, anchor};
	return 0;
}

static struct value *values_of(struct trace_at *at, uint32_t n)
{
	struct value *v = arena_alloc(&at->arena, (n ? n : 1) * sizeof(*v));

	if (!v)
		at->env.failed = -ENOMEM;
	return v;
}

static bool in_range(const struct trace_at *at, struct element el)
{
	const struct plan_range *r = &at->run->range;

	return !range_is_set(r) || range_has(r, element_time(at, el));
}

/* --- sources --- */

static int add_element(struct trace_at *at, const struct plan_node *node, struct element el,
		       const struct plan_expr *const *fields, struct slice name, struct tuples *out)
{
	struct value *values = values_of(at, node->column_n);

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < node->column_n; i++)
		values[i] = element_eval(at, el, name, fields[i]);
	return at->env.failed ? at->env.failed : tuples_add(at, out, values, el);
}

static int try_element(struct trace_at *at, const struct plan_node *node, struct element el,
		       bool ranged, struct tuples *out)
{
	int member = at->light ? light_member(at, el.index, light_set_number(at, node)) : -1;

	if (member == 0 || (ranged && !in_range(at, el)) ||
	    (member < 0 && !element_test(at, el, node->source.name, node->source.predicate)))
		return at->env.failed;
	return add_element(at, node, el, node->source.fields, node->source.name, out);
}

static int try_all(struct trace_at *at, const struct plan_node *node, enum element_kind kind,
		   size_t n, bool ranged, struct tuples *out)
{
	struct element el = {.kind = (uint8_t)kind};
	int r = 0;

	for (; r == 0 && el.index < n; el.index++)
		if (!element_is_made(at->trace, el))
			r = try_element(at, node, el, ranged, out);
	return r;
}

static int eval_blocks(struct trace_at *at, const struct plan_node *node, bool ranged,
		       struct tuples *out)
{
	const struct trace *t = at->trace;
	struct element el = {.kind = ELEMENT_BLOCK, .at_end = node->source.instant == INSTANT_END};
	int r = 0;

	for (; r == 0 && el.index < t->block_n; el.index++) {
		uint16_t bits = t->blocks[el.index].bits;

		if ((bits & BLOCK_IMPLIED) ||
		    (node->source.kind == FROM_SPANS && (bits & BLOCK_NATIVE)) ||
		    (el.at_end && (bits & BLOCK_RUNNING)))
			continue;
		r = try_element(at, node, el, ranged, out);
	}
	return r;
}

static int eval_source(struct trace_at *at, const struct plan_node *node, bool ranged,
		       struct tuples *out)
{
	const struct trace *t = at->trace;
	int r;

	switch (node->source.kind) {
	case FROM_SPANS:
	case FROM_BLOCKS:
		return eval_blocks(at, node, ranged, out);
	case FROM_POINTS:
		return try_all(at, node, ELEMENT_POINT, t->point_n, ranged, out);
	case FROM_EDGES:
		return try_all(at, node, ELEMENT_EDGE, t->edge_n, ranged, out);
	case FROM_UNITS:
		return try_all(at, node, ELEMENT_UNIT, t->unit_n, ranged, out);
	case FROM_COUNTERS:
		return try_all(at, node, ELEMENT_COUNTER, t->counter_n, ranged, out);
	case FROM_TRACES:
		return try_all(at, node, ELEMENT_TRACE, 1, ranged, out);
	case FROM_EVENTS:
		if (at->light && at->light->points)
			return -EAGAIN;
		r = eval_blocks(at, node, ranged, out);
		return r == 0 ? try_all(at, node, ELEMENT_POINT, t->point_n, ranged, out) : r;
	default:
		return -EINVAL;
	}
}

static int eval_spanset(struct trace_at *at, const struct plan_node *node, bool ranged,
			struct tuples *out)
{
	const uint64_t *set = trace_set(at, node->spanset.set);
	struct element el = {.kind = ELEMENT_BLOCK};
	int r = set ? 0 : at->env.failed;

	for (; r == 0 && el.index < at->trace->block_n; el.index++)
		if (set_has(set, el.index) && (!ranged || in_range(at, el)))
			r = add_element(at, node, el, node->spanset.fields, SLICE("spans"), out);
	return r;
}

/* --- over tuples --- */

static int eval_filter(struct trace_at *at, const struct plan_node *node, bool ranged,
		       struct tuples *out)
{
	struct tuples in = {0};
	int r = trace_eval(at, node->inputs[0], ranged, &in);

	for (uint32_t i = 0; r == 0 && i < in.n; i++) {
		at->env.columns = in.items[i].values;
		if (value_is_true(expr_eval(&at->env, node->filter.predicate)))
			r = tuples_add(at, out, in.items[i].values, in.items[i].anchor);
		if (at->env.failed)
			r = at->env.failed;
	}
	return r;
}

static int eval_project(struct trace_at *at, const struct plan_node *node, bool ranged,
			struct tuples *out)
{
	struct tuples in = {0};
	int r = trace_eval(at, node->inputs[0], ranged, &in);

	for (uint32_t i = 0; r == 0 && i < in.n; i++) {
		struct value *values = values_of(at, node->column_n);

		if (!values)
			return -ENOMEM;
		at->env.columns = in.items[i].values;
		for (uint32_t c = 0; c < node->column_n; c++)
			values[c] = expr_eval(&at->env, node->project.exprs[c]);
		r = at->env.failed ? at->env.failed
				   : tuples_add(at, out, values, in.items[i].anchor);
	}
	return r;
}

/* Every combination of the elements of the tuple's lists. */
static int unnest_one(struct trace_at *at, const struct plan_node *node,
		      const struct trace_tuple *in, uint32_t slot, struct value *so_far,
		      struct tuples *out)
{
	uint32_t n = node->column_n, column;
	struct value list;
	int r = 0;

	if (slot == node->unnest.slot_n) {
		struct value *values = values_of(at, n);

		if (!values)
			return -ENOMEM;
		memcpy(values, so_far, n * sizeof(*values));
		return tuples_add(at, out, values, in->anchor);
	}
	column = node->unnest.slots[slot];
	list = in->values[column];
	if (list.type != V_LIST)
		return unnest_one(at, node, in, slot + 1, so_far, out);
	for (uint32_t i = 0; r == 0 && i < list.n; i++) {
		so_far[column] = list.list[i];
		r = unnest_one(at, node, in, slot + 1, so_far, out);
	}
	so_far[column] = list;
	return r;
}

static int eval_unnest(struct trace_at *at, const struct plan_node *node, bool ranged,
		       struct tuples *out)
{
	struct tuples in = {0};
	int r = trace_eval(at, node->inputs[0], ranged, &in);
	struct value *scratch = values_of(at, node->column_n);

	if (!scratch)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < in.n; i++) {
		memcpy(scratch, in.items[i].values, node->column_n * sizeof(*scratch));
		r = unnest_one(at, node, &in.items[i], 0, scratch, out);
	}
	return r;
}

static int eval_pick(struct trace_at *at, const struct plan_node *node, bool ranged,
		     struct tuples *out)
{
	struct tuples in = {0};
	struct trace_tuple **items;
	bool ordered = at->ordered;
	int r;

	at->ordered = true;
	r = trace_eval(at, node->inputs[0], ranged, &in);
	at->ordered = ordered;
	if (r < 0)
		return r;
	items = arena_alloc(&at->arena, (in.n + 1) * sizeof(struct trace_tuple *));
	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < in.n; i++)
		items[i] = &in.items[i];
	r = tuples_pick(at, items, in.n, node->pick.pick, node->pick.n);
	for (int i = 0, n = r; r >= 0 && i < n; i++)
		r = tuples_add(at, out, items[i]->values, items[i]->anchor);
	return r < 0 ? r : 0;
}

int trace_eval(struct trace_at *at, const struct plan_node *node, bool ranged, struct tuples *out)
{
	int r = 0;

	switch (node->op) {
	case PLAN_SOURCE:
		return eval_source(at, node, ranged, out);
	case PLAN_SPANSET:
		return eval_spanset(at, node, ranged, out);
	case PLAN_FILTER:
		return eval_filter(at, node, ranged, out);
	case PLAN_PROJECT:
		return eval_project(at, node, ranged, out);
	case PLAN_UNNEST:
		return eval_unnest(at, node, ranged, out);
	case PLAN_PICK:
		return eval_pick(at, node, ranged, out);
	case PLAN_HBJOIN:
		return eval_hbjoin(at, node, ranged, out);
	case PLAN_SEQUENCE:
		return eval_sequence(at, node, ranged, out);
	case PLAN_PIPE:
		return eval_pipe(at, node, out);
	case PLAN_UNION:
		for (uint32_t i = 0; r == 0 && i < node->input_n; i++)
			r = trace_eval(at, node->inputs[i], ranged, out);
		return r;
	default:
		return -EINVAL;
	}
}
