/* The column path gives what a plain evaluation of the plan over the rows of every trace gives:
 * over segments and heads, with traces in several places, samples, lists, keys that stand twice. */
#include "column_t.h"

#include "exec/column_scan.h"
#include "exec/probability.h"
#include "exec/row_field.h"
#include "model/event_unique.h"
#include "sampling/second.h"
#include "store/scan.h"

/* --- the plain evaluation --- */

struct plain {
	struct query_at *run;
	const struct plan_node *node;
	struct event_ref ref;
	struct expr_env env;
	struct arena arena;
	struct sample sample;
	struct grouping groups;
	struct ordering ordering;
	bool descending;
	struct event_set set;
};

static struct value element(void *context, const struct plan_expr *e)
{
	struct plain *p = context;

	return row_field(p->ref, e, SLICE("spans"), &p->arena);
}

typedef void tuple_fn(struct plain *p, const struct value *values);

static void tuples(struct plain *p, const struct plan_node *node, const struct plan_node *top,
		   const struct value *in, tuple_fn *each);

/* Passes a tuple of `node` on to what is above it. */
static void pass(struct plain *p, const struct plan_node *node, const struct plan_node *top,
		 const struct value *values, tuple_fn *each)
{
	const struct plan_node *above = top;

	if (node == top) {
		each(p, values);
		return;
	}
	while (above->inputs[0] != node)
		above = above->inputs[0];
	tuples(p, above, top, values, each);
}

static void tuples(struct plain *p, const struct plan_node *node, const struct plan_node *top,
		   const struct value *in, tuple_fn *each)
{
	struct value out[MOST * 2];

	p->env.columns = in;
	switch (node->op) {
	case PLAN_SOURCE:
		if (node->source.predicate &&
		    !value_is_true(expr_eval(&p->env, node->source.predicate)))
			return;
		for (uint32_t i = 0; i < node->column_n; i++)
			out[i] = expr_eval(&p->env, node->source.fields[i]);
		pass(p, node, top, out, each);
		return;
	case PLAN_FILTER:
		if (value_is_true(expr_eval(&p->env, node->filter.predicate)))
			pass(p, node, top, in, each);
		return;
	case PLAN_PROJECT:
		for (uint32_t i = 0; i < node->column_n; i++)
			out[i] = expr_eval(&p->env, node->project.exprs[i]);
		pass(p, node, top, out, each);
		return;
	case PLAN_UNNEST: {
		struct value v = in[node->unnest.slots[0]];

		memcpy(out, in, node->column_n * sizeof(*out));
		for (uint32_t i = 0; i < (v.type == V_LIST ? v.n : 1); i++) {
			out[node->unnest.slots[0]] = v.type == V_LIST ? v.list[i] : v;
			pass(p, node, top, out, each);
		}
		return;
	}
	default:
		fail();
	}
}

static void to_group(struct plain *p, const struct value *values)
{
	const struct plan_node *n = p->node;
	struct value keys[MOST], args[MOST];
	uint32_t row;

	p->env.columns = values;
	for (uint32_t i = 0; i < n->group.key_n; i++)
		keys[i] = expr_eval(&p->env, n->group.keys[i]);
	for (uint32_t i = 0; i < n->group.aggregate_n; i++)
		args[i] = n->group.aggregates[i].arg
				  ? expr_eval(&p->env, n->group.aggregates[i].arg)
				  : value_nil();
	assert_int_equal(grouping_find(&p->groups, keys, &row), 0);
	assert_int_equal(grouping_add(&p->groups, row, args, &p->sample), 0);
}

static void to_order(struct plain *p, const struct value *values)
{
	struct value key = value_nil();

	p->env.columns = values;
	if (p->node->op == PLAN_SORT)
		key = expr_eval(&p->env, p->node->sort.orders[0].expr);
	assert_int_equal(ordering_add(&p->ordering, &key, values, NULL), 0);
}

