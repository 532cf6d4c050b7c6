/* lang/parse_int.h - what the files of the parser share.
 *
 * Functions named parser_x take tokens.  After a mistake `panic` is set: nothing more is reported
 * until a place is found from which it is safe to go on (parser_sync_*), which every loop over
 * clauses, stages and statements does. */
#ifndef CAUSET_LANG_PARSE_INT_H
#define CAUSET_LANG_PARSE_INT_H

#include <setjmp.h>

#include "lang/ast.h"
#include "lang/diag.h"
#include "lang/lexer.h"

#define PARSE_MAX_ITEMS 10000 /* in one list: arguments, columns, stages, steps */

struct parser {
	struct tokens *tokens;
	struct arena *arena;
	struct diags *diags;
	enum lang_dialect dialect;
	size_t at;      /* the next token */
	unsigned depth; /* of brackets */
	uint16_t layout_depth;
	bool panic;
	/* Where to go when there is no memory.  Everything is in the arena, so nothing is left
	 * behind. */
	jmp_buf *no_memory;
};

/* A list that grows in the arena, of pointers or structs. */
struct parser_list {
	char *items;
	size_t n, capacity, size;
};

/* ---- tokens (parse_tokens.c) ---- */

static inline struct token *parser_token(const struct parser *p, size_t ahead)
{
	size_t at = p->at + ahead;

	return &p->tokens->items[at < p->tokens->n ? at : p->tokens->n - 1];
}

static inline enum token_kind parser_kind(const struct parser *p, size_t ahead)
{
	return (enum token_kind)parser_token(p, ahead)->kind;
}

/* The keyword the token could be, KEY_NONE for anything but an identifier. */
static inline enum word_keyword parser_keyword(const struct parser *p, size_t ahead)
{
	return (enum word_keyword)parser_token(p, ahead)->keyword;
}

static inline bool parser_touches(const struct parser *p, size_t ahead)
{
	return token_touches(p->tokens, p->at + ahead);
}

/* Takes the next token; at the end it stays. */
struct token *parser_take(struct parser *p);

/* Takes it if it is of that kind; NULL otherwise. */
struct token *parser_accept(struct parser *p, enum token_kind kind);

/* The same for a keyword. */
struct token *parser_accept_keyword(struct parser *p, enum word_keyword key);

/* Takes it, or reports "expected WHAT" and gives NULL. */
struct token *parser_expect(struct parser *p, enum token_kind kind, const char *what);
struct token *parser_expect_keyword(struct parser *p, enum word_keyword key, const char *where);

/* The bracket that closes `open`, or a report that it is missing; then skips to where one may be.
 */
void parser_close(struct parser *p, enum token_kind kind, const struct token *open);

/* Reports that the next token is not what was expected. */
void parser_unexpected(struct parser *p, const char *expected);

/* Reports something else, unless in panic; sets it. */
void parser_report(struct parser *p, enum diag_code code, uint32_t begin, uint32_t end,
		   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Goes one bracket deeper; false, reported, when that is too deep.  Pair with parser_leave(). */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);

/* After a mistake: skips to the next clause, stage, statement or closing bracket. */
void parser_sync(struct parser *p);

/* A name may begin a statement here: From, Dataset, …, or a name before : or =. */
bool parser_at_statement(const struct parser *p);

/* How many tokens a label (name : or name =) has, 0 if there is none. */
size_t parser_label(const struct parser *p);

struct slice parser_text(const struct parser *p, const struct token *token);

static inline struct ast_range parser_range(const struct token *token)
{
	return (struct ast_range){token->begin, token->end};
}

/* From `begin` to the end of what was taken last. */
struct ast_range parser_since(const struct parser *p, uint32_t begin);

/* Cleared memory; when there is none, parsing is over: see parser.no_memory. */
void *parser_alloc(struct parser *p, size_t size);

/* Room for one more; NULL when the list is full, reported. */
void *parser_push(struct parser *p, struct parser_list *list);

/* ---- expressions (parse_expr.c, parse_path.c) ---- */

struct ast_expr *parser_expr(struct parser *p);
struct ast_expr *parser_expr_above(struct parser *p, int power);
struct ast_expr *parser_new_expr(struct parser *p, enum ast_expr_kind kind, uint32_t begin);
struct ast_expr *parser_path(struct parser *p);

/* Comma-separated expressions up to, not including, the closing bracket. */
void parser_exprs(struct parser *p, enum token_kind close, struct ast_expr ***ret, size_t *ret_n);

/* Sets its range and height from its parts. */
void parser_finish(struct parser *p, struct ast_expr *e, uint32_t begin);

/* ---- queries (parse_query.c, parse_clauses.c, parse_sequence.c, parse_source.c) ---- */

struct ast_query *parser_query(struct parser *p);

/* A query as an expression: its head alone, if that is all it is. */
struct ast_expr *parser_query_expr(struct parser *p);

struct ast_clauses *parser_clauses(struct parser *p);
struct ast_sequence *parser_sequence(struct parser *p);
struct ast_source *parser_source(struct parser *p);

/* [ alias In ] source { "," source } */
void parser_binding(struct parser *p, struct ast_binding *b, bool several);

/* A duration; 0, reported, if there is none. */
int64_t parser_duration(struct parser *p, const char *behind);

/* A string; empty, reported, if there is none. */
struct slice parser_string(struct parser *p, const char *behind);

/* ---- statements (parse.c, parse_dataset.c) ---- */

struct ast_statement *parser_statement(struct parser *p);
struct ast_dataset *parser_dataset(struct parser *p);
struct ast_tracepoint *parser_tracepoint(struct parser *p);

/* Statements up to `end` (TOKEN_END or a closing brace); how many. */
size_t parser_statements(struct parser *p, enum token_kind end, struct ast_statement **ret_first);

#endif
