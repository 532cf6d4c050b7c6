/* lang/parse_clauses.c - the clause form: From … Join … Where … GroupBy … Select …. */
#include <stdio.h>

#include "base/suggest.h"
#include "lang/parse_int.h"

static void items_take(struct parser *p, struct ast_clause *c)
{
	struct parser_list list = {.size = sizeof(struct ast_item)};

	do {
		struct ast_item *item = parser_push(p, &list);
		struct token *name;

		if (!item)
			break;
		item->expr = parser_expr(p);
		if (c->kind == AST_CLAUSE_ORDER) {
			item->descending = parser_keyword(p, 0) == KEY_DESC;
			if (!parser_accept_keyword(p, KEY_ASC))
				parser_accept_keyword(p, KEY_DESC);
		} else if (parser_accept_keyword(p, KEY_AS)) {
			if (parser_kind(p, 0) == TOKEN_STRING) {
				name = parser_take(p);
				item->name = token_string(p->tokens, name, p->arena, p->diags);
				item->name_range = parser_range(name);
			} else if ((name = parser_expect(p, TOKEN_IDENT, "a name behind As"))) {
				item->name = parser_text(p, name);
				item->name_range = parser_range(name);
			}
		}
	} while (!p->panic && parser_accept(p, TOKEN_COMMA));
	c->items.items = (struct ast_item *)(void *)list.items;
	c->items.n = list.n;
}

static void join_take(struct parser *p, struct ast_clause *c)
{
	struct ast_join *j = &c->join;

	if (parser_accept_keyword(p, KEY_LEFT))
		j->kind = AST_JOIN_LEFT;
	else if (parser_accept_keyword(p, KEY_ANTI))
		j->kind = AST_JOIN_ANTI;
	parser_expect_keyword(p, KEY_JOIN,
			      j->kind == AST_JOIN_LEFT ? "behind Left" : "behind Anti");
	if (parser_kind(p, 0) != TOKEN_IDENT || parser_keyword(p, 1) != KEY_IN) {
		if (parser_kind(p, 0) == TOKEN_IDENT && parser_kind(p, 1) == TOKEN_IDENT)
			parser_take(p);
		parser_unexpected(p, "Join alias In source On condition");
	}
	parser_binding(p, &j->binding, false);
	parser_expect_keyword(p, KEY_ON, "and the condition of the join");
	j->on = parser_expr(p);
	if (parser_accept_keyword(p, KEY_WITHIN))
		j->within_ns = parser_duration(p, "Within");
}

static void let_take(struct parser *p, struct ast_clause *c)
{
	struct token *name = parser_expect(p, TOKEN_IDENT, "a name behind Let");

	if (name) {
		c->let.name = parser_text(p, name);
		c->let.name_range = parser_range(name);
	}
	parser_expect(p, TOKEN_EQ, "'='");
	c->let.expr = parser_expr(p);
}

static void over_take(struct parser *p, struct ast_clause *c)
{
	if (parser_accept_keyword(p, KEY_LIVE)) {
		c->over.kind = AST_OVER_LIVE;
	} else if (parser_accept_keyword(p, KEY_LAST)) {
		c->over.kind = AST_OVER_LAST;
		c->over.last_ns = parser_duration(p, "last");
	} else if (parser_accept_keyword(p, KEY_RANGE)) {
		c->over.kind = AST_OVER_RANGE;
		c->over.from_range = parser_range(parser_token(p, 0));
		c->over.from = parser_string(p, "the begin of the range");
		parser_expect(p, TOKEN_DOTDOT, "'..'");
		c->over.to_range = parser_range(parser_token(p, 0));
		c->over.to = parser_string(p, "the end of the range");
	} else {
		parser_unexpected(p, "live, last 1h, or range \"from\" .. \"to\" behind Over");
	}
}

static int64_t limit_take(struct parser *p)
{
	struct token *n = parser_expect(p, TOKEN_INT, "how many rows");

	return n ? token_int(p->tokens, n, p->diags) : 0;
}

static struct slice into_take(struct parser *p)
{
	struct token *first = parser_token(p, 0);

