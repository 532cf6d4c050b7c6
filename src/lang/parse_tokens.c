/* lang/parse_tokens.c - taking tokens, reporting, and going on after a mistake. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "lang/parse_int.h"

struct token *parser_take(struct parser *p)
{
	struct token *token = parser_token(p, 0);

	token->depth = p->layout_depth;
	if (token->kind != TOKEN_END)
		p->at++;
	return token;
}

struct token *parser_accept(struct parser *p, enum token_kind kind)
{
	return parser_kind(p, 0) == kind ? parser_take(p) : NULL;
}

struct token *parser_accept_keyword(struct parser *p, enum word_keyword key)
{
	struct token *token;

	if (parser_keyword(p, 0) != key)
		return NULL;
	token = parser_take(p);
	token->is_keyword = true;
	return token;
}

/* "'Selct'", "the end of the text" */
static const char *found_text(const struct parser *p, char out[64])
{
	const struct token *token = parser_token(p, 0);
	struct slice text = parser_text(p, token);

	if (token->kind == TOKEN_END)
		snprintf(out, 64, "the end of the text");
	else if (text.n > 30)
		snprintf(out, 64, "this");
	else
		snprintf(out, 64, "'%.*s'", SLICE_ARG(text));
	return out;
}

void parser_report(struct parser *p, enum diag_code code, uint32_t begin, uint32_t end,
		   const char *format, ...)
{
	char text[400];
	va_list args;

	if (p->panic)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	diag_add(p->diags, code, begin, end, "%s", text);
	p->panic = true;
}

void parser_unexpected(struct parser *p, const char *expected)
{
	const struct token *token = parser_token(p, 0);
	char found[64];

	parser_report(p, DIAG_UNEXPECTED, token->begin, token->end, "expected %s, found %s",
		      expected, found_text(p, found));
}

struct token *parser_expect(struct parser *p, enum token_kind kind, const char *what)
{
	struct token *token = parser_accept(p, kind);

	if (!token)
		parser_unexpected(p, what);
	return token;
}

struct token *parser_expect_keyword(struct parser *p, enum word_keyword key, const char *where)
{
	struct token *token = parser_accept_keyword(p, key), *found = parser_token(p, 0);
	struct suggestion near;
	char what[80];
	bool was = p->panic;

	if (token)
		return token;
	snprintf(what, sizeof(what), "'%s'%s%s", word_key(key)->name, where[0] ? " " : "", where);
	parser_unexpected(p, what);
	if (was || found->kind != TOKEN_IDENT)
		return NULL;
	near = suggestion_for(parser_text(p, found));
	suggestion_offer(&near, word_key(key)->name);
	if (near.best) /* a slip of the finger: go on as if it had been right */
		diag_fix(p->diags, found->begin, found->end, slice_cstr(near.best));
	return NULL;
}

struct slice parser_text(const struct parser *p, const struct token *token)
{
	return token_text(p->tokens, token);
}

struct ast_range parser_since(const struct parser *p, uint32_t begin)
{
	uint32_t end = p->at > 0 ? p->tokens->items[p->at - 1].end : begin;

	return (struct ast_range){begin, end > begin ? end : begin};
}

bool parser_enter(struct parser *p)
{
	const struct token *token = parser_token(p, 0);

	if (++p->depth <= LANG_MAX_DEPTH)
		return true;
	parser_report(p, DIAG_TOO_DEEP, token->begin, token->end,
		      "nested more than %d deep; give the inner part a name of its own",
		      LANG_MAX_DEPTH);
	p->at = p->tokens->n - 1; /* whatever follows was made by a machine */
	return false;
}

void parser_leave(struct parser *p)
{
	p->depth--;
}

/* Moves behind the bracket that closes the one at hand. */
static void skip_brackets(struct parser *p)
{
	size_t open = 0;

	do {
		enum token_kind kind = parser_kind(p, 0);

		if (kind == TOKEN_END)
			return;
		open += kind == TOKEN_LPAREN || kind == TOKEN_LBRACE || kind == TOKEN_LBRACKET;
		open -= kind == TOKEN_RPAREN || kind == TOKEN_RBRACE || kind == TOKEN_RBRACKET;
		parser_take(p);
	} while (open > 0);
}

static bool starts_line(const struct parser *p)
{
	struct slice text = p->tokens->text;
	uint32_t at = parser_token(p, 0)->begin;

	while (at > 0 && (text.p[at - 1] == ' ' || text.p[at - 1] == '\t'))
		at--;
	return at == 0 || text.p[at - 1] == '\n';
}

