/* lang/lexer.h - text to tokens.
 *
 * Tokens are ranges of the text, nothing is copied; values of numbers and strings are read when the
 * parser takes one.  U+2212, →, ≠, ≤ and ≥ are other spellings of - -> != <= and >=.  Comments are
 * kept beside the tokens, for the formatter.  Where a token stands directly behind another matters
 * to names (span.http-route, kernel!Ex*): token_touches().
 *
 * The parser leaves its knowledge of the layout in the tokens: what is a keyword here, where a
 * clause begins.  The formatter writes the tokens by it, so what it writes has the same tokens. */
#ifndef CAUSET_LANG_LEXER_H
#define CAUSET_LANG_LEXER_H

#include "lang/diag.h"
#include "lang/words.h"

enum token_kind {
	TOKEN_END,
	TOKEN_IDENT,
	TOKEN_INT,
	TOKEN_FLOAT,
	TOKEN_DURATION,
	TOKEN_STRING,
	TOKEN_ODD, /* digits and letters that are no number, 2xx: only in names */
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_LBRACE,
	TOKEN_RBRACE,
	TOKEN_LBRACKET,
	TOKEN_RBRACKET,
	TOKEN_COMMA,
	TOKEN_SEMICOLON,
	TOKEN_COLON,
	TOKEN_DOT,
	TOKEN_DOTDOT,
	TOKEN_PIPE,
	TOKEN_AT,
	TOKEN_QUESTION,
	TOKEN_DOLLAR,
	TOKEN_PLUS,
	TOKEN_MINUS,
	TOKEN_STAR,
	TOKEN_SLASH,
	TOKEN_PERCENT,
	TOKEN_CARET,
	TOKEN_BANG,
	TOKEN_EQ,
	TOKEN_EQEQ,
	TOKEN_NE,
	TOKEN_LT,
	TOKEN_LE,
	TOKEN_GT,
	TOKEN_GE,
	TOKEN_MATCH,
	TOKEN_NO_MATCH, /* !~ */
	TOKEN_TILDE,
	TOKEN_ARROW,
	TOKEN_FAT_ARROW,
	TOKEN_NOT_ARROW,
	TOKEN_NOT_FAT_ARROW,
	TOKEN_GTGT,
	TOKEN_LTLT,
	TOKEN_NOT_GT,
	TOKEN_NOT_GTGT,
	TOKEN_NOT_LT,
	TOKEN_NOT_LTLT,
	TOKEN_AND_GT,
	TOKEN_AND_GTGT,
	TOKEN_AND_LT,
	TOKEN_AND_LTLT,
	TOKEN_AND_TILDE,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_KINDS
};

/* What the parser learned about a token. */
enum token_layout {
	LAYOUT_NONE,
	LAYOUT_GLUED,     /* nothing may come between it and the token before */
	LAYOUT_STATEMENT, /* first of a statement */
	LAYOUT_CLAUSE,    /* first of a clause */
	LAYOUT_STAGE,     /* the | before a stage */
	LAYOUT_STEP,      /* first of a sequence's step */
	LAYOUT_UNARY,     /* nothing between it and the token behind */
	LAYOUT_OPERATOR,  /* and, or, in between operands */
	LAYOUT_CALL,      /* ( of a call: nothing before it */
	LAYOUT_OPEN,      /* { of a block of statements or exports */
	LAYOUT_CLOSE,     /* its } */
	LAYOUT_LABEL,     /* : of a label: nothing before it */
};

struct token {
	uint32_t begin, end;
	uint8_t kind;    /* enum token_kind */
	uint8_t keyword; /* TOKEN_IDENT: enum word_keyword it could be */
	uint8_t layout;  /* parser: enum token_layout */
	bool is_keyword; /* parser: taken as one */
	uint16_t depth;  /* parser: how many queries and blocks it is inside of */
};

struct lexer_comment {
	uint32_t begin, end;
	uint32_t token; /* the next one */
};

struct tokens {
	struct slice text;
	struct token *items; /* the last is TOKEN_END */
	size_t n, capacity;
	struct lexer_comment *comments;
	size_t n_comments, comment_capacity;
};

/* Reads all of the text.  What is no token is reported and left out.  -ENOMEM. */
int tokens_read(struct tokens *t, struct slice text, struct diags *diags);

void tokens_done(struct tokens *t);

/* Stands directly behind the token before it. */
static inline bool token_touches(const struct tokens *t, size_t i)
{
	return i > 0 && t->items[i - 1].end == t->items[i].begin;
}

static inline struct slice token_text(const struct tokens *t, const struct token *token)
{
	return slice_of(t->text.p + token->begin, token->end - token->begin);
}

/* How `causet fmt` writes a sign: "->" for →; NULL for what is no sign. */
const char *token_kind_text(enum token_kind kind);

/* Values of a token of that kind.  What is wrong with it is reported, and 0 or an empty string is
 * given. */
int64_t token_int(const struct tokens *t, const struct token *token, struct diags *diags);
double token_float(const struct tokens *t, const struct token *token, struct diags *diags);
int64_t token_duration(const struct tokens *t, const struct token *token, struct diags *diags);

/* Without quotes, escapes resolved: a slice of the text, or in the arena. */
struct slice token_string(const struct tokens *t, const struct token *token, struct arena *arena,
			  struct diags *diags);

#endif
