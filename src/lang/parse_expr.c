/* lang/parse_expr.c - expressions, by operator precedence (Pratt).
 *
 * From loose to tight: || or, && and, comparisons with causal and structural operators, + -, * / %,
 * ^ (to the right), unary - ! not, by (…) and [i].  In Tempo's dialect && and || bind equally. */
#include "base/cleanup.h"
#include "lang/parse_int.h"

#define POWER_UNARY 7

/* How tightly an operator binds and what it is; by token. */
static const struct {
	uint8_t power;
	uint8_t op;
} operators[TOKEN_KINDS] = {
	[TOKEN_OR] = {1, OP_OR},
	[TOKEN_AND] = {2, OP_AND},
	[TOKEN_EQ] = {3, OP_EQ},
	[TOKEN_EQEQ] = {3, OP_EQ},
	[TOKEN_NE] = {3, OP_NE},
	[TOKEN_LT] = {3, OP_LT},
	[TOKEN_LE] = {3, OP_LE},
	[TOKEN_GT] = {3, OP_GT},
	[TOKEN_GE] = {3, OP_GE},
	[TOKEN_MATCH] = {3, OP_MATCH},
	[TOKEN_NO_MATCH] = {3, OP_NO_MATCH},
	[TOKEN_TILDE] = {3, OP_SIBLING},
	[TOKEN_ARROW] = {3, OP_BEFORE},
	[TOKEN_FAT_ARROW] = {3, OP_DIRECT},
	[TOKEN_NOT_ARROW] = {3, OP_NOT_BEFORE},
	[TOKEN_NOT_FAT_ARROW] = {3, OP_NOT_DIRECT},
	[TOKEN_GTGT] = {3, OP_DESCENDANT},
	[TOKEN_LTLT] = {3, OP_ANCESTOR},
	[TOKEN_NOT_GT] = {3, OP_NOT_CHILD},
	[TOKEN_NOT_GTGT] = {3, OP_NOT_DESCENDANT},
	[TOKEN_NOT_LT] = {3, OP_NOT_PARENT},
	[TOKEN_NOT_LTLT] = {3, OP_NOT_ANCESTOR},
	[TOKEN_AND_GT] = {3, OP_WITH_CHILD},
	[TOKEN_AND_GTGT] = {3, OP_WITH_DESCENDANT},
	[TOKEN_AND_LT] = {3, OP_WITH_PARENT},
	[TOKEN_AND_LTLT] = {3, OP_WITH_ANCESTOR},
	[TOKEN_AND_TILDE] = {3, OP_WITH_SIBLING},
	[TOKEN_PLUS] = {4, OP_ADD},
	[TOKEN_MINUS] = {4, OP_SUB},
	[TOKEN_STAR] = {5, OP_MUL},
	[TOKEN_SLASH] = {5, OP_DIV},
	[TOKEN_PERCENT] = {5, OP_MOD},
	[TOKEN_CARET] = {6, OP_POW},
};

struct ast_expr *parser_new_expr(struct parser *p, enum ast_expr_kind kind, uint32_t begin)
{
	struct ast_expr *e = parser_alloc(p, sizeof(*e));

	e->kind = kind;
	e->range = parser_since(p, begin);
	e->height = 1;
	return e;
}

void parser_finish(struct parser *p, struct ast_expr *e, uint32_t begin)
{
	e->range = parser_since(p, begin);
	if (e->height <= LANG_MAX_HEIGHT)
		return;
	parser_report(p, DIAG_TOO_DEEP, e->range.begin, e->range.end,
		      "more than %d operators in a row; use a list: x in [a, b, …]",
		      LANG_MAX_HEIGHT);
	e->kind = AST_ERROR; /* forget what is below, so that nobody walks it */
	e->height = 1;
	p->at = p->tokens->n - 1;
}

