/* lang/parse_source.c - where tuples come from: names with globs, spansets, sub-queries, csv files.
 */
#include "lang/parse_int.h"

/* May be inside the name of a tracepoint: java.lang.Foo, kernel!Ex*, libc:malloc, ns::f, a[bc]?. */
static bool in_name(enum token_kind kind)
{
	switch (kind) {
	case TOKEN_IDENT:
	case TOKEN_INT:
	case TOKEN_FLOAT:
	case TOKEN_DURATION:
	case TOKEN_ODD:
	case TOKEN_DOT:
	case TOKEN_STAR:
	case TOKEN_QUESTION:
	case TOKEN_DOLLAR:
	case TOKEN_COLON:
	case TOKEN_BANG:
	case TOKEN_SLASH:
	case TOKEN_MINUS:
	case TOKEN_LBRACKET:
		return true;
	default:
		return false;
	}
}

static struct token *glued_take(struct parser *p)
{
	struct token *token = parser_take(p);

	token->layout = LAYOUT_GLUED;
	return token;
}

/* Takes the tokens of a name; they touch. */
static struct slice name_take(struct parser *p)
{
	struct token *first = parser_take(p), *last = first, *open;

	while (in_name(parser_kind(p, 0)) && parser_touches(p, 0)) {
		bool set = parser_kind(p, 0) == TOKEN_LBRACKET;

		if (parser_kind(p, 0) == TOKEN_MINUS &&
		    !(parser_touches(p, 1) && parser_kind(p, 1) == TOKEN_IDENT))
			break;
		open = last = glued_take(p);
		while (set && last->kind != TOKEN_RBRACKET && parser_touches(p, 0) &&
		       parser_kind(p, 0) != TOKEN_END)
			last = glued_take(p);
		if (set && last->kind != TOKEN_RBRACKET)
			parser_report(p, DIAG_UNCLOSED, open->begin, open->end,
				      "'[' of a name is not closed by ']', without blanks between");
	}
	return slice_of(p->tokens->text.p + first->begin, last->end - first->begin);
}

static bool is_glob(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '*' || name.p[i] == '?' || name.p[i] == '[')
			return true;
	return false;
}

/* @entry, @return, @finally, @17 */
static void place_take(struct parser *p, struct ast_source *s)
{
	struct token *token;
	struct slice text;

	if (parser_kind(p, 0) != TOKEN_AT || !parser_touches(p, 0))
		return;
	parser_take(p)->layout = LAYOUT_GLUED;
	token = parser_token(p, 0);
	text = parser_text(p, token);
	if (token->kind == TOKEN_INT && parser_touches(p, 0)) {
		s->place = AST_PLACE_LINE;
		s->line = token_int(p->tokens, token, p->diags);
	} else if (slice_eq_nocase(text, SLICE("entry"))) {
		s->place = AST_PLACE_ENTRY;
	} else if (slice_eq_nocase(text, SLICE("return"))) {
		s->place = AST_PLACE_RETURN;
	} else if (slice_eq_nocase(text, SLICE("finally"))) {
		s->place = AST_PLACE_FINALLY;
	} else {
		parser_unexpected(p, "entry, return, finally or a line number behind @");
		return;
	}
	parser_take(p)->layout = LAYOUT_GLUED;
}

/* provider!name, provider:name; ns::name has none */
static void provider_split(struct ast_source *s, struct slice text)
{
	for (size_t i = 1; i + 1 < text.n; i++) {
		if (text.p[i] == ':' && text.p[i + 1] == ':') {
			i++;
			continue;
		}
		if (text.p[i] == '!' || text.p[i] == ':') {
			s->provider = slice_first(text, i);
			text = slice_from(text, i + 1);
			break;
		}
	}
	s->name = text;
	s->glob = is_glob(text);
}

static struct ast_source *named(struct parser *p)
{
	struct token *first = parser_token(p, 0);
	struct ast_source *s = parser_alloc(p, sizeof(*s));
	enum word_keyword key = parser_keyword(p, 0);

	s->kind = AST_SOURCE_NAME;
	if (first->kind == TOKEN_STRING) {
		s->name = token_string(p->tokens, parser_take(p), p->arena, p->diags);
	} else if ((first->kind == TOKEN_IDENT || first->kind == TOKEN_STAR) &&
		   !(key != KEY_NONE && word_key(key)->clause && parser_kind(p, 1) == TOKEN_IDENT &&
		     !parser_touches(p, 1))) {
		provider_split(s, name_take(p));
		place_take(p, s);
	} else {
		parser_unexpected(p, "a source: spans, a tracepoint, a query's name, {…} or (…)");
		s->kind = AST_SOURCE_ERROR;
	}
	s->range = parser_since(p, first->begin);
	return s;
}

