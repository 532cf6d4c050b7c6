/* lang/check_sequence.c - steps in causal order: each may speak of itself and of those before it.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "lang/check_int.h"

static void check_step(struct checker *c, struct check_scope *s, struct ast_step *step)
{
	struct ast_binding *b = &step->binding;
	size_t outside = s->n_bindings;

	check_binding(c, b);
	if (b->type.tag == TYPE_RELATION && b->on == 0)
		diag_add(c->diags, DIAG_TYPE, step->range.begin, step->range.end,
			 "a step is an event of a trace, and this is rows of a query or file");
	for (size_t i = 0; b->name.n && i < s->n_bindings; i++)
		if (slice_eq(s->bindings[i]->name, b->name))
			diag_add(c->diags, DIAG_TWICE, b->range.begin, b->range.end,
				 "%.*s is already an alias", SLICE_ARG(b->name));
	if (s->n_bindings == CHECK_MAX_BINDINGS) {
		diag_add(c->diags, DIAG_TOO_DEEP, b->range.begin, b->range.end,
			 "more than %d steps in one sequence", CHECK_MAX_BINDINGS);
		return;
	}
	/* Its own fields are known without an alias. */
	if (s->n_bindings > 0) {
		s->bindings[s->n_bindings] = s->bindings[0];
		s->bindings[0] = b;
	} else {
		s->bindings[0] = b;
	}
	s->n_bindings++;
	s->bare_fields = true;
	s->no_aggregate = "a step is one event; aggregate behind the sequence: | count()";
	if (step->where)
		check_condition(c, s, step->where, "Where");
	if (step->negated) { /* nobody behind it can speak of what did not happen */
		s->bindings[0] = s->bindings[outside];
		s->n_bindings = outside;
	}
}

/* By x, or By alias.x: a field that every step has. */
static void check_by(struct checker *c, struct check_scope *s, struct ast_sequence *q)
{
	unsigned on = ON_ALL;
	char name[TYPE_NAME_BYTES];

	for (size_t i = 0; i < q->n_steps; i++)
		on &= q->steps[i].binding.on;
	for (size_t i = 0; i < q->n_by; i++) {
		struct ast_expr *e = q->by[i];
		struct check_scope any = {.kind = CHECK_ELEMENT,
					  .on = on ? on : ON_BLOCK,
					  .input = type_of(TYPE_BLOCK),
					  .no_aggregate = "By names what the steps have in common"};
		bool aliased = false;

		for (size_t k = 0; e->kind == AST_PATH && e->path.n > 1 && k < s->n_bindings; k++)
			aliased |= slice_eq(s->bindings[k]->name, e->path.parts[0].text);
		check_expr(c, aliased ? s : &any, e);
		if (e->kind != AST_PATH && e->type.tag != TYPE_ERROR)
			diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
				 "By takes the name of a field or attribute");
		else if (!type_is_scalar(e->type))
			diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
				 "By takes values, and this is %s", type_name(e->type, name));
	}
}

struct type check_sequence(struct checker *c, struct ast_sequence *q)
{
	struct check_scope *s = check_alloc(c, 1, sizeof(*s));
	size_t errors = c->diags->errors;

	q->columns.items = check_alloc(c, q->n_steps, sizeof(struct column));
	if (!s || !q->columns.items)
		return type_of(TYPE_ERROR);
	s->kind = CHECK_ROWS;
	for (size_t i = 0; i < q->n_steps; i++) {
		struct ast_step *step = &q->steps[i];
		char name[32];
		struct slice label = step->binding.name;

		check_step(c, s, step);
		step->binding.index = i;
		if (step->negated)
			continue;
		if (!label.n) {
			snprintf(name, sizeof(name), "step%zu", i + 1);
			label = arena_dup(c->arena, slice_cstr(name));
			c->diags->no_memory = c->diags->no_memory || !label.p;
		}
		q->columns.items[q->columns.n++] = (struct column){
			label, step->binding.type.tag == TYPE_RELATION ? type_of(TYPE_BLOCK)
								       : step->binding.type};
	}
	check_by(c, s, q);
	if (q->columns.n == 0)
		diag_add(c->diags, DIAG_TOO_FEW_STEPS, q->range.begin, q->range.end,
			 "at least one step must happen: not all can be ![…]");
	if (q->until)
		check_source(c, q->until);
	if (c->diags->errors > errors)
		return type_of(TYPE_ERROR);
	return (struct type){.tag = TYPE_RELATION, .columns = &q->columns};
}
