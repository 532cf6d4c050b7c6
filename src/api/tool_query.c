/* api/tool_query.c - tools that ask the language: query, explain, compare, patterns. */
#include <errno.h>
#include <stdio.h>

#include "api/tool_int.h"
#include "base/cleanup.h"
#include "exec/query.h"
#include "exec/tracepoint_names.h"

#define CELL_MOST     1000 /* bytes of one text */
#define COLUMNS_SHOWN 64
#define COLUMNS_BYTES 1024 /* of their list, about: rows name theirs */
#define LIST_SHOWN    50
#define LIST_DEPTH    4

/* A query being asked. */
struct asking {
	struct tool_call *call;
	struct query *query;
	struct arena arena; /* diagnostics; columns of the result at hand */
	struct arena cells; /* of the row at hand */
	struct diags diags;
	struct tracepoint_names names;
	const struct query_column *columns;
	size_t column_n, result;
	bool full;
};

static void asking_init(struct asking *a, struct tool_call *call)
{
	*a = (struct asking){.call = call};
	diags_init(&a->diags, &a->arena);
	tracepoint_names_init(&a->names, call->house->catalog);
}

static void asking_done(struct asking *a)
{
	query_free(a->query);
	tracepoint_names_done(&a->names);
	arena_done(&a->arena);
	arena_done(&a->cells);
}

/* What is wrong, with the line and a caret, as the command line shows it. */
static int refuse(struct asking *a, struct slice text, const char *of)
{
	struct buffer shown = {0};

	diags_sort(&a->diags);
	diags_show(&a->diags, text, of, &shown);
	tool_fail(a->call, -EINVAL, "%s\nThe tool docs describes the language.",
		  shown.failed ? "the query is wrong" : buffer_cstr(&shown));
	if (a->call->house->catalog_why)
		tool_fail(a->call, -EINVAL, "\nTracepoints are not known here: %s",
			  a->call->house->catalog_why);
	buffer_done(&shown);
	return -EINVAL;
}

static int prepare(struct asking *a, struct slice text, int dialect, const char *of)
{
	struct query_prepare p = {
		.text = text,
		.dialect = (enum lang_dialect)dialect,
		.check = {.names = &a->names.names,
			  .unknown_tracepoints = UNKNOWN_REFUSE,
			  .now_ns = a->call->now_ns},
	};
	int r;

	if (text.n > LANG_MAX_TEXT)
		return tool_fail(a->call, -EINVAL, "%s: longer than %d bytes", of, LANG_MAX_TEXT);
	if (slice_trim(text).n == 0)
		return tool_fail(a->call, -EINVAL, "%s: it is empty", of);
	r = query_prepare(&p, &a->diags, &a->query);
	return r == -EINVAL ? refuse(a, text, of) : r;
}

/* --- rows --- */

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	struct asking *a = context;
	struct query_column *kept = arena_zalloc(&a->arena, n + 1, sizeof(*kept));
	struct json_writer w = {.out = &a->call->tail, .comma = a->call->tail.n > 0};
	char member[32];

	if (!kept)
		return -ENOMEM;
	a->result = result;
	a->column_n = MIN(n, (size_t)COLUMNS_SHOWN);
	for (size_t i = 0; i < a->column_n; i++) {
		kept[i] = columns[i];
		kept[i].name = arena_dup(&a->arena, columns[i].name);
		if (!kept[i].name.p)
			return -ENOMEM;
	}
	a->columns = kept;
	/* Rows of a further result say which they belong to. */
	snprintf(member, sizeof(member), result ? "columns_%zu" : "columns", result);
	json_put_key(&w, slice_cstr(member));
	json_begin_array(&w);
	for (size_t i = 0; i < a->column_n; i++) {
		if (a->call->tail.n + kept[i].name.n > COLUMNS_BYTES) {
			char more[40];

			snprintf(more, sizeof(more), "… (%zu columns)", n);
			json_put_cstr(&w, more);
			break;
		}
		tool_put_cut(&w, kept[i].name, TOOL_TEXT_MOST);
	}
	json_end_array(&w);
	return 0;
}

