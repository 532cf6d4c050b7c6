/* Plans as text: what is woven live is what the paper prints, and what cannot be says why. */
#include "t.h"

#include "base/buffer.h"
#include "lang/check.h"
#include "lang/explain.h"
#include "lang/lower.h"
#include "lang/rewrite.h"

/* The plan of the last query of a text. */
static void plan_of(const char *text, struct arena *arena, unsigned off, struct plan *plan)
{
	struct check_options check = {0};
	struct ast_program *program;
	struct diags diags;
	struct buffer out = {0};
	const struct ast_statement *last = NULL;

	diags_init(&diags, arena);
	assert_int_equal(
		lang_compile(slice_cstr(text), DIALECT_CAUSETQL, &check, arena, &diags, &program),
		0);
	if (diags.errors) {
		diags_format(&diags, slice_cstr(text), &out);
		fail_msg("%s\n%s", text, buffer_cstr(&out));
	}
	for (const struct ast_statement *s = program->first; s; s = s->next)
		if (s->kind == AST_STATEMENT_QUERY)
			last = s;
	assert_non_null(last);
	assert_int_equal(lang_lower(program, last->query, &diags, plan), 0);
	assert_int_equal(plan_rewrite(plan, off), 0);
}

static void check_live(const char *text, const char *want)
{
	struct arena arena = {0};
	struct plan plan;
	struct buffer out = {0};

	plan_of(text, &arena, 0, &plan);
	plan_explain_live(&plan, &out);
	assert_string_equal(buffer_cstr(&out), want);
	buffer_done(&out);
	plan_done(&plan);
	arena_done(&arena);
}

static const char q2[] = "From incr In DataNodeMetrics.incrBytesRead\n"
			 "Join cl In First(ClientProtocols) On cl -> incr\n"
			 "GroupBy cl.procName\n"
			 "Select cl.procName, SUM(incr.delta)";

static void q2_compiles_to_the_papers_advice(void **state)
{
	(void)state;
	check_live(q2, "ClientProtocols:\n"
		       "  OBSERVE procName\n"
		       "  PACK-FIRST procName\n"
		       "  # at most 1 tuple travels with a request\n"
		       "DataNodeMetrics.incrBytesRead:\n"
		       "  OBSERVE delta\n"
		       "  UNPACK procName\n"
		       "  EMIT procName, SUM(delta)\n");
}

static void aggregates_are_packed_before_they_travel(void **state)
{
	(void)state;
	check_live("From q In Query Join p In Disk On p -> q GroupBy q.user Select q.user, "
		   "SUM(p.bytes), COUNT",
		   "Disk:\n"
		   "  OBSERVE bytes\n"
		   "  PACK SUM(bytes), COUNT\n"
		   "  # one tuple travels with a request\n"
		   "Query:\n"
		   "  OBSERVE user\n"
		   "  UNPACK SUM(bytes), COUNT\n"
		   "  EMIT user, SUM(bytes), COUNT\n");
}

static void what_cannot_run_live_names_the_cheapest_way_that_can(void **state)
{
	static const struct {
		const char *text, *refusal, *instead;
	} rows[] = {
		{"From a In A Join b In B On b => a Select a.x", "refused live: =>", "MostRecent"},
		{"From t In traces Select t.duration", "refused live: traces", "root@return"},
		{"From e In edges Select e.type", "refused live: edges", "On a -> receive"},
		{"{ name = \"a\" } ~ { name = \"b\" }", "refused live: ~", "On a -> b"},
		{"ExecUnits | Points | First", "refused live: a pipe over elements", "Dataset"},
		{"From a In A Join b In B On b.k == a.k Select a.k",
		 "refused live: a join without Within", "Within 5s"},
		{"Sequence [a In A] ![b In B]", "refused live: a trailing ![ ]", "closes"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena = {0};
		struct plan plan;
		struct buffer out = {0};

		plan_of(rows[i].text, &arena, 0, &plan);
		plan_explain_live(&plan, &out);
		if (!strstr(buffer_cstr(&out), rows[i].refusal) ||
		    !strstr(buffer_cstr(&out), rows[i].instead))
			fail_msg("%s\n%s", rows[i].text, buffer_cstr(&out));
		buffer_done(&out);
		plan_done(&plan);
		arena_done(&arena);
	}
}

static void each_rule_shows_in_the_plan(void **state)
{
	static const struct {
		unsigned rule;
		const char *text, *with;
	} rows[] = {
		{REWRITE_SELECTION,
		 "From q In Q Join p In P On p -> q Where p.x > 3 && q.y < 2 Select q.z",
		 "where name = \"P\" && .x > 3"},
		{REWRITE_AGGREGATION,
		 "From q In Q Join p In P On p -> q GroupBy q.z Select q.z, SUM(p.x)",
		 "pack: SUM(x)"},
		{REWRITE_TOP_N, "From q In Q Select q.z OrderBy q.z Limit 7", "keep 7"},
		{REWRITE_PROJECTION,
		 "From s In (From q In Q Select q.z As z, q.host As u) Select s.z",
		 "Q as q where name = \"Q\": .z\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int with = 0; with < 2; with++) {
			struct arena arena = {0};
			struct plan plan;
			struct buffer out = {0};
			bool found;

			plan_of(rows[i].text, &arena, with ? 0 : rows[i].rule, &plan);
			plan_explain(&plan, &out);
			found = strstr(buffer_cstr(&out), rows[i].with) != NULL;
			if (found != (with == 1))
				fail_msg("%s\n%s", with ? "with" : "without", buffer_cstr(&out));
			buffer_done(&out);
			plan_done(&plan);
			arena_done(&arena);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(q2_compiles_to_the_papers_advice),
		cmocka_unit_test(aggregates_are_packed_before_they_travel),
		cmocka_unit_test(what_cannot_run_live_names_the_cheapest_way_that_can),
		cmocka_unit_test(each_rule_shows_in_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
