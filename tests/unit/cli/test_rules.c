/* Files of rules, taken apart. */
#include "t.h"

#include <stdio.h>

#include "cli/rules.h"
#include "lang/ast.h"
#include "lang/parse.h"

/* Rules' names, ", " between them; checks that each text has one unnamed query and parses. */
static void names_of(const char *text, char *out, size_t room)
{
	struct arena arena = {0};
	struct rule *rules = NULL;
	struct diags diags;
	size_t n = 0, at = 0;

	out[0] = 0;
	diags_init(&diags, &arena);
	assert_int_equal(rules_read(slice_cstr(text), &arena, &diags, &rules, &n), 0);
	for (size_t i = 0; i < n; i++) {
		struct ast_program *program = NULL;
		size_t unnamed = 0;

		at += (size_t)snprintf(out + at, room - at, "%s%.*s", i ? ", " : "",
				       SLICE_ARG(rules[i].name));
		assert_int_equal(rules[i].text.n, strlen(text));
		assert_int_equal(
			lang_parse(rules[i].text, DIALECT_CAUSETQL, &arena, &diags, &program), 0);
		if (diags.errors)
			fail_msg("'%.*s' does not parse", SLICE_ARG(rules[i].text));
		for (struct ast_statement *s = program->first; s; s = s->next)
			unnamed += s->kind == AST_STATEMENT_QUERY && s->name.n == 0;
		assert_int_equal(unnamed, 1);
	}
	arena_done(&arena);
}

static void each_query_is_a_rule_unless_another_uses_it(void **state)
{
	static const struct {
		const char *text, *names;
	} rows[] = {
		{"{ status = error }", "line 1"},
		{"a: { status = error };\nb: { name = \"x\" }", "a, b"},
		{"a: { status = error }\nb: { name = \"x\" }\n", "a, b"},
		{"{ status = error };\n\n{ name = \"x\" };", "line 1, line 3"},
		{"slow: From s In spans Where s.duration > 1s Select s.trace_id;\n"
		 "bad: From x In slow Select x.trace_id",
		 "bad"},
		{"Tracepoint T = { name = \"t\" };\nrule: From t In T Select t.trace_id", "rule"},
		{"# only a remark\n", ""},
		{"a: {};\n{ name = \"b\" }\nc: {}", "a, line 2, c"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char names[200];

		names_of(rows[i].text, names, sizeof(names));
		assert_string_equal(names, rows[i].names);
	}
}

static void what_is_wrong_is_told_and_gives_no_rules(void **state)
{
	struct arena arena = {0};
	struct rule *rules = NULL;
	struct diags diags;
	size_t n = 7;

	diags_init(&diags, &arena);
	assert_int_equal(rules_read(SLICE("a: { name = "), &arena, &diags, &rules, &n), 0);
	assert_true(diags.errors > 0);
	assert_int_equal(n, 0);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_query_is_a_rule_unless_another_uses_it),
		cmocka_unit_test(what_is_wrong_is_told_and_gives_no_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
