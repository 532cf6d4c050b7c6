/* lang/parse.c - statements, and the parser's front door. */
#include "lang/parse.h"

#include <errno.h>

#include "base/cleanup.h"
#include "lang/parse_int.h"

/* name = or name: */
static void label_take(struct parser *p, struct ast_statement *s, size_t n)
{
	struct token *first = parser_token(p, 0), *last;

	for (size_t i = 0; i + 1 < n; i++) {
		struct token *token = parser_take(p);

		if (i > 0)
			token->layout = LAYOUT_GLUED;
	}
	s->name_range = parser_since(p, first->begin);
	s->name = slice_of(p->tokens->text.p + first->begin, s->name_range.end - first->begin);
	last = parser_take(p);
	if (last->kind == TOKEN_COLON)
		last->layout = LAYOUT_LABEL;
}

/* A name behind Dataset or Tracepoint. */
static void name_take(struct parser *p, struct ast_statement *s)
{
	struct token *first = parser_take(p);

	while (parser_kind(p, 0) == TOKEN_DOT && parser_kind(p, 1) == TOKEN_IDENT &&
	       parser_touches(p, 0) && parser_touches(p, 1)) {
		parser_take(p)->layout = LAYOUT_GLUED;
		parser_take(p)->layout = LAYOUT_GLUED;
	}
	s->name_range = parser_since(p, first->begin);
	s->name = slice_of(p->tokens->text.p + first->begin, s->name_range.end - first->begin);
}

struct ast_statement *parser_statement(struct parser *p)
{
	struct ast_statement *s = parser_alloc(p, sizeof(*s));
	struct token *first = parser_token(p, 0);
	enum word_keyword key = parser_keyword(p, 0);
	size_t label = parser_label(p);

	first->layout = LAYOUT_STATEMENT;
	if (label) {
		label_take(p, s, label);
		key = KEY_NONE;
	}
	if (key == KEY_DATASET && parser_kind(p, 1) == TOKEN_IDENT) {
		parser_accept_keyword(p, key);
		s->kind = AST_STATEMENT_DATASET;
		name_take(p, s);
		s->dataset = parser_dataset(p);
	} else if (key == KEY_TRACEPOINT && parser_kind(p, 1) == TOKEN_IDENT) {
		parser_accept_keyword(p, key);
		s->kind = AST_STATEMENT_TRACEPOINT;
		name_take(p, s);
		parser_expect(p, TOKEN_EQ, "'=' and what the tracepoint is");
		s->tracepoint = parser_tracepoint(p);
	} else {
		s->query = parser_query(p);
	}
	s->range = parser_since(p, first->begin);
	return s;
}

/* Behind a statement: `;`, or something that cannot continue it and begins another. */
static void statement_end(struct parser *p, enum token_kind end)
{
	const struct token *next = parser_token(p, 0);

	if (p->panic) {
		parser_sync(p);
		next = parser_token(p, 0);
	}
	switch (next->kind) {
	case TOKEN_SEMICOLON:
	case TOKEN_END:
	case TOKEN_IDENT:
	case TOKEN_INT:
	case TOKEN_FLOAT:
	case TOKEN_DURATION:
	case TOKEN_STRING:
	case TOKEN_DOT:
	case TOKEN_BANG:
	case TOKEN_ODD:
		return;
	case TOKEN_LPAREN:
	case TOKEN_LBRACKET:
	case TOKEN_LBRACE:
	case TOKEN_MINUS:
		diag_add(p->diags, DIAG_UNEXPECTED, next->begin, next->end,
			 "a statement that begins with '%s' needs ';' before it",
			 token_kind_text((enum token_kind)next->kind));
		diag_fix(p->diags, next->begin, next->begin, SLICE("; "));
		return;
	default:
		if (next->kind == end)
			return;
		parser_unexpected(p, "the end of the statement or an operator");
		parser_take(p);
		parser_sync(p);
	}
}

size_t parser_statements(struct parser *p, enum token_kind end, struct ast_statement **ret_first)
{
	struct ast_statement **last = ret_first;
	size_t n = 0;

	*ret_first = NULL;
	while (parser_kind(p, 0) != TOKEN_END && parser_kind(p, 0) != end) {
		size_t before = p->at;
		struct ast_statement *s;

		if (parser_accept(p, TOKEN_SEMICOLON))
			continue;
		if (n == LANG_MAX_STATEMENTS) {
			const struct token *token = parser_token(p, 0);

			parser_report(p, DIAG_TOO_DEEP, token->begin, token->end,
				      "more than %d statements; make several programs of it",
				      LANG_MAX_STATEMENTS);
			p->at = p->tokens->n - 1;
			break;
		}
		s = parser_statement(p);
		*last = s;
		last = &s->next;
		n++;
		statement_end(p, end);
		if (p->at == before) /* nothing can be made of it */
			parser_take(p);
	}
	return n;
}

int lang_parse_tokens(struct tokens *tokens, enum lang_dialect dialect, struct arena *arena,
		      struct diags *diags, struct ast_program **ret_program)
{
	jmp_buf no_memory;
	struct parser p = {.tokens = tokens,
			   .arena = arena,
			   .diags = diags,
			   .dialect = dialect,
			   .no_memory = &no_memory};
	struct ast_program *program;

	if (setjmp(no_memory))
		return -ENOMEM;
	program = parser_alloc(&p, sizeof(*program));
	program->text = tokens->text;
	program->dialect = dialect;
	program->n = parser_statements(&p, TOKEN_END, &program->first);
	if (diags->no_memory)
		return -ENOMEM;
	*ret_program = program;
	return 0;
}

int lang_parse(struct slice text, enum lang_dialect dialect, struct arena *arena,
	       struct diags *diags, struct ast_program **ret_program)
{
	_cleanup_(tokens_done)
	struct tokens tokens = {0};
	int r = tokens_read(&tokens, text, diags);

	if (r < 0)
		return r;
	return lang_parse_tokens(&tokens, dialect, arena, diags, ret_program);
}