static void put_cell(struct asking *a, struct value v, int depth)
{
	struct json_writer *w = &a->call->w;

	switch (v.type) {
	case V_NIL:
		json_put_null(w);
		break;
	case V_BOOL:
		json_put_bool(w, v.b);
		break;
	case V_INT:
		json_put_i64(w, v.i);
		break;
	case V_FLOAT:
		json_put_double(w, v.f);
		break;
	case V_STRING:
		tool_put_cut(w, value_slice(v), CELL_MOST);
		break;
	case V_LIST:
		json_begin_array(w);
		for (uint32_t i = 0; depth < LIST_DEPTH && i < MIN(v.n, (uint32_t)LIST_SHOWN); i++)
			put_cell(a, v.list[i], depth + 1);
		if (v.n > LIST_SHOWN) {
			char more[40];

			snprintf(more, sizeof(more), "… (%u elements)", v.n);
			json_put_cstr(w, more);
		}
		json_end_array(w);
		break;
	default: /* with units and names, as a person writes them */
		tool_put_cut(w, value_format(&a->cells, v), CELL_MOST);
	}
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct asking *a = context;
	struct tool_call *call = a->call;
	int r;

	tool_row(call);
	if (a->result)
		tool_put_count(&call->w, "result", a->result);
	for (size_t i = 0; i < MIN(n, a->column_n); i++) {
		json_put_key(&call->w, slice_first(a->columns[i].name, TOOL_TEXT_MOST));
		put_cell(a, values[i], 0);
		if (plus_minus && plus_minus[i] != 0) {
			struct slice name = slice_first(a->columns[i].name, TOOL_TEXT_MOST);
			char *member = arena_printf(&a->cells, "%.*s ±", SLICE_ARG(name));

			if (!member)
				return -ENOMEM;
			json_put_key(&call->w, slice_cstr(member));
			json_put_double(&call->w, plus_minus[i]);
		}
	}
	arena_clear(&a->cells);
	r = tool_row_end(call);
	a->full |= r > 0;
	return r > 0 ? -ENOBUFS : r; /* ends the run */
}

static void put_stats(struct tool_call *call, const struct query_stats *stats)
{
	struct json_writer w = {.out = &call->tail, .comma = call->tail.n > 0};

	if (stats->warning_n == 0 && !stats->estimated)
		return;
	json_put_name(&w, "notes");
	json_begin_array(&w);
	for (size_t i = 0; i < stats->warning_n; i++)
		json_put_cstr(&w, stats->warnings[i].text);
	if (stats->estimated)
		json_put_cstr(&w, "traces were sampled: counts are estimates, ± is half the width "
				  "of the 95 % interval");
	json_end_array(&w);
}

static int run(struct asking *a, const struct plan_range *range, int64_t step_ns)
{
	struct tool_call *call = a->call;
	struct query_stats stats = {0};
	struct error error = {0};
	struct snapshot snapshot;
	struct query_run options = {
		.snapshot = &snapshot,
		.now_ns = call->now_ns,
		.range = *range,
		.step_ns = step_ns,
		.time_ns = call->house->time_ns,
		.memory_bytes = call->house->memory_bytes,
		.rows_most = TOOL_ROWS_MOST,
		.cancel = call->cancel,
		.gives_way = true,
		.begin = on_begin,
		.row = on_row,
		.context = a,
	};
	int r = store_snapshot(call->house->store, &snapshot);

	if (r == -EOPNOTSUPP)
		return tool_fail(call, r,
				 "queries need a store on disk; this server keeps "
				 "everything in memory: search, trace_summary and "
				 "subtree work");
	if (r < 0)
		return r;
	r = query_run(a->query, &options, &stats, &error);
	snapshot_done(&snapshot);
	if (a->full)
		r = 0;
	if (r < 0 && tool_cancelled(call))
		r = -ECANCELED;
	if (r == -EPERM)
		return tool_fail(call, r, "csv(\"…\") opens files, which tools may not");
	if (r < 0)
		return error.text[0] && call->why.n == 0 ? tool_fail(call, r, "%s", error.text) : r;
	if (stats.truncated)
		call->incomplete = "there are more rows than one answer may have: aggregate, or "
				   "add a condition, a Limit or a shorter time";
	put_stats(call, &stats);
	snprintf(call->summary, sizeof(call->summary),
		 "%s%llu rows, from %llu traces looked at; times and durations have their units",
		 call->incomplete ? "more than " : "", (unsigned long long)stats.rows_out,
		 (unsigned long long)stats.traces);
	return 0;
}

int tool_query_rows(struct tool_call *call, struct slice text, int dialect)
{
	struct plan_range range = {0};
	struct asking a;
	int r = tool_window(call, &range.from_ns, &range.to_ns);

	if (r < 0)
		return r;
	asking_init(&a, call);
	r = prepare(&a, text, dialect, "query");
	if (r == 0)
		r = run(&a, &range, tool_value(call, "step")->number);
	asking_done(&a);
	return r;
}

