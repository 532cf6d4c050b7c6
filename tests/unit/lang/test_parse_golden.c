/* tests/unit/lang/test_parse_golden.c - what the papers, Tempo and our own pages print parses, byte
 * for byte, into the trees of tests/golden/lang/<name>.ast.  GOLDEN_WRITE=1 writes them. */
#include "t.h"

#include "golden.h"
#include "lang/ast_dump.h"
#include "lang/parse.h"

static const struct {
	const char *name;
	enum lang_dialect dialect;
} files[] = {
	{"paper_queries", DIALECT_CAUSETQL}, /* Pivot Tracing, Q1-Q9, with its U+2212 */
	{"table1", DIALECT_CAUSETQL},        /* its table of operations */
	{"figure8", DIALECT_CAUSETQL},       /* Canopy, (a)-(f) */
	{"fay", DIALECT_CAUSETQL},
	{"clauses", DIALECT_CAUSETQL},
	{"sequence", DIALECT_CAUSETQL},
	{"dataset", DIALECT_CAUSETQL},
	{"tracepoints", DIALECT_CAUSETQL},
	{"traceql_structural", DIALECT_CAUSETQL},
	{"traceql_pipelines", DIALECT_CAUSETQL},
	{"traceql_metrics", DIALECT_CAUSETQL},
	{"traceql_intrinsics", DIALECT_CAUSETQL},
	{"traceql_precedence", DIALECT_TRACEQL},
};

static void golden_write(const char *name, struct slice content)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", getenv("GOLDEN"), name);
	f = fopen(path, "wb");
	assert_non_null(f);
	fwrite(content.p, 1, content.n, f);
	fclose(f);
}

static void check_one(const char *name, enum lang_dialect dialect)
{
	struct buffer text = {0}, tree = {0}, wanted = {0};
	struct ast_program *program = NULL;
	struct arena arena = {0};
	struct diags diags;
	char path[200];

	snprintf(path, sizeof(path), "lang/%s.cq", name);
	assert_true(golden_load(path, &text));
	diags_init(&diags, &arena);
	assert_int_equal(lang_parse(buffer_get(&text), dialect, &arena, &diags, &program), 0);
	ast_dump(program, &tree);
	diags_format(&diags, buffer_get(&text), &tree);
	snprintf(path, sizeof(path), "lang/%s.ast", name);
	if (getenv("GOLDEN_WRITE"))
		golden_write(path, buffer_get(&tree));
	assert_true(golden_load(path, &wanted));
	if (!slice_eq(buffer_get(&tree), buffer_get(&wanted)))
		print_error("%s:\n%s", name, buffer_cstr(&tree));
	assert_slice_equal(buffer_get(&tree), buffer_get(&wanted));
	assert_int_equal(diags.errors, 0);
	buffer_done(&text);
	buffer_done(&tree);
	buffer_done(&wanted);
	arena_done(&arena);
}

static void texts_parse_into_the_saved_trees(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		check_one(files[i].name, files[i].dialect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_parse_into_the_saved_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
