/* lang/lower_sequence.c - Sequence By … Within … [a] ![b] [c] Until [d]. */
#include "lang/lower_int.h"

#define MAX_STEPS 32

/* The same field or attribute of every step. */
static struct ref key_ref(struct lower *l, const struct ast_expr *by)
{
	const struct plan_expr *e = lower_expr(l, NULL, by);
	struct ref ref = {.expr = e};

	if (by->kind == AST_PATH && by->path.n)
		ref.name = by->path.parts[by->path.n - 1].text;
	ref.export = e && e->kind == X_ATTR && e->attr.scope == ATTR_ANY;
	return ref;
}

static bool steps_init(struct lower *l, const struct ast_sequence *q, struct scope_of *s,
		       uint32_t (*keys)[MAX_STEPS])
{
	*s = (struct scope_of){0};
	if (q->n_steps > MAX_STEPS || q->n_by > MAX_STEPS) {
		lower_refuse(l, q->range, "more than %d steps or keys in a sequence", MAX_STEPS);
		return false;
	}
	s->bounds = build_alloc(&l->b, q->n_steps + 1, sizeof(*s->bounds));
	if (!s->bounds)
		return false;
	for (size_t i = 0; i < q->n_steps; i++) {
		struct bound *b = &s->bounds[s->n++];

		b->binding = &q->steps[i].binding;
		b->relation = lower_binding_is_relation(b->binding);
		if (b->relation) {
			lower_refuse(l, q->steps[i].range,
				     "a step is a set of events, not rows of "
				     "a query");
			return false;
		}
		lower_ref(l, b,
			  (struct ref){.expr = build_field(&l->b, F_ELEMENT, OF_SELF, PLAN_STRING),
				       .name = b->binding->name});
		for (size_t k = 0; k < q->n_by; k++)
			keys[i][k] = lower_ref(l, b, key_ref(l, q->by[k]));
	}
	s->collecting = true;
	for (size_t i = 0; i < q->n_steps; i++)
		if (q->steps[i].where)
			lower_expr(l, s, q->steps[i].where);
	s->collecting = false;
	return !l->failed && !l->b.no_memory;
}

/* A step's own condition goes to the step; one that speaks of others waits for the whole match. */
static bool step_where(struct lower *l, const struct ast_sequence *q, struct scope_of *s,
		       struct plan_step *step, size_t i, const struct plan_expr **rest)
{
	struct bound *b = &s->bounds[i];
	const struct plan_expr *e;
	uint32_t n = step->input->column_n, *map;

	if (!q->steps[i].where)
		return true;
	e = lower_expr(l, s, q->steps[i].where);
	if (!e)
		return false;
	if (!expr_within(e, b->offset, b->offset + n)) {
		if (step->absent) {
			lower_refuse(l, q->steps[i].where->range,
				     "a step that must not happen can only be told by its own "
				     "fields; use By for what must be equal");
			return false;
		}
		*rest = build_and(&l->b, *rest, e);
		return *rest != NULL;
	}
	map = build_alloc(&l->b, b->offset + n, sizeof(*map));
	if (!map)
		return false;
	for (uint32_t k = 0; k < n; k++)
		map[b->offset + k] = k;
	e = expr_renumber(&l->b, e, map);
	step->input = e ? build_filter(&l->b, step->input, e) : NULL;
	return step->input != NULL;
}

static const struct plan_expr *const *step_keys(struct lower *l, const uint32_t *at, uint32_t n,
						const struct plan_node *input)
{
	const struct plan_expr **keys = build_alloc(&l->b, n, sizeof(*keys));

	for (uint32_t i = 0; keys && i < n; i++)
		keys[i] = build_column(&l->b, at[i], input->columns[at[i]].type);
	return keys;
}

/* Columns of the match: only the elements; the steps' other columns stay inside. */
static const struct plan_node *matched(struct lower *l, const struct ast_sequence *q,
				       const struct plan_node *node, const struct scope_of *s,
				       const struct plan_step *steps)
{
	const struct plan_expr **exprs = build_alloc(&l->b, q->n_steps, sizeof(*exprs));
	struct plan_column *columns = build_alloc(&l->b, q->n_steps, sizeof(*columns));
	uint32_t n = 0;

	if (!exprs || !columns)
		return NULL;
	for (size_t i = 0; i < q->n_steps; i++) {
		if (steps[i].absent)
			continue;
		exprs[n] = build_column(&l->b, s->bounds[i].offset, PLAN_STRING);
		columns[n].type = PLAN_STRING;
		columns[n].name =
			n < q->columns.n ? q->columns.items[n].name : s->bounds[i].binding->name;
		n++;
	}
	return build_project(&l->b, node, exprs, columns, n);
}

const struct plan_node *lower_sequence(struct lower *l, const struct ast_sequence *q)
{
	struct scope_of s;
	uint32_t key_at[MAX_STEPS][MAX_STEPS], n = 0, input_n = 0;
	const struct plan_node *inputs[MAX_STEPS + 1];
	const struct plan_expr *rest = NULL, *const * *keys;
	struct plan_step *steps;
	struct plan_node *node;
	struct plan_column *columns;

	if (!steps_init(l, q, &s, key_at))
		return NULL;
	steps = build_alloc(&l->b, q->n_steps, sizeof(*steps));
	keys = build_alloc(&l->b, q->n_steps, sizeof(*keys));
	if (!steps || !keys)
		return NULL;
	/* What must not happen is numbered behind the rest, so that nothing speaks of it. */
	for (size_t i = 0; i < q->n_steps; i++) {
		steps[i].absent = q->steps[i].negated;
		steps[i].input =
			lower_binding(l, s.bounds[i].binding, &s.bounds[i].refs, NULL, NULL);
		if (!steps[i].input)
			return NULL;
		s.bounds[i].offset = n;
		n += steps[i].absent ? 0 : steps[i].input->column_n;
	}
	for (size_t i = 0; i < q->n_steps; i++) {
		if (steps[i].absent)
			s.bounds[i].offset = n; /* of its own: only itself is in sight */
		keys[i] = step_keys(l, key_at[i], (uint32_t)q->n_by, steps[i].input);
		if (!keys[i] || !step_where(l, q, &s, &steps[i], i, &rest))
			return NULL;
		inputs[input_n++] = steps[i].input;
	}
	if (q->until) {
		struct refs none = {0};

		inputs[input_n] = lower_source(l, q->until, &none, SLICE(""));
		if (!inputs[input_n++])
			return NULL;
	}
	node = build_node(&l->b, PLAN_SEQUENCE, inputs, input_n);
	columns = build_alloc(&l->b, n, sizeof(*columns));
	if (!node || !columns)
		return NULL;
	n = 0;
	for (size_t i = 0; i < q->n_steps; i++)
		for (uint32_t k = 0; !steps[i].absent && k < steps[i].input->column_n; k++)
			columns[n++] = steps[i].input->columns[k];
	node->sequence.keys = keys;
	node->sequence.key_n = (uint32_t)q->n_by;
	node->sequence.within_ns = q->within_ns;
	node->sequence.steps = steps;
	node->sequence.step_n = (uint32_t)q->n_steps;
	node->sequence.until = q->until ? inputs[input_n - 1] : NULL;
	node->sequence.rest = rest;
	node->columns = columns;
	node->column_n = n;
	node->anchored = true;
	node->at = q->range.begin;
	node->end = q->range.end;
	return matched(l, q, node, &s, steps);
}