static int plain_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		       bool more)
{
	struct plain *p = context;
	struct event_ref *once;
	const struct plan_node *bottom = p->node;
	const struct plan_range *range = &p->run->range;

	if (more || second_randomness(id) < p->run->threshold)
		return 0; /* and the last time, all of it */
	event_set_done(&p->set);
	assert_int_equal(snapshot_trace(p->run->options->snapshot, id, &p->set), 0);
	n = p->set.n;
	once = malloc((n + 1) * sizeof(*once));
	memcpy(once, p->set.refs, n * sizeof(*once));
	assert_int_equal(events_unique(once, &n), 0);
	p->sample = (struct sample){.weight = trace_weight(id, once, n, p->run->threshold),
				    .trace = load_be64(id.b + 8)};
	while (bottom->input_n > 0)
		bottom = bottom->inputs[0];
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(once[i]);

		if (e->type != EVENT_SPAN ||
		    (e->time_ns == 0 && (range->from_ns || range->to_ns)) ||
		    e->time_ns < (uint64_t)range->from_ns ||
		    (range->to_ns && e->time_ns >= (uint64_t)range->to_ns))
			continue;
		p->ref = once[i];
		p->sample.time_ns = e->time_ns;
		p->sample.id = e->id1;
		if (p->node->op == PLAN_GROUP)
			tuples(p, bottom, p->node->inputs[0], NULL, to_group);
		else
			tuples(p, bottom, p->node->op == PLAN_SORT ? p->node->inputs[0] : p->node,
			       NULL, to_order);
	}
	free(once);
	return 0;
}

/* --- rows as text --- */

struct lines {
	struct buffer text;
	uint32_t columns;
	size_t n;
};

static int add_line(void *context, const struct value *values, const double *plus_minus)
{
	struct lines *l = context;
	struct arena arena = {0};

	for (uint32_t i = 0; i < l->columns; i++) {
		struct slice s = value_format(&arena, values[i]);

		buffer_printf(&l->text, "%s%.*s", i ? " | " : "", SLICE_ARG(s));
		if (plus_minus && plus_minus[i] != 0)
			buffer_printf(&l->text, " ± %.6g", plus_minus[i]);
	}
	buffer_printf(&l->text, "\n");
	l->n++;
	arena_done(&arena);
	return 0;
}

static int add_group(void *context, const struct value *values, const struct estimate *estimates)
{
	struct plain *p = ((void **)context)[0];
	double plus_minus[MOST * 2] = {0};

	for (uint32_t i = 0; i < p->groups.aggregate_n; i++)
		plus_minus[p->groups.key_n + i] =
			estimates[i].estimated ? estimates[i].plus_minus : 0;
	return add_line(((void **)context)[1], values, plus_minus);
}

static void plainly(struct query_at *run, const struct plan_node *node, struct lines *out)
{
	struct plain p = {.run = run, .node = node};
	const struct scan scan = {.trace = plain_trace, .context = &p};
	struct aggregate aggregates[MOST];
	bool grouped = node->op == PLAN_GROUP;
	void *both[] = {&p, out};
	struct expr_memo *memo;

	assert_int_equal(expr_memo_new(&memo), 0);
	p.env = (struct expr_env){
		.element = element, .context = &p, .arena = &p.arena, .memo = memo};
	for (uint32_t i = 0; grouped && i < node->group.aggregate_n; i++)
		assert_int_equal(aggregate_from_plan(&node->group.aggregates[i], 0, &aggregates[i]),
				 0);
	if (grouped)
		assert_int_equal(grouping_init(&p.groups, node->group.key_n, aggregates,
					       node->group.aggregate_n, NULL),
				 0);
	p.descending = node->op == PLAN_SORT && node->sort.orders[0].descending;
	if (!grouped)
		assert_int_equal(ordering_init(&p.ordering, 1, &p.descending, node->column_n,
					       node->op == PLAN_SORT ? node->sort.limit : 0, NULL),
				 0);
	assert_int_equal(snapshot_scan(run->options->snapshot, &scan), 0);
	if (grouped) {
		uint32_t only;

		if (node->group.key_n == 0) /* a group, whatever is in it */
			assert_int_equal(grouping_find(&p.groups, NULL, &only), 0);
		assert_int_equal(grouping_each(&p.groups, add_group, both), 0);
		grouping_done(&p.groups);
	} else {
		assert_int_equal(ordering_each(&p.ordering, add_line, out), 0);
		ordering_done(&p.ordering);
	}
	event_set_done(&p.set);
	expr_memo_free(memo);
	arena_done(&p.arena);
}

