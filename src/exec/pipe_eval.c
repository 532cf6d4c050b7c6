/* exec/pipe_eval.c - pipes over the elements of one trace: Canopy's feature expressions. */
#include <errno.h>

#include "exec/aggregate.h"
#include "exec/grouping.h"
#include "exec/row_field.h"
#include "exec/trace_eval.h"
#include "model/critical_path.h"

struct item {
	bool is_value;
	struct value value;
	struct element element;
	int64_t path_ns; /* of a piece of a critical path: how long it is; else -1 */
};

struct items {
	struct item *list;
	uint32_t n, capacity;
};

static int run_pipe(struct trace_at *at, const struct plan_pipe *pipe, struct items *out);

static int push(struct trace_at *at, struct items *out, struct item item)
{
	if (out->n == out->capacity) {
		uint32_t capacity = out->capacity ? 2 * out->capacity : 16;
		struct item *list = arena_alloc(&at->arena, (size_t)capacity * sizeof(*list));

		if (!list)
			return -ENOMEM;
		if (out->n)
			memcpy(list, out->list, out->n * sizeof(*list));
		out->list = list;
		out->capacity = capacity;
	}
	out->list[out->n++] = item;
	return 0;
}

static int push_element(struct trace_at *at, struct items *out, enum element_kind kind,
			uint32_t index)
{
	return push(
		at, out,
		(struct item){.element = {.kind = (uint8_t)kind, .index = index}, .path_ns = -1});
}

/* --- from elements to elements --- */

/* The block an element is in, or TRACE_NONE. */
static uint32_t block_of(const struct trace *t, struct element el)
{
	switch ((enum element_kind)el.kind) {
	case ELEMENT_BLOCK:
		return el.index;
	case ELEMENT_POINT:
		return t->points[el.index].block;
	case ELEMENT_EDGE:
		return trace_pos_block(t, t->edges[el.index].to);
	case ELEMENT_COUNTER:
		return t->counters[el.index].block;
	default:
		return TRACE_NONE;
	}
}

static uint32_t unit_of(const struct trace *t, enum element_kind kind, uint32_t i)
{
	uint32_t block;

	switch (kind) {
	case ELEMENT_BLOCK:
		return t->blocks[i].unit;
	case ELEMENT_POINT:
		return t->points[i].unit;
	case ELEMENT_COUNTER:
		return t->counters[i].unit;
	case ELEMENT_EDGE:
		block = trace_pos_block(t, t->edges[i].to);
		return block == TRACE_NONE ? TRACE_NONE : t->blocks[block].unit;
	default:
		return TRACE_NONE;
	}
}

static size_t count_of(const struct trace *t, enum element_kind kind)
{
	switch (kind) {
	case ELEMENT_BLOCK:
		return t->block_n;
	case ELEMENT_POINT:
		return t->point_n;
	case ELEMENT_EDGE:
		return t->edge_n;
	case ELEMENT_UNIT:
		return t->unit_n;
	case ELEMENT_COUNTER:
		return t->counter_n;
	case ELEMENT_TRACE:
		return 1;
	}
	return 0;
}

/* Does element i of a kind belong to `from`? */
static bool belongs(const struct trace *t, struct element from, enum element_kind kind, uint32_t i)
{
	uint32_t unit;

	switch ((enum element_kind)from.kind) {
	case ELEMENT_TRACE:
		return true;
	case ELEMENT_UNIT:
		return kind == ELEMENT_UNIT ? i == from.index : unit_of(t, kind, i) == from.index;
	default:
		break;
	}
	if (kind == ELEMENT_TRACE)
		return true;
	if (kind == ELEMENT_UNIT) {
		unit = unit_of(t, from.kind, from.index);
		return unit == i;
	}
	return block_of(t, from) != TRACE_NONE &&
	       block_of(t, (struct element){.kind = (uint8_t)kind, .index = i}) ==
		       block_of(t, from);
}

/* Elements of a kind that belong to those that came in, each once, in the trace's order. */
static int go_to(struct trace_at *at, const struct items *in, bool head, enum element_kind kind,
		 struct items *out)
{
	const struct trace *t = at->trace;
	size_t n = count_of(t, kind);
	int r = 0;

