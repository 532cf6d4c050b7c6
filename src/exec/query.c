/* exec/query.c - the way in: a text of the language in, rows out. */
#include "exec/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/run.h"
#include "lang/explain.h"
#include "lang/lower.h"
#include "lang/rewrite.h"
#include "sampling/threshold.h"

#define QUERY_PROGRESS_NS (100 * 1000000LL)

#define RESULTS_MOST      256 /* queries of one text */

struct query_result {
	struct slice name;
	struct plan plan;
};

struct query {
	struct arena arena; /* the tree; plans borrow from it */
	struct slice text;
	unsigned rules_off;
	struct query_result *results;
	size_t n;
};

struct query *query_free(struct query *q)
{
	if (!q)
		return NULL;
	for (size_t i = 0; i < q->n; i++)
		plan_done(&q->results[i].plan);
	free(q->results);
	arena_done(&q->arena);
	free(q);
	return NULL;
}

static unsigned rewrites_off(unsigned rules_off)
{
	unsigned off = 0;

	off |= rules_off & RULE_PROJECTION ? REWRITE_PROJECTION : 0;
	off |= rules_off & RULE_SELECTION ? REWRITE_SELECTION : 0;
	off |= rules_off & RULE_AGGREGATION ? REWRITE_AGGREGATION : 0;
	off |= rules_off & RULE_TOP_N ? REWRITE_TOP_N : 0;
	return off;
}

/* --- preparing --- */

static int add_result(struct query *q, const struct ast_program *program,
		      const struct ast_statement *s, struct diags *diags)
{
	struct query_result *result = &q->results[q->n];
	int r = lang_lower(program, s->query, diags, &result->plan);

	if (r < 0)
		return r;
	q->n++;
	result->name = s->name;
	return plan_rewrite(&result->plan, rewrites_off(q->rules_off));
}

/* Queries without a name; if all have one, the last. */
static int add_results(struct query *q, const struct ast_program *program, struct diags *diags)
{
	const struct ast_statement *last = NULL;
	size_t unnamed = 0;
	int r = 0;

	for (const struct ast_statement *s = program->first; s; s = s->next)
		if (s->kind == AST_STATEMENT_QUERY) {
			last = s;
			unnamed += s->name.n == 0;
		}
	if (unnamed > RESULTS_MOST) {
		diag_add(diags, DIAG_TOO_LONG, 0, 0, "more than %d queries in one text",
			 RESULTS_MOST);
		return -EINVAL;
	}
	q->results = calloc(unnamed + 1, sizeof(*q->results));
	if (!q->results)
		return -ENOMEM;
	if (unnamed == 0)
		return last ? add_result(q, program, last, diags) : 0;
	for (const struct ast_statement *s = program->first; r == 0 && s; s = s->next)
		if (s->kind == AST_STATEMENT_QUERY && s->name.n == 0)
			r = add_result(q, program, s, diags);
	return r;
}

/* Definitions from elsewhere must live as long as the plans that borrow from them. */
struct defining {
	const struct lang_names *names;
	struct arena *arena;
};

