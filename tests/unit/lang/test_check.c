/* tests/unit/lang/test_check.c - what makes sense passes; nonsense gets a position, both types and
 * a way out. */
#include "t.h"

#include <errno.h>

#include "golden.h"
#include "lang/check.h"

struct checked {
	struct arena arena;
	struct diags diags;
	struct ast_program *program;
	struct buffer out;
};

static void check_with(struct checked *c, struct slice text, const struct check_options *options)
{
	*c = (struct checked){0};
	diags_init(&c->diags, &c->arena);
	assert_int_equal(
		lang_compile(text, DIALECT_CAUSETQL, options, &c->arena, &c->diags, &c->program),
		0);
	diags_format(&c->diags, text, &c->out);
}

static void checked_done(struct checked *c)
{
	arena_done(&c->arena);
	buffer_done(&c->out);
}

static void assert_diags(const char *text, const char *wanted)
{
	struct checked c;

	check_with(&c, slice_cstr(text), NULL);
	if (strcmp(buffer_cstr(&c.out), wanted) != 0)
		print_error("%s\n", text);
	assert_string_equal(buffer_cstr(&c.out), wanted);
	checked_done(&c);
}

static void what_is_printed_in_papers_and_pages_makes_sense(void **state)
{
	static const struct {
		const char *file, *wanted;
	} rows[] = {
		{"paper_queries",
		 "44:26: W101: 'end' is bound nowhere; read as 'job', what From is "
		 "about; fix: job\n"},
		{"table1", ""},
		{"figure8", ""},
		{"fay",
		 "6:56: W104: 'NonPagedPool' is read as a symbol of kernel; over stored traces "
		 "it is the string\n"},
		{"clauses", ""},
		{"sequence", ""},
		{"dataset", ""},
		{"tracepoints", ""},
		{"traceql_structural", ""},
		{"traceql_pipelines", ""},
		{"traceql_metrics", ""},
		{"traceql_intrinsics", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buffer text = {0};
		struct checked c;
		char path[100];

		snprintf(path, sizeof(path), "lang/%s.cq", rows[i].file);
		assert_true(golden_load(path, &text));
		check_with(&c, buffer_get(&text), NULL);
		assert_string_equal(buffer_cstr(&c.out), rows[i].wanted);
		checked_done(&c);
		buffer_done(&text);
	}
}

static void nonsense_is_refused_with_a_way_out(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
#include "check_cases.inc"
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_diags(rows[i].text, rows[i].wanted);
}

/* ---- definitions from elsewhere ---- */

static int define(void *context, struct slice name, struct slice *ret_text)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{"DN.Read",
		 "Tracepoint DN.Read = { name = \"read\" } Exports { delta = span.bytes, file "
		 "= .file }"},
		{"DN.Write",
		 "Tracepoint DN.Write = { name = \"write\" } Exports { delta = span.bytes }"},
		{"Slow", "Slow = From s In spans Where s.duration > 1s Select s.name, s.duration"},
		{"Broken", "Tracepoint Broken = { name = }"},
		{"Loop", "Loop = From x In Loop Select x.y"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (slice_eq(slice_cstr(rows[i].name), name)) {
			*ret_text = slice_cstr(rows[i].text);
			return 0;
		}
	return slice_eq(name, SLICE("Disk.Error")) ? -EIO : -ENOENT;
}

static void each(void *context, void (*offer)(void *data, const char *name), void *data)
{
	offer(data, "DN.Read");
	offer(data, "DN.Write");
	offer(data, "Slow");
}

static const struct lang_names names = {.define = define, .each = each};

static void definitions_from_elsewhere_are_known(void **state)
{
	static const struct check_options options = {.names = &names,
						     .unknown_tracepoints = UNKNOWN_REFUSE};
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"From e In DN.Read Select e.host, SUM(e.delta), e.file", ""},
		{"From e In DN.Read Select e.dleta",
		 "1:28: E204: the tracepoint exports no 'dleta'; did you mean 'delta'?; fix: delta\n"},
		{"From e In DN.Read Select e.span.anything", ""},
		{"From e In DN.* Select e.tracepoint, SUM(e.delta)", ""},
		{"From s In Slow Where s.duration > 2s Select s.name", ""},
		{"From s In Slow Select s.host", "1:25: E204: there is no column 'host'\n"},
		{"From e In DN.Raed Select COUNT",
		 "1:11: E202: there is no tracepoint 'DN.Raed'; did you mean 'DN.Read'?; fix: DN.Read\n"},
		{"From e In Nothing.Like.It Select COUNT",
		 "1:11: E202: there is no tracepoint 'Nothing.Like.It'; `causet tracepoints list` shows "
		 "those there are, `causet tracepoints define` makes one\n"},
		{"From e In Broken Select COUNT",
		 "1:11: E208: the definition of Broken is broken: 1:30: "
		 "E101: expected an expression, found '}'\n"},
		{"From e In Loop Select COUNT",
		 "1:11: E208: the definition of Loop is broken: 1:18: "
		 "E206: Loop is needed to define itself\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct checked c;

		check_with(&c, slice_cstr(rows[i].text), &options);
		assert_string_equal(buffer_cstr(&c.out), rows[i].wanted);
		checked_done(&c);
	}
}