	/* A path's pieces, and what is already of the kind, are picked out. */
	if (!head && in->n) {
		bool mixed = false;

		for (uint32_t i = 0; i < in->n; i++)
			mixed |= in->list[i].path_ns >= 0 ||
				 (!in->list[i].is_value && in->list[i].element.kind == kind);
		for (uint32_t i = 0; mixed && r == 0 && i < in->n; i++)
			if (!in->list[i].is_value && in->list[i].element.kind == kind)
				r = push(at, out, in->list[i]);
		if (mixed)
			return r;
	}
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		bool in_some = head;

		if ((kind == ELEMENT_BLOCK && (t->blocks[i].bits & BLOCK_IMPLIED)) ||
		    element_is_made(t, (struct element){.kind = (uint8_t)kind, .index = i}))
			continue;
		for (uint32_t k = 0; !in_some && k < in->n; k++)
			in_some = !in->list[k].is_value && belongs(t, in->list[k].element, kind, i);
		if (in_some)
			r = push_element(at, out, kind, i);
	}
	return r;
}

static int go_set(struct trace_at *at, const struct plan_set *set, struct items *out)
{
	const uint64_t *bits = trace_set(at, set);
	int r = bits ? 0 : at->env.failed;

	for (uint32_t i = 0; r == 0 && i < at->trace->block_n; i++)
		if (set_has(bits, i))
			r = push_element(at, out, ELEMENT_BLOCK, i);
	return r;
}

/* --- critical paths --- */

/* The position of the first element a pipe gives: 1, or 0 when it gives none. */
static int first_pos(struct trace_at *at, const struct plan_pipe *pipe, bool end,
		     struct trace_pos *ret_pos)
{
	struct items items = {0};
	int r = run_pipe(at, pipe, &items);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < items.n; i++)
		if (!items.list[i].is_value) {
			struct element el = items.list[i].element;

			el.at_end = end && el.kind == ELEMENT_BLOCK;
			return element_pos(at, el, ret_pos) ? 1 : 0;
		}
	return 0;
}

static int go_path(struct trace_at *at, const struct pipe_stage *s, struct items *out)
{
	struct critical_path path = {0};
	struct trace_pos from, to;
	int r;

	if (s->pipes[0]) {
		r = first_pos(at, s->pipes[0], false, &from);
		if (r > 0)
			r = first_pos(at, s->pipes[1], true, &to);
		if (r <= 0)
			return r;
		r = critical_path_between(at->trace, from, to, &path);
	} else if (at->light && at->trace->roots > 1) {
		r = -EAGAIN; /* what the root led to is searched in rows */
	} else {
		r = critical_path_whole(at->trace, &path);
	}
	if (r == -ENOENT || r == -EINVAL)
		return 0; /* the one did not lead to the other */
	for (size_t i = 0; r == 0 && i < path.n; i++) {
		const struct path_segment *p = &path.segments[i];
		bool edge = p->kind != SEGMENT_SELF && p->edge != TRACE_NONE;
		struct item item = {.path_ns = p->to_ns - p->from_ns};

		item.element.kind = edge ? ELEMENT_EDGE : ELEMENT_BLOCK;
		item.element.index = edge ? p->edge : p->block;
		if (item.element.index != TRACE_NONE)
			r = push(at, out, item);
	}
	critical_path_done(&path);
	return r;
}

/* --- values --- */

static struct value value_at(struct trace_at *at, const struct item *item,
			     const struct plan_expr *e)
{
	if (item->is_value)
		return item->value;
	if (item->path_ns >= 0 && e->kind == X_FIELD && e->field.field == F_DURATION)
		return value_of(V_DURATION, item->path_ns);
	return element_eval(at, item->element, SLICE(""), e);
}

static int push_value(struct trace_at *at, struct items *out, struct value v)
{
	return push(at, out, (struct item){.is_value = true, .value = v, .path_ns = -1});
}

/* Values of counters of that name at the element; without any, its attribute of that name. */
static int counter_values(struct trace_at *at, const struct item *item, struct slice name,
			  struct items *out)
{
	const struct trace *t = at->trace;
	struct plan_expr value = {.kind = X_FIELD, .field = {F_VALUE, OF_SELF}},
			 attr = {.kind = X_ATTR, .attr = {ATTR_ANY, OF_SELF, name}};
	struct value v;
	bool found = false;
	int r = 0;