	if (first->kind == TOKEN_STRING)
		return token_string(p->tokens, parser_take(p), p->arena, p->diags);
	if (!parser_expect(p, TOKEN_IDENT, "a name behind Into"))
		return SLICE("");
	while (parser_kind(p, 0) == TOKEN_DOT && parser_touches(p, 0) &&
	       parser_kind(p, 1) == TOKEN_IDENT && parser_touches(p, 1)) {
		parser_take(p)->layout = LAYOUT_GLUED;
		parser_take(p)->layout = LAYOUT_GLUED;
	}
	return slice_of(p->tokens->text.p + first->begin,
			parser_since(p, first->begin).end - first->begin);
}

/* GroupBy, or Group By; true if one is here, and taken. */
static bool two_words(struct parser *p, enum word_keyword one, enum word_keyword first)
{
	if (parser_accept_keyword(p, one))
		return true;
	if (parser_keyword(p, 0) != first || parser_keyword(p, 1) != KEY_BY)
		return false;
	parser_accept_keyword(p, first);
	parser_accept_keyword(p, KEY_BY);
	return true;
}

/* Reads one clause; false if none begins here. */
static bool clause_take(struct parser *p, struct ast_clause *c)
{
	enum word_keyword key = parser_keyword(p, 0);

	if (key == KEY_JOIN || key == KEY_LEFT || key == KEY_ANTI) {
		c->kind = AST_CLAUSE_JOIN;
		join_take(p, c);
	} else if (parser_accept_keyword(p, KEY_WHERE)) {
		c->kind = AST_CLAUSE_WHERE;
		c->expr = parser_expr(p);
	} else if (parser_accept_keyword(p, KEY_HAVING)) {
		c->kind = AST_CLAUSE_HAVING;
		c->expr = parser_expr(p);
	} else if (parser_accept_keyword(p, KEY_LET)) {
		c->kind = AST_CLAUSE_LET;
		let_take(p, c);
	} else if (two_words(p, KEY_GROUPBY, KEY_GROUP)) {
		c->kind = AST_CLAUSE_GROUP;
		items_take(p, c);
	} else if (parser_accept_keyword(p, KEY_SELECT)) {
		enum token_kind next = parser_kind(p, 1);

		c->kind = AST_CLAUSE_SELECT;
		if (parser_keyword(p, 0) == KEY_DISTINCT && next != TOKEN_LPAREN &&
		    next != TOKEN_COMMA && next != TOKEN_END && next != TOKEN_DOT)
			c->items.distinct = parser_accept_keyword(p, KEY_DISTINCT) != NULL;
		items_take(p, c);
	} else if (two_words(p, KEY_ORDERBY, KEY_ORDER)) {
		c->kind = AST_CLAUSE_ORDER;
		items_take(p, c);
	} else if (parser_accept_keyword(p, KEY_LIMIT)) {
		c->kind = AST_CLAUSE_LIMIT;
		c->limit = limit_take(p);
	} else if (parser_accept_keyword(p, KEY_UNION)) {
		c->kind = AST_CLAUSE_UNION;
		c->other = parser_enter(p) ? parser_clauses(p) : NULL;
		parser_leave(p);
	} else if (parser_accept_keyword(p, KEY_INTO)) {
		c->kind = AST_CLAUSE_INTO;
		c->into = into_take(p);
	} else if (parser_accept_keyword(p, KEY_OVER)) {
		c->kind = AST_CLAUSE_OVER;
		over_take(p, c);
	} else if (parser_accept_keyword(p, KEY_FOR)) {
		c->kind = AST_CLAUSE_FOR;
		c->time.ns = parser_duration(p, "For");
	} else if (parser_accept_keyword(p, KEY_EVERY)) {
		c->kind = AST_CLAUSE_EVERY;
		c->time.ns = parser_duration(p, "Every");
	} else if (parser_accept_keyword(p, KEY_WINDOW)) {
		c->kind = AST_CLAUSE_WINDOW;
		c->time.ns = parser_duration(p, "Window");
		if (parser_accept_keyword(p, KEY_SLIDE))
			c->time.slide_ns = parser_duration(p, "Slide");
	} else if (parser_accept_keyword(p, KEY_SAMPLE)) {
		c->kind = AST_CLAUSE_SAMPLE;
		c->expr = parser_expr(p);
	} else {
		return false;
	}
	return true;
}