static size_t seen;     /* comparisons of something */
static size_t totalled; /* segments that no row was looked at of */

static void columns_agree(struct world *w, const struct plan_node *node, struct plan_range range,
			  uint64_t threshold, unsigned threads, const char *name)
{
	struct query_run options = {.snapshot = &w->snapshot};
	struct query_at run = {
		.options = &options, .threads = threads, .range = range, .threshold = threshold};
	struct lines by_columns = {.columns = node->column_n}, by_rows = by_columns;
	const struct run_sink sink = {.row = add_line, .context = &by_columns};

	assert_false(build.no_memory);
	budget_init(&run.budget, NULL, 0, 0);
	assert_int_equal(column_run(&run, node, &sink), 0);
	assert_int_equal(atomic_load(&run.budget.memory), 0);
	plainly(&run, node, &by_rows);
	if (!slice_eq(buffer_get(&by_columns.text), buffer_get(&by_rows.text)))
		print_message("%s, %u threads:\n--- columns\n%.2000s\n--- rows\n%.2000s\n", name,
			      threads, buffer_cstr(&by_columns.text), buffer_cstr(&by_rows.text));
	seen += by_rows.n > 0;
	totalled += atomic_load(&run.totalled);
	assert_slice_equal(buffer_get(&by_columns.text), buffer_get(&by_rows.text));
	buffer_done(&by_columns.text);
	buffer_done(&by_rows.text);
}

