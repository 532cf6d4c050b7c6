/* lang/parse_sequence.c - Sequence By x Within 5m [a In …] ![…] [b In … Where …] Until […]. */
#include "lang/parse_int.h"

static bool at_step(const struct parser *p)
{
	return parser_kind(p, 0) == TOKEN_LBRACKET ||
	       (parser_kind(p, 0) == TOKEN_BANG && parser_kind(p, 1) == TOKEN_LBRACKET);
}

static void step_take(struct parser *p, struct ast_step *step)
{
	struct token *first = parser_token(p, 0), *open;

	first->layout = LAYOUT_STEP;
	step->negated = parser_accept(p, TOKEN_BANG) != NULL;
	open = parser_take(p);
	if (step->negated)
		open->layout = LAYOUT_GLUED;
	parser_binding(p, &step->binding, false);
	if (parser_accept_keyword(p, KEY_WHERE))
		step->where = parser_expr(p);
	parser_close(p, TOKEN_RBRACKET, open);
	step->range = parser_since(p, first->begin);
	if (!step->binding.range.end)
		step->binding.range = step->range;
}

static void by_take(struct parser *p, struct ast_sequence *s)
{
	struct parser_list list = {.size = sizeof(struct ast_expr *)};

	do {
		struct ast_expr **slot = parser_push(p, &list);

		if (!slot)
			break;
		*slot = parser_expr(p);
	} while (!p->panic && parser_accept(p, TOKEN_COMMA));
	s->by = (struct ast_expr **)(void *)list.items;
	s->n_by = list.n;
}

static void until_take(struct parser *p, struct ast_sequence *s, struct token *word)
{
	struct token *open;

	if (parser_kind(p, 0) == TOKEN_BANG) {
		struct token *bang = parser_take(p);

		diag_add(
			p->diags, DIAG_UNTIL_NEGATED, bang->begin, bang->end,
			"Until ends a sequence when something happens; it cannot wait for what does "
			"not. Use a step ![…] instead");
		diag_fix(p->diags, bang->begin, bang->end, SLICE(""));
	}
	word->layout = LAYOUT_CLAUSE;
	open = parser_expect(p, TOKEN_LBRACKET, "'[' behind Until");
	if (!open)
		return;
	s->until = parser_source(p);
	parser_close(p, TOKEN_RBRACKET, open);
}

struct ast_sequence *parser_sequence(struct parser *p)
{
	struct ast_sequence *s = parser_alloc(p, sizeof(*s));
	struct parser_list list = {.size = sizeof(struct ast_step)};
	struct token *first = parser_take(p), *until;

	first->is_keyword = true;
	if (parser_accept_keyword(p, KEY_BY))
		by_take(p, s);
	if (parser_accept_keyword(p, KEY_WITHIN))
		s->within_ns = parser_duration(p, "Within");
	while (!p->panic && at_step(p)) {
		struct ast_step *step = parser_push(p, &list);

		if (!step)
			break;
		step_take(p, step);
	}
	s->steps = (struct ast_step *)(void *)list.items;
	s->n_steps = list.n;
	until = p->panic ? NULL : parser_accept_keyword(p, KEY_UNTIL);
	if (until)
		until_take(p, s, until);
	if (s->n_steps < 2)
		parser_report(p, DIAG_TOO_FEW_STEPS, first->begin, first->end,
			      "a sequence needs at least two steps, [a In …] [b In …], and has %zu",
			      s->n_steps);
	if (p->panic)
		parser_sync(p);
	s->range = parser_since(p, first->begin);
	return s;
}
