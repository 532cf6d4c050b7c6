/* exec/trace_at.c - the trace at hand on one thread of a run. */
#include "exec/trace_at.h"

#include <errno.h>

#include "exec/light_trace.h"
#include "exec/probability.h"
#include "exec/trace_eval.h"
#include "model/critical_path.h"
#include "store/summary.h"

static struct value at_hand(void *context, const struct plan_expr *e);

int trace_at_init(struct trace_at *at, struct query_at *run)
{
	*at = (struct trace_at){.run = run};
	at->env.element = at_hand;
	at->env.context = at;
	at->env.arena = &at->arena;
	return expr_memo_new(&at->env.memo);
}

void trace_at_clear(struct trace_at *at)
{
	at->trace = at->light ? NULL : trace_free(at->trace);
	at->light = NULL;
	arena_clear(&at->arena);
	at->slacks = at->critical = NULL;
	at->pattern = SLICE("");
	at->bounded = false;
}

void trace_at_done(struct trace_at *at)
{
	trace_at_clear(at);
	arena_done(&at->arena);
	at->env.memo = expr_memo_free(at->env.memo);
}

uint64_t trace_number(struct trace_id id)
{
	return (load_be64(id.b) ^ load_be64(id.b + 8) * 0x9e3779b97f4a7c15ULL) | 1;
}

int trace_at_set(struct trace_at *at, struct trace_id id, const struct event_ref *refs, size_t n)
{
	trace_at_clear(at);
	at->id = id;
	at->refs = refs;
	at->ref_n = n;
	at->sample = (struct sample){
		.weight = trace_weight(id, refs, n, at->run->threshold),
		.trace = trace_number(id),
	};
	if (at->sample.weight != 1)
		atomic_store_explicit(&at->run->estimated, true, memory_order_relaxed);
	return trace_build(refs, n, TRACE_NO_INFER, &at->trace);
}

/* --- where an element stands --- */

bool element_pos(const struct trace_at *at, struct element el, struct trace_pos *ret_pos)
{
	const struct trace *t = at->trace;
	uint32_t block = el.index;

	switch ((enum element_kind)el.kind) {
	case ELEMENT_POINT:
		*ret_pos = trace_pos(POS_POINT, el.index);
		return true;
	case ELEMENT_EDGE:
		*ret_pos = t->edges[el.index].to;
		return true;
	case ELEMENT_COUNTER:
		block = t->counters[el.index].block;
		break;
	case ELEMENT_UNIT:
		block = TRACE_NONE;
		for (uint32_t i = 0; block == TRACE_NONE && i < t->block_n; i++)
			if (t->blocks[i].unit == el.index)
				block = i;
		break;
	case ELEMENT_TRACE:
		block = t->block_n ? 0 : TRACE_NONE;
		break;
	case ELEMENT_BLOCK:
		break;
	}
	if (block == TRACE_NONE)
		return false;
	*ret_pos = trace_pos(el.at_end ? POS_END : POS_BEGIN, block);
	return true;
}

/* The row an element came as; TRACE_NONE for one that was made. */
static uint32_t element_row(const struct trace_at *at, struct element el)
{
	const struct trace *t = at->trace;

	switch ((enum element_kind)el.kind) {
	case ELEMENT_BLOCK:
		return t->blocks[el.index].row;
	case ELEMENT_POINT:
		return t->points[el.index].row;
	case ELEMENT_EDGE:
		return t->edges[el.index].row;
	case ELEMENT_UNIT:
		return t->units[el.index].row;
	case ELEMENT_COUNTER:
		return t->counters[el.index].row;
	case ELEMENT_TRACE:
		return t->block_n ? t->blocks[0].row : TRACE_NONE;
	}
	return TRACE_NONE;
}

uint64_t element_time(const struct trace_at *at, struct element el)
{
	const struct trace *t = at->trace;
	uint32_t row;

	if (at->light)
		return light_time(at, el);
	row = element_row(at, el);
	if (el.kind == ELEMENT_BLOCK && el.at_end && t->blocks[el.index].end_row != TRACE_NONE) {
		const struct event *e = trace_row(t, t->blocks[el.index].end_row);

		return e->type == EVENT_SPAN ? e->end_ns : e->time_ns;
	}
	if (row == TRACE_NONE) {
		struct trace_pos pos;

		return element_pos(at, el, &pos) ? (uint64_t)trace_pos_ns(t, pos) : 0;
	}
	return trace_row(t, row)->time_ns;
}