static const struct plan_node *query(unsigned which, const char **ret_name)
{
	const struct measure count = {.kind = AGG_COUNT};
	const struct plan_expr *colour = attr(ATTR_SPAN, "colour");
	const struct plan_expr *any = attr(ATTR_ANY, "colour"), *n = attr(ATTR_SPAN, "n");

	switch (which) {
	case 0: {
		const struct measure m[] = {
			count,
			{.kind = AGG_QUANTILE, .arg = column(2), .parameter = 0.99},
			{.kind = AGG_SUM, .arg = column(2)},
			{.kind = AGG_AVG, .arg = column(2)},
			{.kind = AGG_MAX, .arg = column(2)}};

		*ret_name = "durations by service and status";
		return group(
			source(NULL, LIST(field(F_SERVICE), field(F_STATUS), field(F_DURATION))),
			LIST(column(0), column(1)), m, 5);
	}
	case 1:
		*ret_name = "names, which vary";
		return group(source(NULL, LIST(field(F_NAME))), LIST(column(0)), &count, 1);
	case 2:
		*ret_name = "the newest red ones";
		return sorted(source(op(XO_EQ, colour, text("red")),
				     LIST(field(F_TIME), field(F_ELEMENT), colour)),
			      column(0), true, 20);
	case 3: {
		const struct measure m[] = {count,
					    {.kind = AGG_SUM, .arg = column(1)},
					    {.kind = AGG_DISTINCT, .arg = column(2)}};

		*ret_name = "by colour of the span or its resource";
		return group(unnest(source(NULL, LIST(any, n, attr(ATTR_SPAN, "request"))), 0),
			     LIST(column(0)), m, 3);
	}
	case 4:
		*ret_name = "neither red nor missing, or missing";
		return group(
			source(op(XO_OR, op(XO_NE, colour, text("red")),
				  op(XO_EQ, colour,
				     build_const(&build, (struct plan_value){.type = PLAN_NIL}))),
			       LIST(colour)),
			LIST(column(0)), &count, 1);
	case 5: {
		const struct measure m[] = {{.kind = AGG_AVG, .arg = column(1)},
					    {.kind = AGG_STDDEV, .arg = column(1)},
					    {.kind = AGG_MIN, .arg = column(2)},
					    {.kind = AGG_HISTOGRAM, .arg = column(2)}};

		*ret_name = "numbers of a filter above a projection";
		return group(
			build_filter(&build,
				     project(source(op(XO_GT, n, number(2)),
						    LIST(n, field(F_KIND), attr(ATTR_SPAN, "x"))),
					     LIST(column(1), op(XO_ADD, column(0), number(1)),
						  column(2))),
				     op(XO_LT, column(1), number(6))),
			LIST(column(0)), m, 4);
	}
	case 6:
		*ret_name = "a pattern";
		return sorted(source(op(XO_MATCH, field(F_NAME), text("item 1.*|G.*")),
				     LIST(field(F_NAME), field(F_SPAN_ID), field(F_PARENT_ID),
					  field(F_END))),
			      column(0), false, 0);
	case 7: {
		const struct measure m[] = {{.kind = AGG_FIRST, .arg = column(1)},
					    {.kind = AGG_LAST, .arg = column(1)},
					    {.kind = AGG_RATE}};

		*ret_name = "first and last";
		return group(source(NULL, LIST(field(F_HOST), field(F_NAME))), LIST(column(0)), m,
			     3);
	}
	case 8:
		*ret_name = "lists taken apart, and filtered";
		return group(
			build_filter(&build,
				     unnest(source(NULL, LIST(attr(ATTR_SPAN, "tags"), any)), 0),
				     op(XO_NE, column(0), text("red"))),
			LIST(column(0)), &count, 1);
	case 9: {
		const struct plan_expr *both[] = {text("red"), number(1)};
		struct plan_expr *list = build_alloc(&build, 1, sizeof(*list));

		*list = (struct plan_expr){
			.kind = X_LIST, .n = 2, .args = kept(LIST(both[0], both[1]))};
		*ret_name = "one of a list, and an error";
		return group(source(op(XO_AND, op(XO_IN, any, list),
				       op(XO_EQ, field(F_STATUS), text("error"))),
				    LIST(field(F_STATUS_MESSAGE), field(F_SCOPE_NAME))),
			     LIST(column(0), column(1)), &count, 1);
	}
	case 10:
		*ret_name = "a key of many";
		return sorted(source(op(XO_AND, op(XO_EQ, attr(ATTR_SPAN, "key7"), text("green")),
					op(XO_NE, attr(ATTR_SPAN, "n"), number(0))),
				     LIST(field(F_TRACE_ID), field(F_SPAN_ID), n)),
			      column(2), false, 0);
	case 11: {
		const struct measure m[] = {
			count,
			{.kind = AGG_TOPK, .arg = column(0), .parameter = 3},
			{.kind = AGG_QUANTILE, .arg = column(1), .parameter = 0.5}};

		*ret_name = "everything, in one line";
		return group(source(NULL, LIST(field(F_SERVICE), attr(ATTR_SPAN, "x"))),
			     (struct list){.n = 0}, m, 3);
	}
	case 12:
		*ret_name = "rows as they are";
		return source(op(XO_EQ, attr(ATTR_SPAN, "flag"), text("true")),
			      LIST(field(F_SERVICE), field(F_PROC_NAME), field(F_ELEMENT),
				   attr(ATTR_RESOURCE, "colour"), field(F_TRACEPOINT)));
	case 13:
		*ret_name = "a few rows, and all about them";
		return sorted(
			source(op(XO_EQ, attr(ATTR_SPAN, "key7"), text("green")),
			       LIST(field(F_NAME), field(F_TIME), field(F_DURATION),
				    field(F_TRACE_ID), field(F_SPAN_ID), field(F_PARENT_ID),
				    attr(ATTR_SPAN, "key7"), colour, attr(ATTR_ANY, "request"))),
			column(4), false, 0);
	case 14: {
		const struct measure m[] = {
			count,
			{.kind = AGG_QUANTILE, .arg = column(1), .parameter = 0.9},
			{.kind = AGG_HISTOGRAM, .arg = column(1)}};

		*ret_name = "a few rows, grouped";
		return group(source(op(XO_AND, op(XO_MATCH, attr(ATTR_SPAN, "key8"), text("re.")),
				       op(XO_NE, field(F_NAME), text("put"))),
				    LIST(field(F_NAME), field(F_DURATION))),
			     LIST(column(0)), m, 3);
	}
	case 15: {
		const struct measure m[] = {
			count,
			{.kind = AGG_COUNT, .arg = column(1)},
			{.kind = AGG_QUANTILE, .arg = column(1), .parameter = 0.9}};

		*ret_name = "how durations are spread, by name";
		return group(source(NULL, LIST(field(F_NAME), field(F_DURATION))), LIST(column(0)),
			     m, 3);
	}
	case 16: {
		const struct measure m[] = {{.kind = AGG_AVG, .arg = column(2)},
					    {.kind = AGG_MIN, .arg = column(2)},
					    {.kind = AGG_HISTOGRAM, .arg = column(2)},
					    {.kind = AGG_COUNT, .arg = column(2)}};

		*ret_name = "servers that did not fail, by resource";
		return group(source(op(XO_AND, op(XO_NE, field(F_STATUS), text("error")),
				       op(XO_OR, op(XO_EQ, field(F_NAME), text("get")),
					  op(XO_EQ, attr(ATTR_RESOURCE, "colour"), text("red")))),
				    LIST(attr(ATTR_RESOURCE, "service.name"), field(F_HOST),
					 field(F_DURATION), field(F_KIND))),
			     LIST(column(0), column(1), column(3)), m, 4);
	}
	default:
		return NULL;
	}
}

