/* lang/format.c - tokens, with what the parser learned about them, written down again. */
#include "lang/format.h"

#include <errno.h>

#include "base/cleanup.h"
#include "lang/lexer.h"
#include "lang/parse.h"

#define INDENT 2

struct formatter {
	const struct tokens *tokens;
	struct buffer *out;
	size_t column, lines;
	size_t comment; /* the next one */
	size_t last;    /* end of what was written last, in the source */
	bool line;      /* a comment ended the line: whatever follows needs a new one */
	bool fresh;     /* nothing is on this line yet */
};

/* ---- how a token is written ---- */

static struct slice spelling(const struct formatter *f, size_t i)
{
	const struct token *t = &f->tokens->items[i];
	const char *sign =
		t->layout == LAYOUT_GLUED ? NULL : token_kind_text((enum token_kind)t->kind);

	if (t->is_keyword && t->keyword != KEY_NONE) {
		if (t->layout == LAYOUT_OPERATOR && t->keyword == KEY_IN)
			return SLICE("in");
		return slice_cstr(word_key((enum word_keyword)t->keyword)->name);
	}
	return sign ? slice_cstr(sign) : token_text(f->tokens, t);
}

static size_t columns_of(struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += ((uint8_t)text.p[i] & 0xc0) != 0x80;
	return n;
}

/* A blank stands between the token and the one before it, if they are on one line. */
static bool blank_before(const struct formatter *f, size_t i)
{
	const struct token *t = &f->tokens->items[i], *before = t - 1;

	if (t->layout == LAYOUT_GLUED || t->layout == LAYOUT_CALL || t->layout == LAYOUT_LABEL ||
	    before->layout == LAYOUT_UNARY)
		return false;
	if (before->kind == TOKEN_LPAREN || before->kind == TOKEN_LBRACKET)
		return false;
	if (before->kind == TOKEN_LBRACE && t->kind == TOKEN_RBRACE)
		return false;
	return t->kind != TOKEN_RPAREN && t->kind != TOKEN_RBRACKET && t->kind != TOKEN_COMMA &&
	       t->kind != TOKEN_SEMICOLON;
}

static size_t width(const struct formatter *f, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += columns_of(spelling(f, i)) + (i > from && blank_before(f, i));
	return n;
}

/* ---- writing ---- */

static void newline(struct formatter *f, size_t indent)
{
	if (f->out->n > 0 && !(f->fresh && f->column == 0))
		buffer_byte(f->out, '\n');
	for (size_t i = 0; i < indent * INDENT; i++)
		buffer_byte(f->out, ' ');
	f->column = indent * INDENT;
	f->lines++;
	f->fresh = true;
	f->line = false;
}

/* Ends the line and leaves one empty. */
static void blank_line(struct formatter *f)
{
	if (!f->fresh)
		buffer_byte(f->out, '\n');
	f->fresh = false;
}

static void put(struct formatter *f, struct slice text)
{
	buffer_slice(f->out, text);
	f->column += columns_of(text);
	f->fresh = false;
}

/* Line breaks of the source between the last thing written and `at`. */
static size_t breaks_before(const struct formatter *f, size_t at)
{
	size_t n = 0;

	for (size_t i = f->last; i < at; i++)
		n += f->tokens->text.p[i] == '\n';
	return n;
}

static struct slice comment_text(const struct formatter *f, const struct lexer_comment *c)
{
	struct slice text = slice_of(f->tokens->text.p + c->begin, c->end - c->begin);

	while (text.n > 0 && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t' ||
			      text.p[text.n - 1] == '\r'))
		text.n--;
	return text;
}

/* Comments before the token: behind what they followed, or on lines of their own. */
static void comments(struct formatter *f, size_t token, size_t indent, bool statement)
{
	const struct tokens *t = f->tokens;

	for (; f->comment < t->n_comments && t->comments[f->comment].token <= token; f->comment++) {
		const struct lexer_comment *c = &t->comments[f->comment];
		size_t breaks = breaks_before(f, c->begin);
		struct slice text = comment_text(f, c);
		bool first = f->out->n == 0;

		if (breaks > 0 || first || f->line) {
			if (!first && statement && breaks > 1)
				blank_line(f);
			newline(f, indent);
		} else if (!f->fresh) {
			put(f, SLICE(" "));
		}
		put(f, text);
		f->last = c->end;
		/* A comment that had a line of its own keeps it. */
		f->line = text.n < 2 || text.p[1] != '*' || breaks > 0 || first;
	}
}

static void token_put(struct formatter *f, size_t i)
{
	if (i > 0 && !f->fresh && blank_before(f, i))
		put(f, SLICE(" "));
	put(f, spelling(f, i));
	f->last = f->tokens->items[i].end;
}

/* ---- where lines are broken ---- */

static bool is_hard(const struct token *t, unsigned depth)
{
	return t->depth == depth && (t->layout == LAYOUT_CLAUSE || t->layout == LAYOUT_STAGE ||
				     t->layout == LAYOUT_STEP);
}

/* A long line may be broken before this one. */
static bool is_soft(const struct token *t, unsigned depth)
{
	if (t->depth != depth || t->layout == LAYOUT_GLUED)
		return false;
	return t[-1].kind == TOKEN_COMMA || t->kind == TOKEN_AND || t->kind == TOKEN_OR ||
	       (t->layout == LAYOUT_OPERATOR && t->keyword != KEY_IN);
}

static bool has_comment(const struct formatter *f, size_t from, size_t to)
{
	size_t i = f->comment;

	while (i < f->tokens->n_comments && f->tokens->comments[i].token <= from)
		i++;
	return i < f->tokens->n_comments && f->tokens->comments[i].token < to;
}

