/* cli/rules.c - a file of queries that must return nothing, taken apart into its rules. */
#include "cli/rules.h"

#include <errno.h>

#include "lang/ast.h"
#include "lang/parse.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* Does the name stand in the text as a word?  In a comment or a string it counts, too: better a
 * rule less than a helper that is taken for one, and who names a rule after a word can choose
 * another. */
static bool mentions(struct slice text, struct slice name)
{
	for (size_t i = 0; i + name.n <= text.n; i++) {
		if (memcmp(text.p + i, name.p, name.n) != 0)
			continue;
		if ((i == 0 || !is_word(text.p[i - 1])) &&
		    (i + name.n == text.n || !is_word(text.p[i + name.n])))
			return true;
	}
	return false;
}

static struct slice piece(struct slice text, struct ast_range range)
{
	return slice_of(text.p + range.begin, range.end - range.begin);
}

static bool is_rule(const struct ast_program *program, const struct ast_statement *s)
{
	if (s->kind != AST_STATEMENT_QUERY)
		return false;
	if (s->name.n == 0)
		return true;
	for (const struct ast_statement *other = program->first; other; other = other->next)
		if (other != s && mentions(piece(program->text, other->range), s->name))
			return false;
	return true;
}

static void blank(char *text, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		if (text[i] != '\n')
			text[i] = ' ';
}

/* Takes the label away; a ';' stays in its place where the statement could otherwise be read as
 * going on with the one before. */
static void unlabel(char *text, const struct ast_statement *s)
{
	uint32_t end = s->name_range.end, before = s->range.begin;

	while (text[end] != ':' && text[end] != '=')
		end++;
	blank(text, s->range.begin, end + 1);
	while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\n'))
		before--;
	if (before > 0 && text[before - 1] != ';')
		text[end] = ';';
}

static int rule_make(const struct ast_program *program, const struct ast_statement *rule,
		     struct arena *arena, struct rule *ret_rule)
{
	char *text = (char *)arena_dup(arena, program->text).p;

	if (!text)
		return -ENOMEM;
	if (rule->name.n)
		unlabel(text, rule);
	for (const struct ast_statement *s = program->first; s; s = s->next)
		if (s != rule && s->kind == AST_STATEMENT_QUERY && s->name.n == 0)
			blank(text, s->range.begin, s->range.end);
	ret_rule->text = slice_of(text, program->text.n);
	ret_rule->name = rule->name;
	if (rule->name.n == 0)
		ret_rule->name = slice_cstr(arena_printf(
			arena, "line %u", diag_place(program->text, rule->range.begin).line));
	return ret_rule->name.p ? 0 : -ENOMEM;
}

/* Statements that are blanked out leave their ';' behind: one alone is no statement. */
static void tidy(struct rule *rule)
{
	char *text = (char *)(uintptr_t)rule->text.p; /* made above, in the arena */
	bool open = false;

	for (size_t i = 0; i < rule->text.n; i++) {
		if (text[i] == ';' && !open)
			text[i] = ' ';
		else if (text[i] == ';')
			open = false;
		else if (text[i] != ' ' && text[i] != '\n' && text[i] != '\t' && text[i] != '\r')
			open = true;
	}
}

int rules_read(struct slice text, struct arena *arena, struct diags *diags, struct rule **ret_rules,
	       size_t *ret_n)
{
	struct ast_program *program = NULL;
	struct rule *rules;
	size_t n = 0;
	int r = lang_parse(text, DIALECT_CAUSETQL, arena, diags, &program);

	*ret_n = 0;
	if (r < 0 || diags->errors)
		return r;
	rules = arena_zalloc(arena, program->n + 1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	for (const struct ast_statement *s = program->first; s && r == 0; s = s->next)
		if (is_rule(program, s)) {
			r = rule_make(program, s, arena, &rules[n]);
			if (r == 0)
				tidy(&rules[n++]);
		}
	*ret_rules = rules;
	*ret_n = n;
	return r;
}