uint64_t element_id(const struct trace_at *at, struct element el)
{
	const struct trace *t = at->trace;
	uint32_t row;

	if (at->light)
		return light_id(at, el);
	row = element_row(at, el);
	if (el.kind == ELEMENT_UNIT)
		return t->units[el.index].id;
	return row == TRACE_NONE ? el.index : trace_row(t, row)->id1;
}

struct slice element_host(struct trace_at *at, struct element el)
{
	uint32_t row;
	struct trace_pos pos;

	if (at->light)
		return light_host(at, el);
	row = element_row(at, el);
	if (row == TRACE_NONE && element_pos(at, el, &pos)) {
		uint32_t block = trace_pos_block(at->trace, pos);

		row = block == TRACE_NONE ? TRACE_NONE : at->trace->blocks[block].row;
	}
	if (row == TRACE_NONE)
		return SLICE("");
	return value_slice(row_host(at->trace->rows[row], &at->arena));
}

/* --- fields --- */

static struct element whose(struct trace_at *at, struct element el, enum plan_of of, bool *ret_none)
{
	const struct trace *t = at->trace;
	uint32_t block = TRACE_NONE;

	*ret_none = false;
	if (of == OF_SELF)
		return el;
	if (of == OF_ROOT)
		block = t->block_n ? 0 : TRACE_NONE;
	else if (el.kind == ELEMENT_BLOCK)
		block = t->blocks[el.index].parent;
	else if (el.kind == ELEMENT_POINT)
		block = t->points[el.index].block;
	else if (el.kind == ELEMENT_COUNTER)
		block = t->counters[el.index].block;
	*ret_none = block == TRACE_NONE;
	return (struct element){.kind = ELEMENT_BLOCK, .index = block};
}

static struct value what_if(struct trace_at *at, const struct plan_expr *e)
{
	const struct trace *t = at->trace;
	double *factors = arena_alloc(&at->arena, (t->block_n + 1) * sizeof(*factors));
	const struct plan_expr whole = {.kind = X_FIELD, .field = {F_TRACE_DURATION, OF_SELF}};
	int64_t saved = 0, duration;
	int r;

	if (!factors)
		goto no_memory;
	for (size_t i = 0; i < t->block_n; i++)
		factors[i] = 1;
	for (uint32_t c = 0; c < e->n; c++) {
		const uint64_t *set = trace_set(at, e->changes[c].set);
		bool *inside = arena_zalloc(&at->arena, t->block_n + 1, sizeof(*inside));

		if (!set || !inside)
			goto no_memory;
		/* What a block of the set has begun is part of it; counted once. */
		for (size_t i = 0; i < t->block_n; i++) {
			uint32_t parent = t->blocks[i].parent;

			inside[i] = (set[i / 64] >> (i % 64) & 1) ||
				    (parent != TRACE_NONE && inside[parent]);
			if (inside[i])
				factors[i] *= e->changes[c].factor;
		}
	}
	/* What is saved is worked out with clocks aligned; the duration it is taken off is the one
	 * that everybody sees, so that a change of nothing changes nothing. */
	r = trace_what_if(at->trace, factors, &saved);
	if (r == 0) {
		duration = element_value_of(at, (struct element){.kind = ELEMENT_TRACE}, &whole).i;
		return value_of(V_DURATION, saved < duration ? duration - saved : 0);
	}
no_memory:
	at->env.failed = -ENOMEM;
	return value_nil();
}

static struct value at_hand(void *context, const struct plan_expr *e)
{
	struct trace_at *at = context;
	struct element el = at->element;
	bool none;

	if (e->kind == X_CALL) {
		if (at->light && at->env.failed == 0)
			at->env.failed = -EAGAIN;
		return e->function == CALL_WHAT_IF && !at->light ? what_if(at, e) : value_nil();
	}
	el = whose(at, el, e->kind == X_FIELD ? e->field.of : e->attr.of, &none);
	if (none)
		return value_nil();
	return at->light ? light_value(at, el, e) : element_value_of(at, el, e);
}

struct value element_eval(struct trace_at *at, struct element el, struct slice tracepoint,
			  const struct plan_expr *e)
{
	struct element before = at->element;
	struct slice name = at->tracepoint;
	struct value v;

	at->element = el;
	at->tracepoint = tracepoint;
	v = expr_eval(&at->env, e);
	at->element = before;
	at->tracepoint = name;
	return v;
}

bool element_test(struct trace_at *at, struct element el, struct slice tracepoint,
		  const struct plan_expr *predicate)
{
	return !predicate || value_is_true(element_eval(at, el, tracepoint, predicate));
}