	if (item->is_value)
		return 0;
	for (uint32_t i = 0; r == 0 && i < t->counter_n; i++) {
		struct element el = {.kind = ELEMENT_COUNTER, .index = i};

		if (item->element.kind == ELEMENT_COUNTER ? item->element.index != i
		    : item->element.kind == ELEMENT_EDGE
			    ? true
			    : !belongs(t, item->element, ELEMENT_COUNTER, i))
			continue;
		if (!slice_eq(trace_row_name(t, t->counters[i].row), name))
			continue;
		found = true;
		r = push_value(at, out, element_eval(at, el, SLICE(""), &value));
	}
	if (r < 0 || found)
		return r;
	v = element_eval(at, item->element, SLICE(""), &attr);
	return value_is_nil(v) ? 0 : push_value(at, out, v);
}

static struct value first_value(struct trace_at *at, const struct plan_pipe *pipe, int *ret_r)
{
	struct items items = {0};

	*ret_r = run_pipe(at, pipe, &items);
	return *ret_r == 0 && items.n && items.list[0].is_value ? items.list[0].value : value_nil();
}

static int calculate(struct trace_at *at, const struct pipe_stage *s, const struct items *in,
		     struct items *out)
{
	static const enum value_operation operations[] = {VALUE_ADD, VALUE_SUB, VALUE_MUL,
							  VALUE_DIV};
	int r;
	struct value with = first_value(at, s->pipes[0], &r);

	for (uint32_t i = 0; r == 0 && i < in->n; i++)
		if (in->list[i].is_value)
			r = push_value(at, out,
				       value_arithmetic(operations[s->kind - PIPE_ADD],
							in->list[i].value, with));
	return r;
}

static int compare(struct trace_at *at, const struct pipe_stage *s, const struct items *in,
		   struct items *out)
{
	static const enum value_relation relations[] = {VALUE_EQ, VALUE_NE, VALUE_LT,
							VALUE_LE, VALUE_GT, VALUE_GE};
	int r;
	struct value with = first_value(at, s->pipes[0], &r);

	for (uint32_t i = 0; r == 0 && i < in->n; i++)
		if (in->list[i].is_value &&
		    value_is_true(value_compare(relations[s->op - XO_EQ], in->list[i].value, with)))
			r = push(at, out, in->list[i]);
	return r;
}

static int aggregate_items(struct trace_at *at, const struct pipe_stage *s, const struct items *in,
			   struct items *out)
{
	struct aggregate a;
	struct sample sample = at->sample;
	struct estimate estimate;
	struct value result;
	void *state;
	int r = aggregate_from_plan(s->aggregate, 0, &a);

	if (r < 0)
		return r;
	a.of_rows = s->aggregate->kind == AGG_COUNT;
	state = arena_zalloc(&at->arena, 1, aggregate_bytes(&a));
	if (!state)
		return -ENOMEM;
	sample.weight = 1; /* of this very trace */
	for (uint32_t i = 0; r == 0 && i < in->n; i++) {
		sample.id = i;
		sample.time_ns = i;
		r = aggregate_add(&a, state, &at->arena,
				  in->list[i].is_value ? in->list[i].value : value_int(1), &sample);
	}
	if (r == 0)
		r = aggregate_result(&a, state, &at->arena, &result, &estimate);
	aggregate_done(&a, state);
	if (r < 0 || (value_is_nil(result) && s->aggregate->kind != AGG_COUNT))
		return r;
	return push_value(at, out, result);
}

/* Causally first or last of elements; of values, where they stand. */
static int extreme(struct trace_at *at, const struct items *in, bool last, struct items *out)
{
	struct trace_tuple *tuples, **items;
	int r;

	if (in->n == 0)
		return 0;
	if (in->list[0].is_value)
		return push(at, out, in->list[last ? in->n - 1 : 0]);
	tuples = arena_zalloc(&at->arena, in->n, sizeof(*tuples));
	items = arena_alloc(&at->arena, in->n * sizeof(struct trace_tuple *));
	if (!tuples || !items)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->n; i++) {
		tuples[i].anchor = in->list[i].element;
		items[i] = &tuples[i];
	}
	r = tuples_pick(at, items, in->n, last ? PICK_LAST : PICK_FIRST, 1);
	return r > 0 ? push(at, out, in->list[items[0] - tuples]) : r;
}

