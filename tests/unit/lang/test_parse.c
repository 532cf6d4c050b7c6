/* tests/unit/lang/test_parse.c - precedence, recovery, limits. */
#include "t.h"

#include "lang/ast_dump.h"
#include "lang/parse.h"

struct parsed {
	struct arena arena;
	struct diags diags;
	struct ast_program *program;
	struct buffer out;
};

static void parse_in(struct parsed *p, struct slice text, enum lang_dialect dialect)
{
	*p = (struct parsed){0};
	diags_init(&p->diags, &p->arena);
	assert_int_equal(lang_parse(text, dialect, &p->arena, &p->diags, &p->program), 0);
}

static void parsed_done(struct parsed *p)
{
	arena_done(&p->arena);
	buffer_done(&p->out);
}

/* The tree, then the diagnostics. */
static void assert_parse(const char *text, enum lang_dialect dialect, const char *wanted)
{
	struct parsed p;

	parse_in(&p, slice_cstr(text), dialect);
	ast_dump(p.program, &p.out);
	diags_format(&p.diags, slice_cstr(text), &p.out);
	assert_string_equal(buffer_cstr(&p.out), wanted);
	parsed_done(&p);
}

static void operators_bind_as_documented(void **state)
{
	static const struct {
		const char *text, *tree;
	} rows[] = {
		{"a || b && c", "(|| a (&& b c))\n"},
		{"a or b and c", "(|| a (&& b c))\n"},
		{"a && b = c + d * e ^ f", "(&& a (= b (+ c (* d (^ e f)))))\n"},
		{"a ^ b ^ c", "(^ a (^ b c))\n"},
		{"a - b - c", "(- (- a b) c)\n"},
		{"-a ^ b", "(^ (- a) b)\n"},
		{"!a && not b", "(&& (! a) (! b))\n"},
		{"a -> b && c => d", "(&& (-> a b) (=> c d))\n"},
		{"a !-> b || c !=> d", "(|| (!-> a b) (!=> c d))\n"},
		{"a \xe2\x86\x92 b", "(-> a b)\n"},
		{"a \xe2\x89\xa0 b", "(!= a b)\n"},
		{"a \xe2\x89\xa4 b && c \xe2\x89\xa5 d", "(&& (<= a b) (>= c d))\n"},
		{"a \xe2\x88\x92 b", "(- a b)\n"},
		{"a.b-c", "(- a.b c)\n"},
		{"span.b-c", "span.b-c\n"},
		{"span.b - c", "(- span.b c)\n"},
		{"a.5.2xx", "a.5.2xx\n"},
		{".5xx", ".5xx\n"},
		{".5 + 0.5 + 1e3 + 0x1F", "(+ (+ (+ 0.5 0.5) 1000) 31)\n"},
		{"1h30m", "5400000000000ns\n"},
		{"rate() by (x, y)", "(by (rate) x y)\n"},
		{"x[1][2]", "(index (index x 1) 2)\n"},
		{"f(a | b, c)", "(f (pipe a | b) c)\n"},
		{"(a)", "a\n"},
		{"a\nb\nc", "a\nb\nc\n"},
		{"x in [1, 2] && y in (f)", "(&& (in x (list 1 2)) (in y f))\n"},
		{"trace:duration > 2s", "(> trace:duration 2000000000ns)\n"},
		{"x: trace:duration", "(define x trace:duration)\n"},
		{"true || nil = false", "(|| true (= nil false))\n"},
		{"'it\\'s' + \"\\u00e9\\n\" + `\\n`",
		 "(+ (+ \"it's\" \"\xc3\xa9\\x0a\") \"\\\\n\")\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_parse(rows[i].text, DIALECT_CAUSETQL, rows[i].tree);
}

static void tempos_and_and_or_bind_equally(void **state)
{
	assert_parse("{a} || {b} && {c}", DIALECT_CAUSETQL,
		     "(|| (spanset a) (&& (spanset b) (spanset c)))\n");
	assert_parse("{a} || {b} && {c}", DIALECT_TRACEQL,
		     "(&& (|| (spanset a) (spanset b)) (spanset c))\n");
	assert_parse("{.a || .b && .c}", DIALECT_TRACEQL, "(spanset (&& (|| .a .b) .c))\n");
}

static void mistakes_are_reported_and_reading_goes_on(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"From e In spans Wher e.a = 1 Select e.b",
		 "(from e spans (select e.b))\n"
		 "1:17: E101: 'Wher' begins no clause; did you mean 'Where'?; fix: Where\n"},
		{"From e In spans Where Select e.b",
		 "(from e spans (where <error>) (select e.b))\n"
		 "1:23: E101: expected an expression before the next clause, found 'Select'\n"},
		{"From e In spans Where e.a = GroupBy e.b Limit x Select COUNT",
		 "(from e spans (where (= e.a <error>)) (group e.b) (limit 0) (select COUNT))\n"
		 "1:29: E101: expected an expression before the next clause, found 'GroupBy'\n"
		 "1:47: E101: expected how many rows, found 'x'\n"},
		{"{ .a = } | count() > ",
		 "(pipe (spanset (= .a <error>)) | (> (count) <error>))\n"
		 "1:8: E101: expected an expression, found '}'\n"
		 "1:22: E101: expected an expression, found the end of the text\n"},
		{"f(a, b", "(f a b)\n1:2: E102: '(' is not closed by ')'\n"},
		{"{a} {b}",
		 "(spanset a)\n(spanset b)\n"
		 "1:5: E101: a statement that begins with '{' needs ';' before it; fix: ; \n"},
		{"a ) b",
		 "a\n1:3: E101: expected the end of the statement or an operator, found ')'\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_parse(rows[i].text, DIALECT_CAUSETQL, rows[i].wanted);
}

static void words_that_are_no_tokens_are_explained(void **state)
{
	static const struct {
		const char *text, *diag;
	} rows[] = {
		{"\"abc", "1:1: E004: this string is not closed on its line; end it with \"\n"},
		{"a /* b", "1:3: E006: this comment is not closed; end it with */\n"},
		{"a & b", "1:3: E002: '&' has no meaning here; fix: &&\n"},
		{"5x", "1:1: E003: '5x' is neither a number nor a duration (5m, 1h30m, 200us)\n"},
		{"99999999999999999999",
		 "1:1: E003: an integer is at most 9223372036854775807; write "
		 "1e19 for a number that large\n"},
		{"\"\\d\"", "1:2: E005: \\d is no escape; write \\\\ for a backslash, or use "
			    "`\xe2\x80\xa6`; fix: \\\\\n"},
		{"a = \xff", "1:5: E001: this byte is not UTF-8\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct parsed p;

		parse_in(&p, slice_cstr(rows[i].text), DIALECT_CAUSETQL);
		diags_sort(&p.diags);
		diags_format(&p.diags, slice_cstr(rows[i].text), &p.out);
		assert_true(strncmp(buffer_cstr(&p.out), rows[i].diag, strlen(rows[i].diag)) == 0);
		parsed_done(&p);
	}
}

static void a_sequence_has_two_steps_and_until_is_not_negated(void **state)
{
	assert_parse("Sequence [a In x]", DIALECT_CAUSETQL,
		     "(sequence (step a x))\n"
		     "1:1: E106: a sequence needs at least two steps, [a In \xe2\x80\xa6] [b In "
		     "\xe2\x80\xa6], and has 1\n");
	assert_parse("Sequence [a] [b] Until ![c]", DIALECT_CAUSETQL,
		     "(sequence (step a) (step b) (until c))\n"
		     "1:24: E105: Until ends a sequence when something happens; it cannot wait for "
		     "what does not. Use a step ![\xe2\x80\xa6] instead\n");
}

/* Text made of `start`, n times `one` and then `end`. */
static void assert_too_deep(const char *start, const char *one, const char *end, size_t n)
{
	struct buffer text = {0};
	struct parsed p;

	buffer_text(&text, start);
	for (size_t i = 0; i < n; i++)
		buffer_text(&text, one);
	buffer_text(&text, end);
	parse_in(&p, buffer_get(&text), DIALECT_CAUSETQL);
	assert_true(p.diags.errors > 0);
	assert_int_equal(p.diags.items[0].code, DIAG_TOO_DEEP);
	ast_dump(p.program, &p.out);
	parsed_done(&p);
	buffer_done(&text);
}

static void nesting_is_limited(void **state)
{
	assert_too_deep("", "(", "a", 100000);
	assert_too_deep("", "{", "a", 100000);
	assert_too_deep("", "[", "a", 100000);
	assert_too_deep("", "-", "a", 100000);
	assert_too_deep("", "not ", "a", 100000);
	assert_too_deep("", "f(", "a", 100000);
	assert_too_deep("", "a + ", "a", 100000);
	assert_too_deep("", "a ^ ", "a", 100000);
	assert_too_deep("", "From x In (", "a", 50000);
	assert_too_deep("", "From x In y Union ", "From x In y", 50000);
	assert_too_deep("From x In ", "First(", "a", 50000);
	assert_too_deep("", "Dataset d { ", "a", 50000);
}

static void reports_are_limited(void **state)
{
	struct buffer text = {0};
	struct parsed p;

	for (size_t i = 0; i < 1000; i++)
		buffer_text(&text, "a = ;\n");
	parse_in(&p, buffer_get(&text), DIALECT_CAUSETQL);
	assert_int_equal(p.diags.errors, 1000);
	assert_int_equal(p.diags.n, DIAG_MAX);
	assert_int_equal(p.diags.more, 1000 - DIAG_MAX);
	parsed_done(&p);
	buffer_done(&text);
}

static void so_many_statements_are_enough(void **state)
{
	struct buffer text = {0};
	struct parsed p;

	for (size_t i = 0; i < LANG_MAX_STATEMENTS + 5; i++)
		buffer_text(&text, "a;");
	parse_in(&p, buffer_get(&text), DIALECT_CAUSETQL);
	assert_int_equal(p.program->n, LANG_MAX_STATEMENTS);
	assert_int_equal(p.diags.n, 1);
	assert_int_equal(p.diags.items[0].code, DIAG_TOO_DEEP);
	parsed_done(&p);
	buffer_done(&text);
}

static void too_long_a_text_is_refused(void **state)
{
	char *text = calloc(1, LANG_MAX_TEXT + 2);
	struct parsed p;

	assert_non_null(text);
	memset(text, 'a', LANG_MAX_TEXT + 1);
	parse_in(&p, slice_of(text, LANG_MAX_TEXT + 1), DIALECT_CAUSETQL);
	assert_int_equal(p.diags.errors, 1);
	assert_int_equal(p.diags.items[0].code, DIAG_TOO_LONG);
	parsed_done(&p);
	free(text);
}

static void nothing_is_an_empty_program(void **state)
{
	assert_parse("", DIALECT_CAUSETQL, "");
	assert_parse(" // only a comment", DIALECT_CAUSETQL, "");
	assert_parse(";;", DIALECT_CAUSETQL, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_bind_as_documented),
		cmocka_unit_test(tempos_and_and_or_bind_equally),
		cmocka_unit_test(mistakes_are_reported_and_reading_goes_on),
		cmocka_unit_test(words_that_are_no_tokens_are_explained),
		cmocka_unit_test(a_sequence_has_two_steps_and_until_is_not_negated),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(reports_are_limited),
		cmocka_unit_test(so_many_statements_are_enough),
		cmocka_unit_test(too_long_a_text_is_refused),
		cmocka_unit_test(nothing_is_an_empty_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