static void names_nearly_known_are_told_even_where_any_name_will_do(void **state)
{
	static const struct check_options options = {.names = &names};
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"From s In spanz Select COUNT",
		 "1:11: W107: there is no tracepoint 'spanz'; did you mean 'spans'?; fix: spans\n"},
		{"From e In DN.Raed Select COUNT",
		 "1:11: W107: there is no tracepoint 'DN.Raed'; did you mean 'DN.Read'?; fix: DN.Read\n"},
		{"From e In Nothing.Like.It Select COUNT", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct checked c;

		check_with(&c, slice_cstr(rows[i].text), &options);
		assert_string_equal(buffer_cstr(&c.out), rows[i].wanted);
		assert_int_equal(c.diags.errors, 0);
		checked_done(&c);
	}
}

static void a_glob_stands_for_all_it_matches(void **state)
{
	static const struct check_options options = {.names = &names};
	struct checked c;
	const struct ast_binding *from;

	check_with(&c, SLICE("From e In DN.* Select COUNT"), &options);
	from = &c.program->first->query->clauses->from;
	assert_int_equal(from->n_sources, 2);
	assert_text(from->sources[1]->name, "DN.Write");
	assert_non_null(from->sources[1]->statement);
	checked_done(&c);
}

static void an_error_of_the_catalogue_ends_the_check(void **state)
{
	static const struct check_options options = {.names = &names};
	struct arena arena = {0};
	struct diags diags;
	struct ast_program *program;

	diags_init(&diags, &arena);
	assert_int_equal(lang_compile(SLICE("From e In Disk.Error Select COUNT"), DIALECT_CAUSETQL,
				      &options, &arena, &diags, &program),
			 -EIO);
	arena_done(&arena);
}

static void names_that_double_do_not_explode(void **state)
{
	struct buffer text = {0};
	struct checked c;

	buffer_text(&text, "A0 = { .x };\n");
	for (int i = 1; i < 100; i++)
		buffer_printf(&text, "A%d = A%d && A%d;\n", i, i - 1, i - 1);
	check_with(&c, buffer_get(&text), NULL);
	assert_true(c.diags.errors > 0);
	assert_int_equal(c.diags.items[0].code, DIAG_TOO_DEEP);
	checked_done(&c);
	buffer_clear(&text);
	buffer_text(&text, "From e In spans Let a0 = e.x\n");
	for (int i = 1; i < 100; i++)
		buffer_printf(&text, "Let a%d = a%d + a%d\n", i, i - 1, i - 1);
	buffer_text(&text, "GroupBy a99 Select a98, COUNT");
	check_with(&c, buffer_get(&text), NULL);
	assert_true(c.diags.errors > 0);
	assert_int_equal(c.diags.items[0].code, DIAG_TOO_DEEP);
	checked_done(&c);
	buffer_done(&text);
}

/* ---- what planners rely on ---- */