static int define(void *context, struct slice name, struct slice *ret_text)
{
	struct defining *d = context;
	struct slice text;
	int r = d->names->define ? d->names->define(d->names->context, name, &text) : -ENOENT;

	if (r < 0)
		return r;
	text = arena_dup(d->arena, text);
	if (!text.p)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

static void each_name(void *context, void (*offer)(void *data, const char *name), void *data)
{
	struct defining *d = context;

	if (d->names->each)
		d->names->each(d->names->context, offer, data);
}

int query_prepare(const struct query_prepare *prepare, struct diags *diags,
		  struct query **ret_query)
{
	_cleanup_(query_freep)
	struct query *q = calloc(1, sizeof(*q));
	struct check_options check = prepare->check;
	struct defining defining = {.names = check.names};
	struct lang_names names = {&defining, define, each_name};
	struct ast_program *program;
	int r;

	if (!q)
		return -ENOMEM;
	q->rules_off = prepare->rules_off;
	defining.arena = &q->arena;
	if (check.names)
		check.names = &names;
	q->text = arena_dup(&q->arena, prepare->text);
	if (!q->text.p)
		return -ENOMEM;
	r = lang_compile(q->text, prepare->dialect, &check, &q->arena, diags, &program);
	if (r < 0)
		return r;
	if (diags->errors > 0)
		return -EINVAL;
	r = add_results(q, program, diags);
	if (r < 0)
		return r;
	*ret_query = TAKE_PTR(q);
	return 0;
}

size_t query_results(const struct query *q)
{
	return q->n;
}

const struct plan *query_plan(const struct query *q, size_t result)
{
	return &q->results[result].plan;
}

int query_explain(const struct query *q, bool live, struct buffer *out)
{
	for (size_t i = 0; i < q->n; i++) {
		if (q->results[i].name.n)
			buffer_printf(out, "%.*s:\n", SLICE_ARG(q->results[i].name));
		else if (q->n > 1)
			buffer_printf(out, "result %zu:\n", i + 1);
		if (live)
			plan_explain_live(&q->results[i].plan, out);
		else
			plan_explain(&q->results[i].plan, out);
	}
	return out->failed ? -ENOMEM : 0;
}

/* --- running --- */

struct giving {
	const struct query_run *options;
	struct query_stats *stats;
	struct query_at *run;
	size_t n;
	uint64_t rows;
};

static void stats_read(const struct query_at *run, struct query_stats *stats)
{
	stats->traces = atomic_load(&run->traces);
	stats->rows = atomic_load(&run->rows);
	stats->traces_pruned = atomic_load(&run->traces_pruned);
	stats->segments = atomic_load(&run->segments);
	stats->tuples_packed = atomic_load(&run->tuples_packed);
	stats->memory_peak = atomic_load(&run->budget.memory_peak);
	stats->estimated = atomic_load(&run->estimated);
}

static int give_row(void *context, const struct value *values, const double *plus_minus)
{
	struct giving *g = context;
	int r;

	if (g->options->rows_most && g->rows >= g->options->rows_most) {
		g->stats->truncated = true;
		return SINK_FULL;
	}
	g->rows++;
	g->stats->rows_out++;
	r = g->options->row(g->options->context, values, plus_minus, g->n);
	return r > 0 ? -ECANCELED : r;
}

static void warn(struct query_stats *stats, enum diag_code code, const char *text)
{
	struct query_warning *w;

	for (size_t i = 0; i < stats->warning_n; i++)
		if (stats->warnings[i].code == code)
			return;
	if (stats->warning_n == QUERY_MAX_WARNINGS)
		return;
	w = &stats->warnings[stats->warning_n++];
	w->code = code;
	snprintf(w->text, sizeof(w->text), "%s", text);
}

static void warnings(const struct query_at *run, struct query_stats *stats)
{
	if (atomic_load(&run->clock_rule))
		warn(stats, DIAG_CLOCK_RULE,
		     "some of the order was read off clocks: spans of one process and thread that "
		     "came without execution units follow each other by their times");
	if (atomic_load(&run->giants))
		warn(stats, DIAG_REFUSED,
		     "a trace of more than 2,097,152 events was left out: it is too large to be "
		     "put together");
}

/* How far a run is, told to who asked. */
struct telling {
	const struct query_run *options;
	const struct query_at *run;
	struct query_stats *stats;
};

static int tell(void *context)
{
	struct telling *t = context;
	int r;

	stats_read(t->run, t->stats);
	r = t->options->progress(t->options->context, t->stats);
	return r > 0 ? -ECANCELED : r;
}

static bool is_series(const struct plan_node *node)
{
	while (node->op != PLAN_SERIES && node->input_n == 1 && node->op != PLAN_GROUP)
		node = node->inputs[0];
	return node->op == PLAN_SERIES;
}

static int begin_result(const struct query_result *result, const struct query_run *options,
			size_t number)
{
	const struct plan_node *root = result->plan.root;
	_cleanup_(freep)
	struct query_column *columns = calloc(root->column_n + 1, sizeof(*columns));
	bool series = is_series(root);

	if (!columns)
		return -ENOMEM;
	for (uint32_t i = 0; i < root->column_n; i++) {
		columns[i].name = root->columns[i].name;
		columns[i].type = root->columns[i].type;
		columns[i].series = series;
	}
	return options->begin ? options->begin(options->context, number, result->name, columns,
					       root->column_n)
			      : 0;
}

static struct plan_range range_of(const struct plan *plan, const struct query_run *options)
{
	if (plan->last_ns)
		return (struct plan_range){options->now_ns - plan->last_ns, 0};
	return plan->range.from_ns || plan->range.to_ns ? plan->range : options->range;
}

static unsigned threads_of(const struct query_run *options)
{
	long n = options->threads ? (long)options->threads : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned)MIN(n, RUN_THREADS_MOST);
}

