/* lang/lower.c - from a checked program to plans. */
#include "lang/lower.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "lang/lower_int.h"

void *lower_refuse(struct lower *l, struct ast_range range, const char *format, ...)
{
	char text[240];
	va_list args;

	if (l->failed)
		return NULL;
	l->failed = true;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	diag_add(l->diags, DIAG_REFUSED, range.begin, range.end, "%s", text);
	return NULL;
}

static const struct plan_node *lower_pipe_form(struct lower *l, const struct ast_query *q)
{
	const struct plan_node *node;

	switch (q->head->type.tag) {
	case TYPE_SPANSET:
		return lower_spanset_query(l, q);
	case TYPE_RELATION:
	case TYPE_SERIES:
		node = lower_rows(l, q->head);
		return node ? lower_stages(l, node, q, 0) : NULL;
	default:
		return lower_pipe_query(l, q);
	}
}

void lower_share(struct plan *plan, double share)
{
	if (share < 1 && (plan->share == 0 || share < plan->share))
		plan->share = share;
}

static void hints(struct lower *l, const struct ast_query *q)
{
	for (size_t i = 0; i < q->n_hints; i++) {
		const struct ast_hint *h = &q->hints[i];

		if (slice_eq(h->name, SLICE("most_recent")) && h->value->kind == AST_BOOL)
			l->plan->most_recent = h->value->integer != 0;
		else if (slice_eq(h->name, SLICE("step")) && h->value->kind == AST_DURATION)
			l->step_ns = h->value->integer;
		else if (slice_ends(h->name, SLICE("sample")) && h->value->kind == AST_FLOAT)
			lower_share(l->plan, h->value->real);
	}
}

const struct plan_node *lower_query(struct lower *l, const struct ast_query *q)
{
	const struct plan_node *node = NULL;
	int64_t step_ns = l->step_ns;

	if (++l->depth > LOWER_MAX_DEPTH)
		return lower_refuse(l, q->range, "queries nested too deeply");
	hints(l, q);
	if (q->form == AST_QUERY_PIPE)
		node = lower_pipe_form(l, q);
	else {
		node = q->form == AST_QUERY_CLAUSES ? lower_clauses(l, q->clauses)
						    : lower_sequence(l, q->sequence);
		if (node)
			node = lower_stages(l, node, q, 0);
	}
	l->step_ns = step_ns;
	l->depth--;
	return node;
}

int lang_lower(const struct ast_program *program, const struct ast_query *query,
	       struct diags *diags, struct plan *ret_plan)
{
	struct plan plan = {0};
	struct lower l = {.plan = &plan, .diags = diags};

	(void)program;
	l.b.arena = &plan.arena;
	plan.root = lower_query(&l, query);
	if (!plan.root) {
		plan_done(&plan);
		return l.b.no_memory || !l.failed ? -ENOMEM : -EINVAL;
	}
	plan.node_n = plan_number(plan.root);
	*ret_plan = plan;
	return 0;
}