static bool fits(const struct formatter *f, size_t from, size_t to, unsigned depth)
{
	size_t limit = FORMAT_COLUMNS;

	for (size_t i = from + 1; i < to; i++)
		if (f->tokens->items[i].depth == depth &&
		    f->tokens->items[i].layout == LAYOUT_CLAUSE)
			limit = FORMAT_CLAUSE_COLUMNS;
	return !has_comment(f, from, to) && f->column + 1 + width(f, from, to) <= limit;
}

/* The end of what cannot be broken from `i` on. */
static size_t chunk_end(const struct formatter *f, size_t i, size_t to, unsigned depth)
{
	for (i++; i < to; i++)
		if (is_hard(&f->tokens->items[i], depth) || is_soft(&f->tokens->items[i], depth))
			break;
	return i;
}

static void range_put(struct formatter *f, size_t from, size_t to, size_t indent);

/* Tokens at one depth, what is deeper as a range of its own. */
static void broken_put(struct formatter *f, size_t from, size_t to, size_t indent)
{
	unsigned depth = f->tokens->items[from].depth;

	for (size_t i = from; i < to;) {
		const struct token *t = &f->tokens->items[i];
		size_t end = i;

		comments(f, i, indent + 1, false);
		while (end < to && f->tokens->items[end].depth > depth)
			end++;
		if (end > i) {
			if (f->line)
				newline(f, indent + 2);
			range_put(f, i, end, indent + 1);
			i = end;
			continue;
		}
		if (i > from && is_hard(t, depth)) {
			newline(f, indent + 1);
		} else if (f->line) {
			newline(f, indent + 2);
		} else if (i > from && is_soft(t, depth)) {
			end = chunk_end(f, i, to, depth);
			if (f->column + 1 + width(f, i, end) > FORMAT_COLUMNS)
				newline(f, indent + 2);
		}
		token_put(f, i++);
	}
}

static void range_put(struct formatter *f, size_t from, size_t to, size_t indent)
{
	if (!fits(f, from, to, f->tokens->items[from].depth)) {
		broken_put(f, from, to, indent);
		return;
	}
	for (size_t i = from; i < to; i++)
		token_put(f, i);
}

/* ---- statements ---- */

static void statements_put(struct formatter *f, size_t from, size_t to, size_t indent);

static size_t statement_end(const struct formatter *f, size_t from, size_t to)
{
	const struct token *items = f->tokens->items;
	size_t i = from + 1;

	while (i < to &&
	       !(items[i].depth == items[from].depth &&
		 (items[i].layout == LAYOUT_STATEMENT || items[i].kind == TOKEN_SEMICOLON)))
		i++;
	return i;
}

static void statement_put(struct formatter *f, size_t from, size_t to, size_t indent)
{
	const struct token *items = f->tokens->items;
	unsigned depth = items[from].depth;
	size_t open = from, close, lines = f->lines;

	while (open < to && !(items[open].layout == LAYOUT_OPEN && items[open].depth == depth))
		open++;
	range_put(f, from, open, indent);
	if (open == to)
		return;
	comments(f, open, indent + 1, false);
	if (f->line || f->lines > lines)
		newline(f, indent);
	token_put(f, open);
	for (close = open + 1; close < to && items[close].depth > depth;)
		close++;
	statements_put(f, open + 1, close, indent + 1);
	if (close < to) {
		comments(f, close, indent + 1, true);
		newline(f, indent);
		token_put(f, close);
	}
}

static void statements_put(struct formatter *f, size_t from, size_t to, size_t indent)
{
	const struct token *items = f->tokens->items;
	bool any = false;

	for (size_t i = from; i < to;) {
		size_t end;

		if (items[i].kind == TOKEN_SEMICOLON) {
			/* One is enough, and none is needed before the first. */
			if (any && items[i - 1].kind != TOKEN_SEMICOLON) {
				comments(f, i, indent, true);
				if (f->line)
					newline(f, indent);
				token_put(f, i);
			}
			f->last = f->comment < f->tokens->n_comments &&
						  f->tokens->comments[f->comment].token <= i
					  ? f->last
					  : items[i].end;
			i++;
			continue;
		}
		comments(f, i, indent, true);
		if (f->out->n > 0 && (any || f->line) && breaks_before(f, items[i].begin) > 1)
			blank_line(f);
		newline(f, indent);
		end = statement_end(f, i, to);
		statement_put(f, i, end, indent);
		any = true;
		i = end;
	}
}

int lang_format(struct slice text, enum lang_dialect dialect, struct arena *arena,
		struct diags *diags, struct buffer *out)
{
	_cleanup_(tokens_done)
	struct tokens tokens = {0};
	_cleanup_(buffer_done)
	struct buffer formatted = {0};
	struct ast_program *program;
	struct formatter f = {.tokens = &tokens, .out = &formatted, .fresh = true};
	int r = tokens_read(&tokens, text, diags);

	if (r < 0)
		return r;
	r = lang_parse_tokens(&tokens, dialect, arena, diags, &program);
	if (r < 0 || diags->errors > 0)
		return r;
	statements_put(&f, 0, tokens.n - 1, 0);
	comments(&f, tokens.n - 1, 0, true);
	if (formatted.n > 0)
		buffer_byte(&formatted, '\n');
	if (formatted.failed)
		return -ENOMEM;
	buffer_slice(out, buffer_get(&formatted));
	return out->failed ? -ENOMEM : 0;
}
