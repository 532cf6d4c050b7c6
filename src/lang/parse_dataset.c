/* lang/parse_dataset.c - definitions: datasets and tracepoints. */
#include "lang/parse_int.h"

/* On root end | On error | On {…} */
static void on_take(struct parser *p, struct ast_trigger *t)
{
	if (parser_accept_keyword(p, KEY_ROOT)) {
		parser_expect_keyword(p, KEY_END, "behind root");
		t->kind = AST_TRIGGER_ROOT_END;
	} else if (parser_accept_keyword(p, KEY_ERROR)) {
		t->kind = AST_TRIGGER_ERROR;
	} else if (parser_kind(p, 0) == TOKEN_LBRACE) {
		t->kind = AST_TRIGGER_MATCH;
		t->spanset = parser_expr(p);
	} else {
		parser_unexpected(p, "'root end', 'error' or {…} behind On");
	}
}

static void after_take(struct parser *p, struct ast_trigger *t)
{
	t->kind = AST_TRIGGER_AFTER;
	t->after_ns = parser_duration(p, "After");
	if (parser_accept_keyword(p, KEY_SINCE)) {
		if (parser_kind(p, 0) == TOKEN_LBRACE)
			t->spanset = parser_expr(p);
		else
			parser_unexpected(p, "{…} behind since");
	}
}

static void once(struct parser *p, bool set, const struct token *word)
{
	if (set)
		diag_add(p->diags, DIAG_REPEATED, word->begin, word->end, "a dataset has one %.*s",
			 SLICE_ARG(parser_text(p, word)));
}

/* One property; false if none begins here. */
static bool property_take(struct parser *p, struct ast_dataset *d, struct parser_list *triggers)
{
	struct token *word = parser_token(p, 0);

	word->layout = LAYOUT_CLAUSE;
	if (parser_accept_keyword(p, KEY_OWNER)) {
		once(p, d->owner.n > 0, word);
		d->owner = parser_string(p, "the owner");
	} else if (parser_accept_keyword(p, KEY_PER)) {
		once(p, d->per != NULL, word);
		p->layout_depth++;
		d->per = parser_query(p);
		p->layout_depth--;
	} else if (parser_accept_keyword(p, KEY_WHERE)) {
		once(p, d->where != NULL, word);
		d->where = parser_expr(p);
	} else if (parser_accept_keyword(p, KEY_INTO)) {
		once(p, d->into.n > 0, word);
		d->into = parser_string(p, "the name of the rows");
	} else if (parser_accept_keyword(p, KEY_RETAIN)) {
		once(p, d->retain_ns != 0, word);
		d->retain_ns = parser_duration(p, "Retain");
	} else if (parser_keyword(p, 0) == KEY_AFTER || parser_keyword(p, 0) == KEY_ON) {
		struct ast_trigger *t = parser_push(p, triggers);

		parser_accept_keyword(p, parser_keyword(p, 0));
		if (t && word->keyword == KEY_AFTER)
			after_take(p, t);
		else if (t)
			on_take(p, t);
		if (t)
			t->range = parser_since(p, word->begin);
	} else {
		word->layout = LAYOUT_NONE;
		return false;
	}
	return true;
}

/* Skips to the next property or the brace of the body. */
static void property_sync(struct parser *p)
{
	while (p->panic) {
		switch (parser_keyword(p, 0)) {
		case KEY_OWNER:
		case KEY_PER:
		case KEY_WHERE:
		case KEY_INTO:
		case KEY_RETAIN:
		case KEY_AFTER:
		case KEY_ON:
			p->panic = false;
			return;
		default:
			break;
		}
		if (parser_kind(p, 0) == TOKEN_LBRACE || parser_kind(p, 0) == TOKEN_END ||
		    parser_kind(p, 0) == TOKEN_SEMICOLON) {
			p->panic = false;
			return;
		}
		parser_take(p);
	}
}

struct ast_dataset *parser_dataset(struct parser *p)
{
	struct ast_dataset *d = parser_alloc(p, sizeof(*d));
	struct parser_list triggers = {.size = sizeof(struct ast_trigger)};
	struct token *open, *close;

	while (property_take(p, d, &triggers))
		property_sync(p);
	d->triggers = (struct ast_trigger *)(void *)triggers.items;
	d->n_triggers = triggers.n;
	open = parser_expect(p, TOKEN_LBRACE,
			     "Owner, Per, Where, Into, Retain, After, On, or '{' and the features");
	if (!open)
		return d;
	open->layout = LAYOUT_OPEN;
	p->layout_depth++;
	if (parser_enter(p))
		parser_statements(p, TOKEN_RBRACE, &d->body);
	parser_leave(p);
	p->layout_depth--;
	close = parser_token(p, 0);
	if (close->kind == TOKEN_RBRACE)
		close->layout = LAYOUT_CLOSE;
	parser_close(p, TOKEN_RBRACE, open);
	return d;
}

static void exports_take(struct parser *p, struct ast_tracepoint *t)
{
	struct parser_list list = {.size = sizeof(struct ast_export)};
	struct token *open = parser_expect(p, TOKEN_LBRACE, "'{' behind Exports");

	t->declares = true;
	if (!open)
		return;
	while (parser_kind(p, 0) != TOKEN_RBRACE) {
		struct token *name = parser_expect(p, TOKEN_IDENT, "name = expression");
		struct ast_export *e = name ? parser_push(p, &list) : NULL;

		if (!e)
			break;
		e->name = parser_text(p, name);
		parser_expect(p, TOKEN_EQ, "'='");
		e->expr = parser_expr(p);
		e->range = parser_since(p, name->begin);
		if (p->panic || !parser_accept(p, TOKEN_COMMA))
			break;
	}
	parser_close(p, TOKEN_RBRACE, open);
	t->exports = (struct ast_export *)(void *)list.items;
	t->n_exports = list.n;
}

struct ast_tracepoint *parser_tracepoint(struct parser *p)
{
	struct ast_tracepoint *t = parser_alloc(p, sizeof(*t));
	struct parser_list list = {.size = sizeof(struct ast_source *)};
	struct token *word;

	do {
		struct ast_source **slot = parser_push(p, &list);

		if (!slot)
			break;
		*slot = parser_source(p);
	} while (!p->panic && parser_accept(p, TOKEN_COMMA));
	t->sources = (struct ast_source **)(void *)list.items;
	t->n_sources = list.n;
	word = parser_token(p, 0);
	if (!p->panic && parser_accept_keyword(p, KEY_EXPORTS)) {
		word->layout = LAYOUT_CLAUSE;
		exports_take(p, t);
	}
	return t;
}