static int run_result(const struct query *q, size_t number, const struct query_run *options,
		      struct query_at *run, struct query_stats *stats)
{
	const struct query_result *result = &q->results[number];
	struct giving giving = {
		.options = options, .stats = stats, .run = run, .n = result->plan.root->column_n};
	struct run_sink sink = {give_row, &giving};
	int r;

	if (result->plan.live)
		return error_set(run->error, -EOPNOTSUPP,
				 "Over live is woven into running processes; leave it out to ask "
				 "about stored traces");
	run->threshold = 0;
	atomic_store(&run->unweighted, false);
	if (result->plan.share > 0 &&
	    threshold_from_probability(result->plan.share, &run->threshold) < 0)
		return error_set(run->error, -ERANGE,
				 "a share of %g is nothing: 2^-56 is the least",
				 result->plan.share);
	run->plan = &result->plan;
	run->range = range_of(&result->plan, options);
	run->range_seconds =
		run->range.from_ns
			? (double)((run->range.to_ns ? run->range.to_ns : options->now_ns) -
				   run->range.from_ns) /
				  1e9
			: 0;
	r = begin_result(result, options, number);
	if (r != 0)
		return r > 0 ? -ECANCELED : r;
	r = run_node(run, result->plan.root, &sink);
	return r == SINK_FULL ? 0 : r;
}

int query_run(const struct query *q, const struct query_run *options, struct query_stats *ret_stats,
	      struct error *error)
{
	struct query_at run = {
		.options = options,
		.rules_off = q->rules_off,
		.threads = threads_of(options),
		.error = error,
	};
	struct query_stats stats = {0};
	struct telling telling = {options, &run, &stats};
	int r = 0;

	if (error)
		*error = (struct error){.offset = ERROR_NO_OFFSET};
	budget_init(&run.budget, options->cancel,
		    options->time_ns ? options->time_ns : QUERY_DEFAULT_TIME,
		    options->memory_bytes ? options->memory_bytes : QUERY_DEFAULT_MEMORY);
	run.budget.leash = leash_held();
	if (options->gives_way && !run.budget.leash)
		budget_give_way(&run.budget, QUERY_PROMPT_NS);
	if (options->progress)
		budget_tick(&run.budget, QUERY_PROGRESS_NS, tell, &telling);
	if (options->snapshot)
		stats.segments_total = options->snapshot->view->segment_n;
	for (size_t i = 0; r == 0 && i < q->n; i++)
		r = run_result(q, i, options, &run, &stats);
	stats_read(&run, &stats);
	warnings(&run, &stats);
	if (ret_stats)
		*ret_stats = stats;
	if (r < 0 && error && error->text[0] == '\0')
		budget_error(&run.budget, r, error);
	return r;
}