static const struct plan_range ranges[] = {
	{0, 0},
	{(int64_t)T0 + 3 * SECOND, (int64_t)T0 + 8 * SECOND + 200000},
	{0, (int64_t)T0 + 8 * SECOND + 200000},
	{(int64_t)T0 + 12 * SECOND, (int64_t)T0 + 40 * SECOND}};

/* Every `step`th of them. */
static void every_query(struct world *w, unsigned step)
{
	const struct plan_node *node;
	struct arena arena = {0};
	const char *name;

	build = (struct plan_build){.arena = &arena};
	seen = 0;
	for (unsigned i = 0; (node = query(i, &name)); i += step)
		for (size_t k = 0; k < (step > 1 ? 1 : ARRAY_SIZE(ranges)); k++)
			columns_agree(w, node, ranges[k], 0, 1 + (i + (unsigned)k) % 3, name);
	/* Of a sample, too. */
	for (unsigned i = 0; (node = query(i, &name)); i += step)
		columns_agree(w, node, ranges[i % 2], THRESHOLD_NEVER / 2, 1 + i % 3, name);
	assert_true(seen >= (step > 1 ? 3 : 20));
	arena_done(&arena);
}

static void columns_say_what_rows_say(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		struct world w;

		world_open(&w, seed, 9, 250);
		every_query(&w, 1);
		world_close(&w);
	}
}

static void simple_rows_say_the_same(void **state)
{
	(void)state;
	simple = true;
	for (uint64_t seed = 3; seed <= 4; seed++) {
		struct world w;

		simple_base = 0;
		few_names = seed == 4;
		totalled = 0;
		world_open(&w, seed, 9, 400);
		every_query(&w, 1);
		assert_true(totalled >= (few_names ? 20 : 5));
		world_close(&w);
	}
	few_names = false;
	simple = false;
	simple_base = 0;
}

/* Some traces of one segment go on in the head, and no segment shares any with another. */
static void a_head_goes_on_with_traces_of_a_segment(void **state)
{
	struct rng rng = {77};
	struct world w;

	(void)state;
	simple = true;
	simple_base = 0;
	world_open(&w, 6, 9, 400);
	simple_base = 0;
	append(&w, random_rows(&rng, 3, 30));
	snapshot_done(&w.snapshot);
	assert_int_equal(store_snapshot(w.store, &w.snapshot), 0);
	every_query(&w, 1);
	world_close(&w);
	simple = false;
}

/* A trace over two groups, of which one row, its last or its first, says how it was sampled.  Some
 * ranges have rows of one group alone. */
static struct batch *large_trace(bool last)
{
	enum { ROWS = 20000, APART = 2000 };
	struct rng rng = {78};
	struct batch *b = batch_new(0);