/* First(source), First(source, n), FirstN(n, source), MostRecent… */
static struct ast_source *temporal(struct parser *p, enum ast_filter filter)
{
	struct token *first = parser_take(p), *open = parser_take(p);
	struct ast_source *s = parser_alloc(p, sizeof(*s));

	open->layout = LAYOUT_CALL;
	s->kind = AST_SOURCE_FILTER;
	s->filter = filter;
	s->n = 1;
	if (!parser_enter(p)) {
		parser_leave(p);
		s->kind = AST_SOURCE_ERROR;
		return s;
	}
	if (parser_kind(p, 0) == TOKEN_INT && parser_kind(p, 1) == TOKEN_COMMA) {
		s->n = token_int(p->tokens, parser_take(p), p->diags);
		parser_take(p);
		s->of = parser_source(p);
	} else {
		s->of = parser_source(p);
		if (parser_accept(p, TOKEN_COMMA)) {
			struct token *n = parser_expect(p, TOKEN_INT, "how many");

			s->n = n ? token_int(p->tokens, n, p->diags) : 1;
		}
	}
	parser_leave(p);
	parser_close(p, TOKEN_RPAREN, open);
	s->range = parser_since(p, first->begin);
	if (s->n < 1) {
		diag_add(p->diags, DIAG_RANGE, s->range.begin, s->range.end,
			 "%.*s needs a number of at least 1", SLICE_ARG(parser_text(p, first)));
		s->n = 1;
	}
	return s;
}

static bool temporal_name(struct slice name, enum ast_filter *ret_filter)
{
	static const struct {
		struct slice name;
		enum ast_filter filter;
	} names[] = {
		{SLICE("First"), AST_FILTER_FIRST},
		{SLICE("FirstN"), AST_FILTER_FIRST},
		{SLICE("MostRecent"), AST_FILTER_MOST_RECENT},
		{SLICE("MostRecentN"), AST_FILTER_MOST_RECENT},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (slice_eq_nocase(names[i].name, name)) {
			*ret_filter = names[i].filter;
			return true;
		}
	return false;
}

static struct ast_source *csv(struct parser *p)
{
	struct token *first = parser_take(p), *open = parser_take(p);
	struct ast_source *s = parser_alloc(p, sizeof(*s));

	open->layout = LAYOUT_CALL;
	s->kind = AST_SOURCE_CSV;
	s->file = parser_string(p, "the name of a file");
	parser_close(p, TOKEN_RPAREN, open);
	s->range = parser_since(p, first->begin);
	return s;
}

static struct ast_source *nested(struct parser *p)
{
	struct token *open = parser_take(p);
	struct ast_source *s = parser_alloc(p, sizeof(*s));

	s->kind = AST_SOURCE_QUERY;
	if (!parser_enter(p)) {
		parser_leave(p);
		s->kind = AST_SOURCE_ERROR;
		return s;
	}
	p->layout_depth++;
	s->query = parser_query(p);
	p->layout_depth--;
	parser_leave(p);
	parser_close(p, TOKEN_RPAREN, open);
	s->range = parser_since(p, open->begin);
	return s;
}

struct ast_source *parser_source(struct parser *p)
{
	struct token *first = parser_token(p, 0);
	enum ast_filter filter;
	struct ast_source *s;

	if (first->kind == TOKEN_IDENT && parser_kind(p, 1) == TOKEN_LPAREN) {
		if (temporal_name(parser_text(p, first), &filter))
			return temporal(p, filter);
		if (slice_eq_nocase(parser_text(p, first), SLICE("csv")))
			return csv(p);
	}
	if (first->kind == TOKEN_LPAREN)
		return nested(p);
	if (first->kind != TOKEN_LBRACE)
		return named(p);
	s = parser_alloc(p, sizeof(*s));
	s->kind = AST_SOURCE_SPANSET;
	s->expr = parser_expr(p);
	s->range = s->expr->range;
	return s;
}

void parser_binding(struct parser *p, struct ast_binding *b, bool several)
{
	struct parser_list list = {.size = sizeof(struct ast_source *)};
	struct ast_source **slot;

	if (parser_kind(p, 0) == TOKEN_IDENT && parser_keyword(p, 1) == KEY_IN) {
		struct token *name = parser_take(p);

		b->name = parser_text(p, name);
		b->range = parser_range(name);
		parser_accept_keyword(p, KEY_IN);
	}
	do {
		slot = parser_push(p, &list);
		if (slot)
			*slot = parser_source(p);
	} while (slot && several && parser_accept(p, TOKEN_COMMA));
	b->sources = (struct ast_source **)(void *)list.items;
	b->n_sources = list.n;
	if (!b->name.n && list.n)
		b->range = b->sources[0]->range;
}