int tool_query(struct tool_call *call)
{
	return tool_query_rows(call, tool_value(call, "query")->text,
			       (int)tool_value(call, "dialect")->number);
}

int tool_explain(struct tool_call *call)
{
	struct buffer plan = {0};
	struct slice rest;
	struct asking a;
	int r;

	asking_init(&a, call);
	r = prepare(&a, tool_value(call, "query")->text, (int)tool_value(call, "dialect")->number,
		    "query");
	if (r == 0)
		r = query_explain(a.query, tool_value(call, "live")->flag, &plan);
	if (r == 0 && plan.failed)
		r = -ENOMEM;
	rest = buffer_get(&plan);
	while (r == 0 && rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');

		call->total++;
		tool_row(call);
		json_put_name(&call->w, "line");
		tool_put_cut(&call->w, line, CELL_MOST);
		r = tool_row_end(call);
	}
	snprintf(call->summary, sizeof(call->summary),
		 "the query is right; how it would be run, %llu lines",
		 (unsigned long long)call->total);
	buffer_done(&plan);
	asking_done(&a);
	return MIN(r, 0);
}

/* A set of spans, { … }, checked alone so that a message is about what was sent. */
static int set_check(struct tool_call *call, const char *name)
{
	struct slice text = slice_trim(tool_value(call, name)->text);
	struct asking a;
	int r;

	asking_init(&a, call);
	r = prepare(&a, text, DIALECT_CAUSETQL, name); /* as it will be run */
	if (r == 0 &&
	    (query_results(a.query) != 1 || query_plan(a.query, 0)->root->op != PLAN_SPANSET ||
	     text.p[0] != '{' || text.p[text.n - 1] != '}'))
		r = tool_fail(call, -EINVAL,
			      "%s: a set of spans is wanted, such as { status = error }", name);
	asking_done(&a);
	return r;
}

int tool_compare(struct tool_call *call)
{
	struct slice selected = tool_value(call, "selected")->text;
	struct slice rest = tool_value(call, "rest")->text;
	struct buffer text = {0};
	int r = set_check(call, "selected");

	if (r == 0 && rest.n)
		r = set_check(call, "rest");
	if (r < 0)
		return r;
	buffer_printf(&text, "From c In (compare(%.*s, %.*s)) ", SLICE_ARG(selected),
		      SLICE_ARG(rest.n ? rest : SLICE("{ }")));
	buffer_text(&text, "Select c.attribute, c.value, c.selected, c.rest, c.difference, c.p "
			   "OrderBy abs(c.difference) Desc, c.p, c.attribute");
	r = text.failed ? -ENOMEM : tool_query_rows(call, buffer_get(&text), DIALECT_CAUSETQL);
	buffer_done(&text);
	if (r == 0)
		snprintf(
			call->summary, sizeof(call->summary),
			"what tells the spans of `selected` from %s, largest difference first: "
			"the share that has the value in each, and p, the chance of seeing so much "
			"by accident",
			rest.n ? "those of `rest`" : "all spans");
	return r;
}

int tool_patterns(struct tool_call *call)
{
	struct slice service = tool_value(call, "service")->text;
	struct slice root = tool_value(call, "root_name")->text;
	struct buffer text = {0};
	struct json_writer w = {.out = &text};
	int r;

	buffer_text(&text, "From t In traces ");
	if (service.n) {
		buffer_text(&text, "Where t.rootServiceName = ");
		json_put_string(&w, service);
	}
	w.comma = false;
	if (root.n) {
		buffer_text(&text, " Where t.root = ");
		json_put_string(&w, root);
	}
	buffer_text(&text,
		    " GroupBy t.pattern As pattern "
		    "Select pattern, COUNT As traces, first(t.rootServiceName) As root_service, "
		    "first(t.root) As root_name, max(t.spans) As spans, "
		    "sum(t.errors) As errors, p50(t.duration) As p50, "
		    "p99(t.duration) As p99, max(t.duration) As slowest, "
		    "first(t.trace_id) As example "
		    "OrderBy traces Desc, root_name, example");
	r = text.failed ? -ENOMEM : tool_query_rows(call, buffer_get(&text), DIALECT_CAUSETQL);
	buffer_done(&text);
	if (r == 0)
		snprintf(call->summary, sizeof(call->summary),
			 "shapes of traces (what calls what), most frequent first; example is a "
			 "trace of that shape");
	return r;
}