void parser_sync(struct parser *p)
{
	for (;; parser_take(p)) {
		enum token_kind kind = parser_kind(p, 0);
		enum word_keyword key = parser_keyword(p, 0);

		while (kind == TOKEN_LPAREN || kind == TOKEN_LBRACE || kind == TOKEN_LBRACKET) {
			skip_brackets(p);
			kind = parser_kind(p, 0);
			key = parser_keyword(p, 0);
		}
		if (kind == TOKEN_END || kind == TOKEN_SEMICOLON || kind == TOKEN_PIPE ||
		    kind == TOKEN_RPAREN || kind == TOKEN_RBRACE || kind == TOKEN_RBRACKET)
			break;
		if (key != KEY_NONE && (word_key(key)->clause || key == KEY_UNTIL))
			break;
		if (kind == TOKEN_IDENT && starts_line(p) && parser_at_statement(p))
			break;
	}
	p->panic = false;
}

void parser_close(struct parser *p, enum token_kind kind, const struct token *open)
{
	const struct token *next = parser_token(p, 0);
	char found[64];

	if (parser_accept(p, kind))
		return;
	if (next->kind == TOKEN_END || next->kind == TOKEN_SEMICOLON)
		parser_report(p, DIAG_UNCLOSED, open->begin, open->end,
			      "'%s' is not closed by '%s'",
			      token_kind_text((enum token_kind)open->kind), token_kind_text(kind));
	else
		parser_report(p, DIAG_UNEXPECTED, next->begin, next->end,
			      "expected '%s' or an operator, found %s", token_kind_text(kind),
			      found_text(p, found));
	/* A closing bracket of the same kind further on ends what is broken. */
	for (;;) {
		enum token_kind next_kind = parser_kind(p, 0);

		if (next_kind == kind) {
			parser_take(p);
			p->panic = false;
			return;
		}
		if (next_kind == TOKEN_END || next_kind == TOKEN_SEMICOLON ||
		    next_kind == TOKEN_RPAREN || next_kind == TOKEN_RBRACE ||
		    next_kind == TOKEN_RBRACKET)
			return;
		if (next_kind == TOKEN_LPAREN || next_kind == TOKEN_LBRACE ||
		    next_kind == TOKEN_LBRACKET)
			skip_brackets(p);
		else
			parser_take(p);
	}
}

size_t parser_label(const struct parser *p)
{
	size_t n = 1;

	if (parser_kind(p, 0) != TOKEN_IDENT)
		return 0;
	while (parser_kind(p, n) == TOKEN_DOT && parser_kind(p, n + 1) == TOKEN_IDENT &&
	       parser_touches(p, n) && parser_touches(p, n + 1))
		n += 2;
	if (parser_kind(p, n) == TOKEN_EQ)
		return n + 1;
	if (parser_kind(p, n) != TOKEN_COLON)
		return 0;
	/* trace:duration is a field, not a label */
	if (n == 1 && parser_touches(p, 2) && parser_kind(p, 2) == TOKEN_IDENT &&
	    word_scope(parser_text(p, parser_token(p, 0))) != WORD_SCOPE_NONE)
		return 0;
	return n + 1;
}

bool parser_at_statement(const struct parser *p)
{
	enum word_keyword key = parser_keyword(p, 0);

	if (parser_kind(p, 0) != TOKEN_IDENT)
		return false;
	if (parser_label(p))
		return true;
	if (key == KEY_FROM || key == KEY_DATASET || key == KEY_TRACEPOINT)
		return parser_kind(p, 1) == TOKEN_IDENT || parser_kind(p, 1) == TOKEN_LBRACE;
	return key == KEY_SEQUENCE;
}

void *parser_alloc(struct parser *p, size_t size)
{
	void *memory = arena_zalloc(p->arena, 1, size);

	if (!memory)
		longjmp(*p->no_memory, 1);
	return memory;
}

void *parser_push(struct parser *p, struct parser_list *list)
{
	if (list->n == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 4;
		char *bigger;

		if (list->n >= PARSE_MAX_ITEMS) {
			const struct token *token = parser_token(p, 0);

			parser_report(p, DIAG_TOO_DEEP, token->begin, token->end,
				      "more than %d in one list", PARSE_MAX_ITEMS);
			return NULL;
		}
		bigger = arena_zalloc(p->arena, capacity, list->size);
		if (!bigger)
			longjmp(*p->no_memory, 1);
		if (list->n)
			memcpy(bigger, list->items, list->n * list->size);
		list->items = bigger;
		list->capacity = capacity;
	}
	return list->items + list->n++ * list->size;
}
