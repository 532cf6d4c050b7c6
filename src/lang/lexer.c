/* lang/lexer.c - text to tokens. */
#include "lang/lexer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/utf8.h"
#include "lang/ast.h"

struct lexer {
	struct tokens *out;
	struct diags *diags;
	const char *p; /* the text */
	uint32_t n, at;
	bool no_memory;
};

/* Signs, the longer of two that start alike first. */
static const struct {
	struct slice text;
	enum token_kind kind;
} signs[] = {
	{SLICE("!->"), TOKEN_NOT_ARROW},
	{SLICE("!=>"), TOKEN_NOT_FAT_ARROW},
	{SLICE("!>>"), TOKEN_NOT_GTGT},
	{SLICE("!<<"), TOKEN_NOT_LTLT},
	{SLICE("&>>"), TOKEN_AND_GTGT},
	{SLICE("&<<"), TOKEN_AND_LTLT},
	{SLICE("!="), TOKEN_NE},
	{SLICE("!~"), TOKEN_NO_MATCH},
	{SLICE("!>"), TOKEN_NOT_GT},
	{SLICE("!<"), TOKEN_NOT_LT},
	{SLICE("!"), TOKEN_BANG},
	{SLICE("&&"), TOKEN_AND},
	{SLICE("&>"), TOKEN_AND_GT},
	{SLICE("&<"), TOKEN_AND_LT},
	{SLICE("&~"), TOKEN_AND_TILDE},
	{SLICE("||"), TOKEN_OR},
	{SLICE("|"), TOKEN_PIPE},
	{SLICE("->"), TOKEN_ARROW},
	{SLICE("-"), TOKEN_MINUS},
	{SLICE("=="), TOKEN_EQEQ},
	{SLICE("=>"), TOKEN_FAT_ARROW},
	{SLICE("=~"), TOKEN_MATCH},
	{SLICE("="), TOKEN_EQ},
	{SLICE(">>"), TOKEN_GTGT},
	{SLICE(">="), TOKEN_GE},
	{SLICE(">"), TOKEN_GT},
	{SLICE("<<"), TOKEN_LTLT},
	{SLICE("<="), TOKEN_LE},
	{SLICE("<"), TOKEN_LT},
	{SLICE(".."), TOKEN_DOTDOT},
	{SLICE("."), TOKEN_DOT},
	{SLICE("("), TOKEN_LPAREN},
	{SLICE(")"), TOKEN_RPAREN},
	{SLICE("{"), TOKEN_LBRACE},
	{SLICE("}"), TOKEN_RBRACE},
	{SLICE("["), TOKEN_LBRACKET},
	{SLICE("]"), TOKEN_RBRACKET},
	{SLICE(","), TOKEN_COMMA},
	{SLICE(";"), TOKEN_SEMICOLON},
	{SLICE(":"), TOKEN_COLON},
	{SLICE("@"), TOKEN_AT},
	{SLICE("?"), TOKEN_QUESTION},
	{SLICE("$"), TOKEN_DOLLAR},
	{SLICE("+"), TOKEN_PLUS},
	{SLICE("*"), TOKEN_STAR},
	{SLICE("/"), TOKEN_SLASH},
	{SLICE("%"), TOKEN_PERCENT},
	{SLICE("^"), TOKEN_CARET},
	{SLICE("~"), TOKEN_TILDE},
	/* other spellings: U+2212 and friends */
	{SLICE("\xe2\x88\x92"), TOKEN_MINUS},
	{SLICE("\xe2\x86\x92"), TOKEN_ARROW},
	{SLICE("\xe2\x89\xa0"), TOKEN_NE},
	{SLICE("\xe2\x89\xa4"), TOKEN_LE},
	{SLICE("\xe2\x89\xa5"), TOKEN_GE},
};

