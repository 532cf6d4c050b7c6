/* lang/parse_query.c - a query: clauses, a sequence or a pipe; stages behind it; hints. */
#include <stdio.h>

#include "lang/parse_int.h"

int64_t parser_duration(struct parser *p, const char *behind)
{
	struct token *token = parser_accept(p, TOKEN_DURATION);
	char what[80];

	if (token)
		return token_duration(p->tokens, token, p->diags);
	snprintf(what, sizeof(what), "a duration (5m, 1h30m, 200us) behind %s", behind);
	parser_unexpected(p, what);
	return 0;
}

struct slice parser_string(struct parser *p, const char *behind)
{
	struct token *token = parser_accept(p, TOKEN_STRING);
	char what[80];

	if (token)
		return token_string(p->tokens, token, p->arena, p->diags);
	snprintf(what, sizeof(what), "%s in quotes", behind);
	parser_unexpected(p, what);
	return SLICE("");
}

static enum ast_op comparison(enum token_kind kind)
{
	switch (kind) {
	case TOKEN_EQ:
	case TOKEN_EQEQ:
		return OP_EQ;
	case TOKEN_NE:
		return OP_NE;
	case TOKEN_LT:
		return OP_LT;
	case TOKEN_LE:
		return OP_LE;
	case TOKEN_GT:
		return OP_GT;
	case TOKEN_GE:
		return OP_GE;
	default:
		return OP_NONE;
	}
}

static void stages_take(struct parser *p, struct ast_query *q)
{
	struct parser_list list = {.size = sizeof(struct ast_stage)};

	while (parser_kind(p, 0) == TOKEN_PIPE) {
		struct token *bar = parser_take(p);
		struct ast_stage *stage = parser_push(p, &list);
		uint32_t begin = parser_token(p, 0)->begin;

		if (!stage)
			break;
		bar->layout = LAYOUT_STAGE;
		stage->cmp = comparison(parser_kind(p, 0));
		if (stage->cmp != OP_NONE)
			parser_take(p);
		stage->expr = parser_expr(p);
		stage->range = parser_since(p, begin);
		if (p->panic)
			parser_sync(p);
	}
	q->stages = (struct ast_stage *)(void *)list.items;
	q->n_stages = list.n;
}

static void hints_take(struct parser *p, struct ast_query *q)
{
	struct parser_list list = {.size = sizeof(struct ast_hint)};

	while (parser_keyword(p, 0) == KEY_WITH && parser_kind(p, 1) == TOKEN_LPAREN) {
		struct token *open;

		parser_accept_keyword(p, KEY_WITH);
		open = parser_take(p);
		open->layout = LAYOUT_CALL;
		do {
			struct token *name = parser_expect(p, TOKEN_IDENT, "the name of a hint");
			struct ast_hint *hint = name ? parser_push(p, &list) : NULL;

			if (!hint)
				break;
			hint->name = parser_text(p, name);
			parser_expect(p, TOKEN_EQ, "'='");
			hint->value = parser_expr(p);
			hint->range = parser_since(p, name->begin);
		} while (!p->panic && parser_accept(p, TOKEN_COMMA));
		parser_close(p, TOKEN_RPAREN, open);
	}
	q->hints = (struct ast_hint *)(void *)list.items;
	q->n_hints = list.n;
}

static bool at_from(const struct parser *p)
{
	enum token_kind next = parser_kind(p, 1);

	return parser_keyword(p, 0) == KEY_FROM &&
	       (next == TOKEN_IDENT || next == TOKEN_LPAREN || next == TOKEN_LBRACE ||
		next == TOKEN_STRING || next == TOKEN_END);
}

static bool at_sequence(const struct parser *p)
{
	enum word_keyword next = parser_keyword(p, 1);

	return parser_keyword(p, 0) == KEY_SEQUENCE &&
	       (next == KEY_BY || next == KEY_WITHIN || parser_kind(p, 1) == TOKEN_LBRACKET ||
		(parser_kind(p, 1) == TOKEN_BANG && parser_kind(p, 2) == TOKEN_LBRACKET));
}

struct ast_query *parser_query(struct parser *p)
{
	struct ast_query *q = parser_alloc(p, sizeof(*q));
	uint32_t begin = parser_token(p, 0)->begin;

	if (at_from(p)) {
		q->form = AST_QUERY_CLAUSES;
		q->clauses = parser_clauses(p);
	} else if (at_sequence(p)) {
		q->form = AST_QUERY_SEQUENCE;
		q->sequence = parser_sequence(p);
	} else {
		q->form = AST_QUERY_PIPE;
		q->head = parser_expr(p);
		if (p->panic && p->depth == 0)
			parser_sync(p);
	}
	stages_take(p, q);
	hints_take(p, q);
	q->range = parser_since(p, begin);
	return q;
}

static uint32_t query_height(const struct ast_query *q)
{
	uint32_t height = q->head ? q->head->height : 1;

	for (size_t i = 0; i < q->n_stages; i++)
		if (q->stages[i].expr->height > height)
			height = q->stages[i].expr->height;
	return height;
}

struct ast_expr *parser_query_expr(struct parser *p)
{
	uint32_t begin = parser_token(p, 0)->begin;
	struct ast_query *q = parser_query(p);
	struct ast_expr *e;

	if (q->form == AST_QUERY_PIPE && q->n_stages == 0 && q->n_hints == 0)
		return q->head;
	e = parser_new_expr(p, AST_SUBQUERY, begin);
	e->query = q;
	e->height = query_height(q) + 1;
	parser_finish(p, e, begin);
	return e;
}
