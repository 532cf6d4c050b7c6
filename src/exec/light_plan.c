/* exec/light_plan.c - which plans can do with light traces, and which of those need clocks. */
#include "exec/light_trace.h"

static bool light_pipe(const struct plan_pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->n; i++) {
		const struct pipe_stage *s = &pipe->stages[i];

		switch (s->kind) {
		case PIPE_UNITS:
		case PIPE_POINTS:
		case PIPE_EDGES:
		case PIPE_COUNTERS:
		case PIPE_TRACE:
			return false;
		case PIPE_CRITICAL_PATH: /* between two elements: searched in rows */
			if (s->pipes[0])
				return false;
			break;
		default:
			break;
		}
		for (int k = 0; k < 2; k++)
			if (s->pipes[k] && !light_pipe(s->pipes[k]))
				return false;
	}
	return true;
}

bool light_plan(const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
		return (node->source.kind == FROM_SPANS || node->source.kind == FROM_BLOCKS ||
			node->source.kind == FROM_EVENTS) &&
		       node->source.instant == INSTANT_BEGIN;
	case PLAN_SPANSET:
		return true;
	case PLAN_PIPE:
		return light_pipe(node->pipe);
	case PLAN_SEQUENCE:
		for (uint32_t i = 0; i < node->sequence.step_n; i++)
			if (!light_plan(node->sequence.steps[i].input))
				return false;
		return !node->sequence.until || light_plan(node->sequence.until);
	case PLAN_HBJOIN:
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
	case PLAN_UNION:
		for (uint32_t i = 0; i < node->input_n; i++)
			if (!light_plan(node->inputs[i]))
				return false;
		return true;
	default:
		return false;
	}
}

/* --- what clocks have a say in --- */

static int is_clocked(void *context, const struct plan_expr *e)
{
	(void)context;
	if (e->kind != X_FIELD)
		return 0;
	switch (e->field.field) {
	case F_SELF:
	case F_CRITICAL:
	case F_NESTED_LEFT:
	case F_NESTED_RIGHT:
	case F_NESTED_PARENT:
		return 1;
	default:
		return 0;
	}
}

static bool expr_clocked(const struct plan_expr *e)
{
	return e && expr_walk(e, is_clocked, NULL) != 0;
}

static bool set_clocked(const struct plan_set *s)
{
	const struct plan_having *h = s->having;

	for (uint32_t i = 0; h && i < h->key_n; i++)
		if (expr_clocked(h->keys[i]))
			return true;
	for (uint32_t i = 0; h && i < h->aggregate_n; i++)
		if (expr_clocked(h->aggregates[i].arg) || (h->sets && set_clocked(h->sets[i])))
			return true;
	return expr_clocked(s->predicate) || (s->left && set_clocked(s->left)) ||
	       (s->right && set_clocked(s->right));
}

static bool fields_clocked(const struct plan_node *node, const struct plan_expr *const *fields)
{
	for (uint32_t i = 0; i < node->column_n; i++)
		if (expr_clocked(fields[i]))
			return true;
	return false;
}

bool light_plan_clocked(const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
		return expr_clocked(node->source.predicate) ||
		       fields_clocked(node, node->source.fields);
	case PLAN_SPANSET:
		return set_clocked(node->spanset.set) || fields_clocked(node, node->spanset.fields);
	case PLAN_PIPE: /* its tuples are of the first root */
		return true;
	case PLAN_SEQUENCE:
		for (uint32_t i = 0; i < node->sequence.step_n; i++)
			if (light_plan_clocked(node->sequence.steps[i].input))
				return true;
		return node->sequence.until && light_plan_clocked(node->sequence.until);
	default:
		for (uint32_t i = 0; i < node->input_n; i++)
			if (light_plan_clocked(node->inputs[i]))
				return true;
		return false;
	}
}