void parser_exprs(struct parser *p, enum token_kind close, struct ast_expr ***ret, size_t *ret_n)
{
	struct parser_list list = {.size = sizeof(struct ast_expr *)};

	while (parser_kind(p, 0) != close) {
		struct ast_expr **slot = parser_push(p, &list);
		struct ast_expr *e = parser_query_expr(p);

		if (!slot)
			break;
		*slot = e;
		if (!parser_accept(p, TOKEN_COMMA))
			break;
	}
	*ret = (struct ast_expr **)(void *)list.items;
	*ret_n = list.n;
}

static uint32_t tallest(struct ast_expr *const *items, size_t n)
{
	uint32_t height = 0;

	for (size_t i = 0; i < n; i++)
		height = MAX(height, items[i]->height);
	return height;
}

/* What nothing can be made of: an error node that takes no token, so that others may. */
static struct ast_expr *nothing(struct parser *p)
{
	const struct token *token = parser_token(p, 0);
	enum word_keyword key = parser_keyword(p, 0);
	struct ast_expr *e;

	if (key != KEY_NONE && word_key(key)->clause)
		parser_unexpected(p, "an expression before the next clause");
	else
		parser_unexpected(p, "an expression");
	e = parser_new_expr(p, AST_ERROR, token->begin);
	e->range = parser_range(token);
	return e;
}

static struct ast_expr *literal(struct parser *p)
{
	struct token *token = parser_take(p);
	struct ast_expr *e = parser_new_expr(p, AST_INT, token->begin);

	switch (token->kind) {
	case TOKEN_INT:
		e->integer = token_int(p->tokens, token, p->diags);
		break;
	case TOKEN_FLOAT:
		e->kind = AST_FLOAT;
		e->real = token_float(p->tokens, token, p->diags);
		break;
	case TOKEN_DURATION:
		e->kind = AST_DURATION;
		e->integer = token_duration(p->tokens, token, p->diags);
		break;
	default:
		e->kind = AST_STRING;
		e->string = token_string(p->tokens, token, p->arena, p->diags);
		break;
	}
	return e;
}

static struct ast_expr *spanset(struct parser *p)
{
	struct token *open = parser_take(p);
	struct ast_expr *e = parser_new_expr(p, AST_SPANSET, open->begin);

	if (!parser_enter(p)) {
		parser_leave(p);
		return e;
	}
	if (parser_kind(p, 0) != TOKEN_RBRACE) {
		e->spanset.condition = parser_expr(p);
		e->height = e->spanset.condition->height + 1;
	}
	parser_leave(p);
	parser_close(p, TOKEN_RBRACE, open);
	parser_finish(p, e, open->begin);
	return e;
}

static struct ast_expr *brackets(struct parser *p)
{
	struct token *open = parser_take(p);
	struct ast_expr *e;

	if (!parser_enter(p)) {
		parser_leave(p);
		return parser_new_expr(p, AST_ERROR, open->begin);
	}
	p->layout_depth++;
	e = parser_query_expr(p);
	p->layout_depth--;
	parser_leave(p);
	parser_close(p, TOKEN_RPAREN, open);
	e->parens = true;
	e->range = parser_since(p, open->begin);
	return e;
}

static struct ast_expr *list(struct parser *p)
{
	struct token *open = parser_take(p);
	struct ast_expr *e = parser_new_expr(p, AST_LIST, open->begin);

	if (!parser_enter(p)) {
		parser_leave(p);
		return e;
	}
	parser_exprs(p, TOKEN_RBRACKET, &e->list.items, &e->list.n);
	e->height = tallest(e->list.items, e->list.n) + 1;
	parser_leave(p);
	parser_close(p, TOKEN_RBRACKET, open);
	parser_finish(p, e, open->begin);
	return e;
}

/* true, false, nil; or NULL if the word is used as a name. */
static struct ast_expr *constant(struct parser *p)
{
	enum word_keyword key = parser_keyword(p, 0);
	enum token_kind next = parser_kind(p, 1);
	struct ast_expr *e;

	if ((key != KEY_TRUE && key != KEY_FALSE && key != KEY_NIL) || next == TOKEN_LPAREN ||
	    (next == TOKEN_DOT && parser_touches(p, 1)))
		return NULL;
	parser_accept_keyword(p, key);
	e = parser_new_expr(p, key == KEY_NIL ? AST_NIL : AST_BOOL,
			    p->tokens->items[p->at - 1].begin);
	e->integer = key == KEY_TRUE;
	return e;
}

