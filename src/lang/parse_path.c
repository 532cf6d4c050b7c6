/* lang/parse_path.c - names with dots: aliases and fields, attributes, Tempo's intrinsics.
 *
 * Parts must stand directly behind each other.  In an attribute (span.x, resource.x, .x, parent.x,
 * …) a name may also have - / @ inside, as attributes do: span.http-route; blanks around a minus
 * make it one. In Tempo's dialect everything up to a blank or a bracket or an operator belongs to
 * it. */
#include "lang/parse_int.h"

static bool is_word(enum token_kind kind)
{
	return kind == TOKEN_IDENT || kind == TOKEN_INT || kind == TOKEN_ODD ||
	       kind == TOKEN_DURATION || kind == TOKEN_FLOAT;
}

/* Signs that may be inside the key of an attribute. */
static bool joins(const struct parser *p, enum token_kind kind)
{
	if (kind == TOKEN_MINUS || kind == TOKEN_SLASH || kind == TOKEN_AT)
		return true;
	return p->dialect == DIALECT_TRACEQL &&
	       (kind == TOKEN_COLON || kind == TOKEN_PLUS || kind == TOKEN_PERCENT ||
		kind == TOKEN_STAR || kind == TOKEN_DOLLAR || kind == TOKEN_QUESTION);
}

/* Takes words and, in attributes, the signs between them; gives the text of one part. */
static struct slice part_take(struct parser *p, bool attribute)
{
	struct token *first = parser_take(p), *last = first;

	while (attribute && joins(p, parser_kind(p, 0)) && parser_touches(p, 0) &&
	       is_word(parser_kind(p, 1)) && parser_touches(p, 1)) {
		parser_take(p)->layout = LAYOUT_GLUED;
		last = parser_take(p);
		last->layout = LAYOUT_GLUED;
	}
	return slice_of(p->tokens->text.p + first->begin, last->end - first->begin);
}

static void part_add(struct parser *p, struct parser_list *parts, struct ast_part part)
{
	struct ast_part *slot = parser_push(p, parts);

	if (slot)
		*slot = part;
}

/* A dot and what is behind it; false when nothing is. */
static bool dot_take(struct parser *p, struct parser_list *parts, bool attribute)
{
	enum token_kind next = parser_kind(p, 1);

	if (parser_kind(p, 0) != TOKEN_DOT || !parser_touches(p, 1) ||
	    !(is_word(next) || next == TOKEN_STRING))
		return false;
	parser_take(p)->layout = LAYOUT_GLUED;
	if (next == TOKEN_STRING) {
		struct token *string = parser_take(p);

		string->layout = LAYOUT_GLUED;
		part_add(p, parts,
			 (struct ast_part){token_string(p->tokens, string, p->arena, p->diags), '.',
					   true});
	} else {
		parser_token(p, 0)->layout = LAYOUT_GLUED;
		part_add(p, parts, (struct ast_part){part_take(p, attribute), '.', false});
	}
	return true;
}

static bool colon_take(struct parser *p, struct parser_list *parts)
{
	if (parser_kind(p, 0) != TOKEN_COLON || !parser_touches(p, 0) || !parser_touches(p, 1) ||
	    parser_kind(p, 1) != TOKEN_IDENT)
		return false;
	parser_take(p)->layout = LAYOUT_GLUED;
	parser_token(p, 0)->layout = LAYOUT_GLUED;
	part_add(p, parts, (struct ast_part){parser_text(p, parser_take(p)), ':', false});
	return true;
}

struct ast_expr *parser_path(struct parser *p)
{
	struct token *first = parser_token(p, 0);
	struct parser_list parts = {.size = sizeof(struct ast_part)};
	enum word_scope scope = WORD_SCOPE_NONE;
	bool dotted = first->kind == TOKEN_DOT, attribute = dotted;
	struct ast_expr *e;

	if (dotted) {
		/* .5 by itself is a number; glued to something else it is nothing. */
		bool number = parser_kind(p, 1) == TOKEN_INT || parser_kind(p, 1) == TOKEN_FLOAT;

		if (number || !dot_take(p, &parts, true)) {
			parser_take(p);
			parser_unexpected(p, "the name of an attribute behind the dot");
		} else {
			first->layout = LAYOUT_NONE;
		}
	} else {
		parser_take(p);
		scope = word_scope(parser_text(p, first));
		attribute = scope != WORD_SCOPE_NONE && scope != WORD_SCOPE_TRACE;
		part_add(p, &parts, (struct ast_part){parser_text(p, first), 0, false});
		if (scope != WORD_SCOPE_NONE)
			colon_take(p, &parts);
	}
	while (parser_touches(p, 0) && dot_take(p, &parts, attribute)) {
		/* alias.span.http-route: from the scope on it is an attribute */
		const struct ast_part *part =
			(const struct ast_part *)(const void *)parts.items + parts.n - 1;

		if (parts.n <= 3 && !part->quoted && word_scope(part->text) != WORD_SCOPE_NONE) {
			attribute = true;
			colon_take(p, &parts);
		}
	}
	e = parser_new_expr(p, AST_PATH, first->begin);
	e->path.parts = (struct ast_part *)(void *)parts.items;
	e->path.n = parts.n;
	e->path.dotted = dotted;
	if (parts.n == 0)
		e->kind = AST_ERROR;
	return e;
}