const char *token_kind_text(enum token_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (signs[i].kind == kind)
			return signs[i].text.p;
	return NULL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_letter(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static char peek(const struct lexer *l, uint32_t ahead)
{
	return l->at + ahead < l->n ? l->p[l->at + ahead] : 0;
}

static uint32_t code_point(const char *p, size_t n)
{
	const uint8_t *u = (const uint8_t *)p;

	switch (n) {
	case 2:
		return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
	case 3:
		return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
	case 4:
		return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 |
		       (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
	default:
		return u[0];
	}
}

/* Blanks that come along when a query is copied from a page. */
static bool is_blank_point(uint32_t c)
{
	return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200b) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 ||
	       c == 0xfeff;
}

/* A letter, as far as it matters: neither blank, nor punctuation, arrow or mathematical sign. */
static bool is_letter_point(uint32_t c)
{
	if (c < 0x80)
		return false;
	if (c < 0xc0)
		return c == 0xaa || c == 0xb5 || c == 0xba;
	return c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c <= 0x206f) &&
	       !(c >= 0x20a0 && c <= 0x20cf) && !(c >= 0x2190 && c <= 0x2bff) &&
	       !(c >= 0x3000 && c <= 0x3004) && !(c >= 0x3008 && c <= 0x3020) &&
	       !(c >= 0xe000 && c <= 0xf8ff) && !(c >= 0xfe00 && c <= 0xfe0f) && c != 0xfeff &&
	       !(c >= 0xff00 && c <= 0xff0f) && c < 0xf0000;
}

/* Bytes of the letter at `at`, which may also be a digit; 0 if there is none. */
static uint32_t letter_bytes(const struct lexer *l, uint32_t at)
{
	size_t n;

	if (at >= l->n)
		return 0;
	if ((uint8_t)l->p[at] < 0x80)
		return is_letter(l->p[at]) || is_digit(l->p[at]);
	n = utf8_sequence(slice_of(l->p + at, l->n - at));
	return n > 0 && is_letter_point(code_point(l->p + at, n)) ? (uint32_t)n : 0;
}

static void token_add(struct lexer *l, enum token_kind kind, uint32_t end)
{
	struct tokens *t = l->out;

	if (!vec_reserve(&t->items, &t->capacity, t->n + 1, sizeof(t->items[0]))) {
		l->no_memory = true;
		l->at = l->n;
		return;
	}
	t->items[t->n] = (struct token){.begin = l->at, .end = end, .kind = (uint8_t)kind};
	if (kind == TOKEN_IDENT)
		t->items[t->n].keyword = (uint8_t)word_keyword(slice_of(l->p + l->at, end - l->at));
	t->n++;
	l->at = end;
}

static void comment_add(struct lexer *l, uint32_t end)
{
	struct tokens *t = l->out;

	if (!vec_reserve(&t->comments, &t->comment_capacity, t->n_comments + 1,
			 sizeof(t->comments[0]))) {
		l->no_memory = true;
		l->at = l->n;
		return;
	}
	t->comments[t->n_comments++] = (struct lexer_comment){l->at, end, (uint32_t)t->n};
	l->at = end;
}

static bool comment_take(struct lexer *l)
{
	uint32_t end = l->at;

	if (peek(l, 0) == '#' || (peek(l, 0) == '/' && peek(l, 1) == '/')) {
		while (end < l->n && l->p[end] != '\n')
			end++;
		if (end > l->at && l->p[end - 1] == '\r')
			end--;
		comment_add(l, end);
		return true;
	}
	if (peek(l, 0) == '/' && peek(l, 1) == '*') {
		end += 2;
		while (end < l->n && !(l->p[end] == '*' && end + 1 < l->n && l->p[end + 1] == '/'))
			end++;
		if (end >= l->n)
			diag_add(l->diags, DIAG_OPEN_COMMENT, l->at, l->at + 2,
				 "this comment is not closed; end it with */");
		comment_add(l, end >= l->n ? l->n : end + 2);
		return true;
	}
	return false;
}

static void string_take(struct lexer *l)
{
	char quote = l->p[l->at];
	uint32_t end = l->at + 1;

	while (end < l->n && l->p[end] != quote) {
		if (quote != '`' && l->p[end] == '\n')
			break;
		end += quote != '`' && l->p[end] == '\\' && end + 1 < l->n && l->p[end + 1] != '\n'
			       ? 2
			       : 1;
	}
	if (end < l->n && l->p[end] == quote) {
		token_add(l, TOKEN_STRING, end + 1);
		return;
	}
	diag_add(l->diags, DIAG_OPEN_STRING, l->at, l->at + 1,
		 "this string is not closed on its line; end it with %c", quote);
	l->at = end; /* reported: what follows is read as if the string were not there */
}

/* A run of <number><unit>: 1h30m.  Its length, or 0. */
static uint32_t duration_bytes(const struct lexer *l)
{
	static const struct slice units[] = {
		SLICE("ns"), SLICE("us"), SLICE("\xc2\xb5s"), SLICE("\xce\xbcs"), SLICE("ms"),
		SLICE("s"),  SLICE("m"),  SLICE("h"),         SLICE("d"),         SLICE("w")};
	uint32_t at = l->at, good = 0;

	while (at < l->n && is_digit(l->p[at])) {
		size_t u = 0;

		while (at < l->n && is_digit(l->p[at]))
			at++;
		if (at + 1 < l->n && l->p[at] == '.' && is_digit(l->p[at + 1]))
			for (at++; at < l->n && is_digit(l->p[at]);)
				at++;
		while (u < ARRAY_SIZE(units) &&
		       !slice_starts(slice_of(l->p + at, l->n - at), units[u]))
			u++;
		if (u == ARRAY_SIZE(units))
			return 0;
		at += (uint32_t)units[u].n;
		good = at;
	}
	return good && !letter_bytes(l, good) ? good - l->at : 0;
}

static void number_take(struct lexer *l)
{
	uint32_t end = l->at, bytes = duration_bytes(l);
	enum token_kind kind = TOKEN_INT;

	if (bytes) {
		token_add(l, TOKEN_DURATION, l->at + bytes);
		return;
	}
	if (l->p[end] == '0' && (peek(l, 1) | 0x20) == 'x' && is_hex(peek(l, 2))) {
		for (end += 2; end < l->n && is_hex(l->p[end]);)
			end++;
	} else {
		while (end < l->n && is_digit(l->p[end]))
			end++;
		if (end + 1 < l->n && l->p[end] == '.' && is_digit(l->p[end + 1])) {
			kind = TOKEN_FLOAT;
			for (end++; end < l->n && is_digit(l->p[end]);)
				end++;
		}
		if (end < l->n && (l->p[end] | 0x20) == 'e') {
			uint32_t e = end + 1;

			if (e < l->n && (l->p[e] == '+' || l->p[e] == '-'))
				e++;
			if (e < l->n && is_digit(l->p[e])) {
				kind = TOKEN_FLOAT;
				for (end = e; end < l->n && is_digit(l->p[end]);)
					end++;
			}
		}
	}
	if (letter_bytes(l, end)) {
		kind = TOKEN_ODD;
		while ((bytes = letter_bytes(l, end)))
			end += bytes;
	}
	token_add(l, kind, end);
}

static void odd_character(struct lexer *l)
{
	struct slice rest = slice_of(l->p + l->at, l->n - l->at);
	size_t n = utf8_sequence(rest);
	uint32_t c = n ? code_point(rest.p, n) : 0;

	if (n == 0) {
		n = 1; /* tokens_read() reports the first of all */
	} else if (c == 0x201c || c == 0x201d || c == 0x201e || c == 0x2018 || c == 0x2019) {
		diag_add(l->diags, DIAG_BAD_CHARACTER, l->at, l->at + (uint32_t)n,
			 "typographic quotes do not make a string; use \"");
		diag_fix(l->diags, l->at, l->at + (uint32_t)n, SLICE("\""));
	} else if (c < 0x20 || c == 0x7f) {
		diag_add(l->diags, DIAG_BAD_CHARACTER, l->at, l->at + (uint32_t)n,
			 "a control character (0x%02x) has no place here", (unsigned)c);
	} else {
		diag_add(l->diags, DIAG_BAD_CHARACTER, l->at, l->at + (uint32_t)n,
			 "'%.*s' has no meaning here", (int)n, rest.p);
		if (c == '&')
			diag_fix(l->diags, l->at, l->at + 1, SLICE("&&"));
	}
	l->at += (uint32_t)n;
}

static bool sign_take(struct lexer *l)
{
	struct slice rest = slice_of(l->p + l->at, l->n - l->at);

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (signs[i].text.p[0] == rest.p[0] && slice_starts(rest, signs[i].text)) {
			token_add(l, signs[i].kind, l->at + (uint32_t)signs[i].text.n);
			return true;
		}
	return false;
}

/* .5 is a number unless it is the tail of a name: a.5 */
static bool fraction_take(struct lexer *l)
{
	uint32_t end = l->at + 1;

	if (peek(l, 0) != '.' || !is_digit(peek(l, 1)))
		return false;
	if (l->out->n > 0 && l->out->items[l->out->n - 1].end == l->at &&
	    l->out->items[l->out->n - 1].kind <= TOKEN_RBRACKET)
		return false;
	while (end < l->n && is_digit(l->p[end]))
		end++;
	if (letter_bytes(l, end))
		return false;
	token_add(l, TOKEN_FLOAT, end);
	return true;
}

static void next_take(struct lexer *l)
{
	char c = l->p[l->at];
	uint32_t bytes, end = l->at;
	size_t n;

	if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
		l->at++;
		return;
	}
	if (comment_take(l) || fraction_take(l))
		return;
	if (is_digit(c)) {
		number_take(l);
	} else if (c == '"' || c == '\'' || c == '`') {
		string_take(l);
	} else if ((bytes = letter_bytes(l, end))) {
		for (end += bytes; (bytes = letter_bytes(l, end));)
			end += bytes;
		token_add(l, TOKEN_IDENT, end);
	} else if (!sign_take(l)) {
		n = utf8_sequence(slice_of(l->p + l->at, l->n - l->at));
		if (n > 1 && is_blank_point(code_point(l->p + l->at, n)))
			l->at += (uint32_t)n;
		else
			odd_character(l);
	}
}

int tokens_read(struct tokens *t, struct slice text, struct diags *diags)
{
	struct lexer l = {t, diags, text.p, (uint32_t)text.n, 0, false};
	size_t valid;

	*t = (struct tokens){.text = text};
	if (text.n > LANG_MAX_TEXT) {
		diag_add(diags, DIAG_TOO_LONG, 0, 0,
			 "the text has %zu bytes; %d is the most that is read", text.n,
			 LANG_MAX_TEXT);
		l.n = 0;
		t->text.n = 0;
	}
	while (l.at < l.n)
		next_take(&l);
	/* Inside strings and comments nobody looked. */
	valid = utf8_valid_prefix(t->text);
	if (valid < t->text.n)
		diag_add(diags, DIAG_BAD_UTF8, (uint32_t)valid, (uint32_t)valid + 1,
			 "this byte is not UTF-8");
	token_add(&l, TOKEN_END, l.n);
	if (l.no_memory || diags->no_memory) {
		tokens_done(t);
		return -ENOMEM;
	}
	return 0;
}

void tokens_done(struct tokens *t)
{
	free(t->items);
	free(t->comments);
	*t = (struct tokens){0};
}