/* A clause begins here where an operand should be: `Where GroupBy x`. */
static bool clause_instead(const struct parser *p)
{
	enum word_keyword key = parser_keyword(p, 0);
	enum token_kind next = parser_kind(p, 1);

	return key != KEY_NONE && word_key(key)->clause &&
	       (next == TOKEN_IDENT || next == TOKEN_STRING || next == TOKEN_INT ||
		next == TOKEN_DURATION || next == TOKEN_LBRACE) &&
	       parser_keyword(p, 1) != KEY_AS && parser_keyword(p, 1) != KEY_ASC &&
	       parser_keyword(p, 1) != KEY_DESC && parser_keyword(p, 1) != KEY_AND &&
	       parser_keyword(p, 1) != KEY_OR && parser_keyword(p, 1) != KEY_IN &&
	       !(parser_keyword(p, 1) != KEY_NONE && word_key(parser_keyword(p, 1))->clause);
}

static struct ast_expr *call(struct parser *p, struct ast_expr *path)
{
	struct slice name = slice_of(p->tokens->text.p + path->range.begin,
				     path->range.end - path->range.begin);
	uint32_t begin = path->range.begin;
	struct token *open = parser_take(p);
	struct ast_expr *e = parser_new_expr(p, AST_CALL, begin);

	open->layout = LAYOUT_CALL;
	e->call.name = name;
	if (!parser_enter(p)) {
		parser_leave(p);
		return e;
	}
	p->layout_depth++;
	parser_exprs(p, TOKEN_RPAREN, &e->call.args, &e->call.n);
	p->layout_depth--;
	e->height = tallest(e->call.args, e->call.n) + 1;
	parser_leave(p);
	parser_close(p, TOKEN_RPAREN, open);
	parser_finish(p, e, begin);
	return e;
}

static struct ast_expr *primary(struct parser *p)
{
	struct ast_expr *e;

	switch (parser_kind(p, 0)) {
	case TOKEN_INT:
	case TOKEN_FLOAT:
	case TOKEN_DURATION:
	case TOKEN_STRING:
		return literal(p);
	case TOKEN_ODD:
		parser_report(p, DIAG_BAD_NUMBER, parser_token(p, 0)->begin,
			      parser_token(p, 0)->end,
			      "'%.*s' is neither a number nor a duration (5m, 1h30m, 200us)",
			      SLICE_ARG(slice_first(parser_text(p, parser_token(p, 0)), 40)));
		return parser_new_expr(p, AST_ERROR, parser_take(p)->begin);
	case TOKEN_LBRACE:
		return spanset(p);
	case TOKEN_LPAREN:
		return brackets(p);
	case TOKEN_LBRACKET:
		return list(p);
	case TOKEN_STAR:
		return parser_new_expr(p, AST_STAR, parser_take(p)->begin);
	case TOKEN_DOT:
		return parser_path(p);
	case TOKEN_IDENT:
		if (clause_instead(p))
			return nothing(p);
		e = constant(p);
		if (!e)
			e = parser_path(p);
		if (e->kind == AST_PATH && !e->path.dotted && parser_kind(p, 0) == TOKEN_LPAREN)
			e = call(p, e);
		return e;
	default:
		return nothing(p);
	}
}

/* rate() by (x), list[0] */
static struct ast_expr *postfix(struct parser *p, struct ast_expr *of)
{
	uint32_t begin = of->range.begin;