/* Where the tree remembers a clause that may stand once. */
static struct ast_clause **single(struct ast_clauses *q, enum ast_clause_kind kind)
{
	switch (kind) {
	case AST_CLAUSE_GROUP:
		return &q->group;
	case AST_CLAUSE_SELECT:
		return &q->select;
	case AST_CLAUSE_ORDER:
		return &q->order;
	case AST_CLAUSE_LIMIT:
		return &q->limit;
	case AST_CLAUSE_OVER:
		return &q->over;
	case AST_CLAUSE_INTO:
		return &q->into;
	case AST_CLAUSE_FOR:
		return &q->duration;
	case AST_CLAUSE_EVERY:
		return &q->every;
	case AST_CLAUSE_WINDOW:
		return &q->window;
	case AST_CLAUSE_SAMPLE:
		return &q->sample;
	default:
		return NULL;
	}
}

static void clause_keep(struct parser *p, struct ast_clauses *q, struct ast_clause *c,
			const struct token *word)
{
	struct ast_clause **once = single(q, c->kind);

	q->n_joins += c->kind == AST_CLAUSE_JOIN;
	if (!once)
		return;
	if (*once)
		diag_add(p->diags, DIAG_REPEATED, word->begin, word->end,
			 "a query has one %.*s; put both into one clause",
			 SLICE_ARG(parser_text(p, word)));
	else
		*once = c;
}

/* A word behind a clause that looks like a clause's name but is none: Wher, Groupby2. */
static bool misspelt(struct parser *p)
{
	const struct token *token = parser_token(p, 0);
	enum token_kind next = parser_kind(p, 1);
	struct suggestion near;
	char word[80];

	if (p->panic || token->kind != TOKEN_IDENT || parser_at_statement(p) ||
	    (token->keyword != KEY_NONE && word_key(token->keyword)->clause) ||
	    !(next == TOKEN_IDENT || next == TOKEN_INT || next == TOKEN_DURATION ||
	      next == TOKEN_STRING))
		return false;
	near = suggestion_for(parser_text(p, token));
	for (int key = KEY_NONE + 1; key < KEYWORDS; key++)
		if (word_key(key)->clause)
			suggestion_offer(&near, word_key(key)->name);
	snprintf(word, sizeof(word), "%.*s", SLICE_ARG(slice_first(parser_text(p, token), 60)));
	if (!near.best) {
		parser_report(p, DIAG_UNEXPECTED, token->begin, token->end, "'%s' begins no clause",
			      word);
		return true;
	}
	parser_report(p, DIAG_UNEXPECTED, token->begin, token->end,
		      "'%s' begins no clause; did you mean '%s'?", word, near.best);
	diag_fix(p->diags, token->begin, token->end, slice_cstr(near.best));
	return true;
}

struct ast_clauses *parser_clauses(struct parser *p)
{
	struct ast_clauses *q = parser_alloc(p, sizeof(*q));
	struct ast_clause **last = &q->first;
	struct token *first = parser_token(p, 0);

	parser_expect_keyword(p, KEY_FROM, "");
	parser_binding(p, &q->from, true);
	q->from.range = q->from.range.end ? q->from.range : parser_range(first);
	for (;;) {
		struct token *word = parser_token(p, 0);
		struct ast_clause *c;

		if (misspelt(p))
			parser_take(p);
		if (p->panic)
			parser_sync(p);
		word = parser_token(p, 0);
		if (parser_keyword(p, 0) == KEY_NONE || !word_key(parser_keyword(p, 0))->clause)
			break;
		c = parser_alloc(p, sizeof(*c));
		if (!clause_take(p, c))
			break;
		word->layout = LAYOUT_CLAUSE;
		c->range = parser_since(p, word->begin);
		clause_keep(p, q, c, word);
		*last = c;
		last = &c->next;
	}
	q->range = parser_since(p, first->begin);
	return q;
}