	assert_non_null(b);
	b->owner = batch_string(b, SLICE("local"));
	b->received_ns = (int64_t)T0;
	batch_scope(b);
	batch_resource(b);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint64_t back = ((i < ROWS - APART) == last ? 40 : 20) * SECOND;
		struct event *e;

		add_row(b, &rng, 1, 0);
		e = &b->events[i];
		e->time_ns -= e->time_ns ? back : 0;
		e->end_ns -= e->end_ns > T0 ? back : 0;
	}
	batch_extra(b, last ? ROWS - 1 : 0)->trace_state = batch_string(b, SLICE("ot=th:8"));
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static void a_large_trace_is_one_sample(void **state)
{
	struct arena arena = {0};

	(void)state;
	build = (struct plan_build){.arena = &arena};
	simple = true;
	for (int last = 0; last < 2; last++) {
		const struct plan_node *node;
		const char *name;
		struct world w;

		simple_base = 0;
		world_open(&w, 6, 9, 100);
		append(&w, large_trace(last));
		assert_int_equal(engine_flush(w.store), 0);
		snapshot_done(&w.snapshot);
		assert_int_equal(store_snapshot(w.store, &w.snapshot), 0);
		for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++)
			for (unsigned k = 0; k < 2 && (node = query(k, &name)); k++)
				columns_agree(&w, node, ranges[i], 0, 1 + k, name);
		world_close(&w);
	}
	simple = false;
	simple_base = 0;
	arena_done(&arena);
}

static void groups_are_many(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 7, 40, 5000);
	every_query(&w, 4);
	world_close(&w);
}

static int count_row(void *context, const struct value *values, const double *plus_minus)
{
	(void)values;
	(void)plus_minus;
	return ++*(int *)context == 100 ? SINK_FULL : 0;
}

static void limits_and_budgets_end_it(void **state)
{
	static const _Atomic bool yes = true;
	struct query_run options = {0};
	struct query_at run = {.options = &options, .threads = 2};
	struct arena arena = {0};
	const struct measure count = {.kind = AGG_COUNT};
	const struct plan_node *rows, *limited, *wide;
	struct plan_node *limit;
	struct world w;
	int given = 0;
	const struct run_sink sink = {.row = count_row, .context = &given};

	(void)state;
	build = (struct plan_build){.arena = &arena};
	world_open(&w, 9, 50, 3000);
	options.snapshot = &w.snapshot;
	rows = source(NULL, LIST(field(F_ELEMENT), field(F_NAME)));
	limit = build_over(&build, PLAN_LIMIT, rows);
	limit->limit.n = 7;
	limited = limit;
	wide = group(rows, LIST(column(0)), &count, 1);

	budget_init(&run.budget, NULL, 0, 0);
	assert_int_equal(column_run(&run, limited, &sink), 0);
	assert_int_equal(given, 7);
	given = 0;
	assert_int_equal(column_run(&run, rows, &sink), SINK_FULL);
	assert_int_equal(given, 100);
	budget_init(&run.budget, NULL, 0, 100000);
	assert_int_equal(column_run(&run, wide, &sink), -ENOSPC);
	assert_int_equal(atomic_load(&run.budget.memory), 0);
	budget_init(&run.budget, &yes, 0, 0);
	assert_int_equal(column_run(&run, wide, &sink), -ECANCELED);
	budget_init(&run.budget, NULL, 1, 0);
	assert_int_equal(column_run(&run, wide, &sink), -ETIMEDOUT);
	/* What needs the trace is not for columns. */
	budget_init(&run.budget, NULL, 0, 0);
	assert_int_equal(column_run(&run, source(NULL, LIST(field(F_SELF))), &sink), -EOPNOTSUPP);
	world_close(&w);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_say_what_rows_say),
		cmocka_unit_test(simple_rows_say_the_same),
		cmocka_unit_test(a_head_goes_on_with_traces_of_a_segment),
		cmocka_unit_test(a_large_trace_is_one_sample),
		cmocka_unit_test(groups_are_many),
		cmocka_unit_test(limits_and_budgets_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