	for (;;) {
		struct ast_expr *e;
		struct token *open;

		if (parser_keyword(p, 0) == KEY_BY && parser_kind(p, 1) == TOKEN_LPAREN) {
			parser_take(p);
			open = parser_take(p);
			open->layout = LAYOUT_CALL;
			e = parser_new_expr(p, AST_BY, begin);
			e->by.of = of;
			p->layout_depth++;
			if (parser_enter(p))
				parser_exprs(p, TOKEN_RPAREN, &e->by.keys, &e->by.n);
			parser_leave(p);
			p->layout_depth--;
			e->height = MAX(of->height, tallest(e->by.keys, e->by.n)) + 1;
			parser_close(p, TOKEN_RPAREN, open);
		} else if (parser_kind(p, 0) == TOKEN_LBRACKET && parser_touches(p, 0)) {
			open = parser_take(p);
			open->layout = LAYOUT_CALL;
			e = parser_new_expr(p, AST_INDEX, begin);
			e->index.of = of;
			if (parser_enter(p)) {
				e->index.at = parser_expr(p);
			} else {
				e->index.at = parser_new_expr(p, AST_ERROR, open->begin);
			}
			parser_leave(p);
			e->height = MAX(of->height, e->index.at->height) + 1;
			parser_close(p, TOKEN_RBRACKET, open);
		} else {
			return of;
		}
		parser_finish(p, e, begin);
		of = e;
	}
}

static struct ast_expr *unary(struct parser *p)
{
	enum token_kind kind = parser_kind(p, 0);
	struct token *token = parser_token(p, 0);
	struct ast_expr *e;
	bool word = parser_keyword(p, 0) == KEY_NOT && parser_kind(p, 1) != TOKEN_DOT;

	if (kind != TOKEN_MINUS && kind != TOKEN_PLUS && kind != TOKEN_BANG && !word)
		return postfix(p, primary(p));
	if (word)
		parser_accept_keyword(p, KEY_NOT);
	else
		parser_take(p)->layout = LAYOUT_UNARY;
	if (!parser_enter(p)) {
		parser_leave(p);
		return parser_new_expr(p, AST_ERROR, token->begin);
	}
	e = unary(p);
	parser_leave(p);
	if (kind != TOKEN_PLUS) {
		struct ast_expr *of = e;

		e = parser_new_expr(p, AST_UNARY, token->begin);
		e->op.op = kind == TOKEN_MINUS ? OP_NEG : OP_NOT;
		e->op.op_range = parser_range(token);
		e->op.left = of;
		e->height = of->height + 1;
	}
	parser_finish(p, e, token->begin);
	return e;
}

/* The operator at hand: how tightly it binds, 0 for none. */
static int operator_at(const struct parser *p, enum ast_op *ret_op)
{
	enum token_kind kind = parser_kind(p, 0), next = parser_kind(p, 1);
	int power;

	if (kind == TOKEN_IDENT) {
		switch (parser_keyword(p, 0)) {
		case KEY_AND:
			kind = TOKEN_AND;
			break;
		case KEY_OR:
			kind = TOKEN_OR;
			break;
		case KEY_IN:
			*ret_op = OP_IN;
			return next == TOKEN_LPAREN || next == TOKEN_LBRACKET ? 3 : 0;
		default:
			return 0;
		}
	}
	*ret_op = (enum ast_op)operators[kind].op;
	power = operators[kind].power;
	return power == 2 && p->dialect == DIALECT_TRACEQL ? 1 : power;
}

struct ast_expr *parser_expr_above(struct parser *p, int power)
{
	struct ast_expr *left = unary(p);
	uint32_t begin = left->range.begin;
	enum ast_op op;
	int binds;

	while ((binds = operator_at(p, &op)) > power) {
		struct token *token = parser_take(p);
		struct ast_expr *e, *right;

		if (token->kind == TOKEN_IDENT) {
			token->is_keyword = true;
			token->layout = LAYOUT_OPERATOR;
		}
		if (!parser_enter(p)) {
			parser_leave(p);
			return left;
		}
		right = parser_expr_above(p, op == OP_POW ? binds - 1 : binds);
		parser_leave(p);
		e = parser_new_expr(p, AST_BINARY, begin);
		e->op.op = op;
		e->op.op_range = parser_range(token);
		e->op.left = left;
		e->op.right = right;
		e->height = MAX(left->height, right->height) + 1;
		parser_finish(p, e, begin);
		left = e;
	}
	return left;
}

struct ast_expr *parser_expr(struct parser *p)
{
	return parser_expr_above(p, 0);
}