static void the_tree_says_what_was_found(void **state)
{
	struct checked c;
	const struct ast_clauses *q;
	const struct ast_join *join;
	const struct ast_expr *e;

	check_with(
		&c,
		SLICE("From DNop In DN.X Join getloc In First(NN.Y, 2) On getloc -> DNop && getloc.a == "
		      "DNop.b Left Join z In spans On z.trace_id == DNop.trace_id Within 5s Where "
		      "DNop.host != \"a\" Select DNop.host, z.span.http.route, z.parent.duration, COUNT"),
		NULL);
	assert_int_equal(c.diags.errors, 0);
	q = c.program->first->query->clauses;
	assert_true(q->grouped);
	assert_int_equal(q->n_keys, 3);
	assert_int_equal(q->columns.n, 4);
	assert_text(q->columns.items[0].name, "host");
	join = &q->first->join;
	assert_int_equal(join->op, OP_BEFORE);
	assert_ptr_equal(join->right, &q->from);
	assert_int_equal(join->n_keys, 1);
	assert_int_equal(join->binding.sources[0]->kind, AST_SOURCE_FILTER);
	join = &q->first->next->join;
	assert_int_equal(join->op, OP_EQ);
	assert_true(join->binding.nullable);
	e = q->select->items.items[1].expr;
	assert_int_equal(e->path.kind, AST_PATH_ATTRIBUTE);
	assert_int_equal(e->path.scope, WORD_SCOPE_SPAN);
	assert_text(e->path.key, "http.route");
	e = q->select->items.items[2].expr;
	assert_int_equal(e->path.kind, AST_PATH_FIELD);
	assert_int_equal(e->path.relative, WORD_SCOPE_PARENT);
	assert_int_equal(e->path.field->id, WF_DURATION);
	e = q->select->items.items[3].expr;
	assert_int_equal(e->kind, AST_CALL);
	assert_true(e->call.aggregate && e->call.bare);
	checked_done(&c);
}

static void structural_operators_are_told_from_comparisons(void **state)
{
	static const struct {
		const char *text;
		enum ast_op op;
	} rows[] = {
		{"{ .a } > { .b }", OP_CHILD},
		{"{ .a } >> { .b }", OP_DESCENDANT},
		{"{ .a } < { .b }", OP_PARENT},
		{"{ .a } << { .b }", OP_ANCESTOR},
		{"{ .a } ~ { .b }", OP_SIBLING},
		{"{ .a } !> { .b }", OP_NOT_CHILD},
		{"{ .a } !>> { .b }", OP_NOT_DESCENDANT},
		{"{ .a } !< { .b }", OP_NOT_PARENT},
		{"{ .a } !<< { .b }", OP_NOT_ANCESTOR},
		{"{ .a } !~ { .b }", OP_NOT_SIBLING},
		{"{ .a } &> { .b }", OP_WITH_CHILD},
		{"{ .a } &>> { .b }", OP_WITH_DESCENDANT},
		{"{ .a } &< { .b }", OP_WITH_PARENT},
		{"{ .a } &<< { .b }", OP_WITH_ANCESTOR},
		{"{ .a } &~ { .b }", OP_WITH_SIBLING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct checked c;

		check_with(&c, slice_cstr(rows[i].text), NULL);
		assert_int_equal(c.diags.errors, 0);
		assert_int_equal(c.program->first->query->head->op.op, rows[i].op);
		assert_int_equal(c.program->first->type.tag, TYPE_SPANSET);
		checked_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_in_papers_and_pages_makes_sense),
		cmocka_unit_test(nonsense_is_refused_with_a_way_out),
		cmocka_unit_test(definitions_from_elsewhere_are_known),
		cmocka_unit_test(names_nearly_known_are_told_even_where_any_name_will_do),
		cmocka_unit_test(a_glob_stands_for_all_it_matches),
		cmocka_unit_test(an_error_of_the_catalogue_ends_the_check),
		cmocka_unit_test(names_that_double_do_not_explode),
		cmocka_unit_test(the_tree_says_what_was_found),
		cmocka_unit_test(structural_operators_are_told_from_comparisons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
