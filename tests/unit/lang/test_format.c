/* tests/unit/lang/test_format.c - one form; the same tree; twice is once. */
#include "t.h"

#include "golden.h"
#include "lang/ast_dump.h"
#include "lang/format.h"
#include "lang/parse.h"

static void format(struct slice text, enum lang_dialect dialect, struct buffer *out)
{
	struct arena arena = {0};
	struct diags diags;

	diags_init(&diags, &arena);
	assert_int_equal(lang_format(text, dialect, &arena, &diags, out), 0);
	arena_done(&arena);
}

static void tree(struct slice text, enum lang_dialect dialect, struct buffer *out)
{
	struct arena arena = {0};
	struct ast_program *program;
	struct diags diags;

	diags_init(&diags, &arena);
	assert_int_equal(lang_parse(text, dialect, &arena, &diags, &program), 0);
	ast_dump(program, out);
	arena_done(&arena);
}

static void texts_have_one_form(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"", ""},
		{"  {  }  ", "{}\n"},
		{"{span.foo-bar=1}", "{ span.foo-bar = 1 }\n"},
		{"FROM e IN spans SELECT COUNT", "From e In spans Select COUNT\n"},
		{"a;;b ;c", "a;\nb;\nc\n"},
		{"x\xe2\x88\x92y", "x - y\n"},
		{"- - x", "--x\n"},
		{"a  IN [1,2]  AND  NOT b", "a in [1, 2] and not b\n"},
		{"rate () by ( x )", "rate() by(x)\n"},
		{"Q1 :From e In x Select e . y", NULL},
		{"Q1 :From e In x Select e.y", "Q1: From e In x Select e.y\n"},
		{"// a\n\n\n\n// b\na // c\n", "// a\n\n// b\na // c\n"},
		{"a\n\n\n\nb\nc", "a\n\nb\nc\n"},
		{"From averyveryverylongalias In averyveryverylongsource Where averyveryverylongalias.x = 1 "
		 "Select averyveryverylongalias.y",
		 "From averyveryverylongalias In averyveryverylongsource\n"
		 "  Where averyveryverylongalias.x = 1\n"
		 "  Select averyveryverylongalias.y\n"},
		{"{ .aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1 && .bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb = 2 && "
		 ".ccccccccccccccccccccccccccccccc = 3 }",
		 "{ .aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1 && .bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb = 2\n"
		 "    && .ccccccccccccccccccccccccccccccc = 3 }\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buffer out = {0};

		format(slice_cstr(rows[i].text), DIALECT_CAUSETQL, &out);
		if (rows[i].wanted)
			assert_string_equal(buffer_cstr(&out), rows[i].wanted);
		buffer_done(&out);
	}
}

static void comments_stay_where_they_are(void **state)
{
	static const char text[] = "From e In x // behind\n"
				   "      // by itself\n"
				   " Select /* inside */ e.a, // why\n"
				   " e.b\n";
	static const char wanted[] = "From e In x // behind\n"
				     "  // by itself\n"
				     "  Select /* inside */ e.a, // why\n"
				     "    e.b\n";
	struct buffer out = {0};

	format(slice_cstr(text), DIALECT_CAUSETQL, &out);
	assert_string_equal(buffer_cstr(&out), wanted);
	buffer_done(&out);
}

static void a_text_with_mistakes_is_not_written(void **state)
{
	struct buffer out = {0};
	struct arena arena = {0};
	struct diags diags;

	diags_init(&diags, &arena);
	assert_int_equal(lang_format(SLICE("{ .a = "), DIALECT_CAUSETQL, &arena, &diags, &out), 0);
	assert_true(diags.errors > 0);
	assert_int_equal(out.n, 0);
	arena_done(&arena);
}

static void formatting_keeps_the_tree_and_twice_is_once(void **state)
{
	static const char *const files[] = {
		"paper_queries",
		"table1",
		"figure8",
		"fay",
		"clauses",
		"sequence",
		"dataset",
		"tracepoints",
		"traceql_structural",
		"traceql_pipelines",
		"traceql_metrics",
		"traceql_intrinsics",
		"traceql_precedence",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		enum lang_dialect dialect = strcmp(files[i], "traceql_precedence") == 0
						    ? DIALECT_TRACEQL
						    : DIALECT_CAUSETQL;
		struct buffer text = {0}, once = {0}, twice = {0}, before = {0}, after = {0};
		char path[100];

		snprintf(path, sizeof(path), "lang/%s.cq", files[i]);
		assert_true(golden_load(path, &text));
		format(buffer_get(&text), dialect, &once);
		assert_true(once.n > 0);
		format(buffer_get(&once), dialect, &twice);
		assert_string_equal(buffer_cstr(&once), buffer_cstr(&twice));
		tree(buffer_get(&text), dialect, &before);
		tree(buffer_get(&once), dialect, &after);
		assert_string_equal(buffer_cstr(&before), buffer_cstr(&after));
		buffer_done(&text);
		buffer_done(&once);
		buffer_done(&twice);
		buffer_done(&before);
		buffer_done(&after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_have_one_form),
		cmocka_unit_test(comments_stay_where_they_are),
		cmocka_unit_test(a_text_with_mistakes_is_not_written),
		cmocka_unit_test(formatting_keeps_the_tree_and_twice_is_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