/* --- the pipe --- */

static int run_stage(struct trace_at *at, const struct pipe_stage *s, bool head,
		     const struct items *in, struct items *out)
{
	int r = 0;

	switch (s->kind) {
	case PIPE_UNITS:
		return go_to(at, in, head, ELEMENT_UNIT, out);
	case PIPE_BLOCKS:
		return go_to(at, in, head, ELEMENT_BLOCK, out);
	case PIPE_POINTS:
		return go_to(at, in, head, ELEMENT_POINT, out);
	case PIPE_EDGES:
		return go_to(at, in, head, ELEMENT_EDGE, out);
	case PIPE_COUNTERS:
		return go_to(at, in, head, ELEMENT_COUNTER, out);
	case PIPE_TRACE:
		return push_element(at, out, ELEMENT_TRACE, 0);
	case PIPE_SET:
		return go_set(at, s->set, out);
	case PIPE_CRITICAL_PATH:
		return go_path(at, s, out);
	case PIPE_CONST:
		return push_value(at, out, expr_eval(&at->env, s->expr));
	case PIPE_FILTER:
		for (uint32_t i = 0; r == 0 && i < in->n; i++)
			if (!in->list[i].is_value &&
			    element_test(at, in->list[i].element, SLICE(""), s->expr))
				r = push(at, out, in->list[i]);
		return r;
	case PIPE_FIRST:
	case PIPE_LAST:
		return extreme(at, in, s->kind == PIPE_LAST, out);
	case PIPE_FIELD:
		for (uint32_t i = 0; r == 0 && i < in->n; i++)
			r = push_value(at, out, value_at(at, &in->list[i], s->expr));
		return r;
	case PIPE_COUNTER_VALUE:
		for (uint32_t i = 0; r == 0 && i < in->n; i++)
			r = counter_values(at, &in->list[i], s->name, out);
		return r;
	case PIPE_ADD:
	case PIPE_SUBTRACT:
	case PIPE_MULTIPLY:
	case PIPE_DIVIDE:
		return calculate(at, s, in, out);
	case PIPE_AGGREGATE:
		return aggregate_items(at, s, in, out);
	case PIPE_COMPARE:
		return compare(at, s, in, out);
	case PIPE_RECORD:
		*out = *in;
		return 0;
	}
	return -EINVAL;
}

static int run_pipe(struct trace_at *at, const struct plan_pipe *pipe, struct items *out)
{
	struct items items = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < pipe->n; i++) {
		struct items next = {0};

		r = run_stage(at, &pipe->stages[i], i == 0, &items, &next);
		if (r == 0)
			r = at->env.failed;
		items = next;
	}
	*out = items;
	return r;
}

static int give_element(struct trace_at *at, const struct item *item, struct tuples *out)
{
	static const struct plan_expr fields[] = {
		{.kind = X_FIELD, .field = {F_TRACE_ID, OF_SELF}},
		{.kind = X_FIELD, .field = {F_ELEMENT, OF_SELF}},
		{.kind = X_FIELD, .field = {F_NAME, OF_SELF}},
		{.kind = X_FIELD, .field = {F_TIME, OF_SELF}},
		{.kind = X_FIELD, .field = {F_DURATION, OF_SELF}},
	};
	struct value *values = arena_alloc(&at->arena, 5 * sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < 5; i++)
		values[i] = value_at(at, item, &fields[i]);
	return at->env.failed ? at->env.failed : tuples_add(at, out, values, item->element);
}

int eval_pipe(struct trace_at *at, const struct plan_node *node, struct tuples *out)
{
	struct items items = {0};
	int r = run_pipe(at, node->pipe, &items);

	for (uint32_t i = 0; r == 0 && i < items.n; i++) {
		struct value *values;

		if (node->pipe->elements) {
			r = give_element(at, &items.list[i], out);
			continue;
		}
		values = arena_alloc(&at->arena, 2 * sizeof(*values));
		if (!values)
			return -ENOMEM;
		values[0] = trace_id_value(at->id, &at->arena);
		values[1] = items.list[i].value;
		r = tuples_add(at, out, values, (struct element){.kind = ELEMENT_TRACE});
	}
	return r;
}
