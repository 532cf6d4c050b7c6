/* api/tool_lists.c - tools that say what there is: services and operations, who calls whom,
 * traces, tracepoints. */
#include <errno.h>
#include <stdio.h>

#include "api/call_tally.h"
#include "api/tool_int.h"
#include "base/cleanup.h"
#include "catalog/tracepoint.h"

#define SEARCH_MOST 1000 /* traces of one search */

static int put_services(struct tool_call *call, const struct service_list *list)
{
	uint64_t spans = 0;
	int r = 0;

	for (size_t i = 0; i < list->n; i++)
		spans += list->rows[i].spans;
	snprintf(call->summary, sizeof(call->summary),
		 "%zu services have sent %llu spans; name one to see its operations", list->n,
		 (unsigned long long)spans);
	call->total = list->n;
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct service_summary *s = &list->rows[i];

		tool_row(call);
		tool_put_text(&call->w, "service", s->name);
		tool_put_count(&call->w, "spans", s->spans);
		tool_put_count(&call->w, "errors", s->errors);
		tool_put_count(&call->w, "operations", s->operation_n);
		r = tool_row_end(call);
	}
	return MIN(r, 0);
}

static int put_operations(struct tool_call *call, const struct operation_list *list,
			  struct slice service)
{
	uint64_t n = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < list->n; i++) {
		const struct operation_summary *o = &list->rows[i];

		if (!slice_eq(o->service, service))
			continue;
		n++;
		if (r)
			continue; /* only counted */
		tool_row(call);
		tool_put_text(&call->w, "operation", o->name);
		tool_put_count(&call->w, "spans", o->spans);
		tool_put_count(&call->w, "errors", o->errors);
		tool_put_ms(&call->w, "p50_ms", (int64_t)o->p50_ns);
		tool_put_ms(&call->w, "p90_ms", (int64_t)o->p90_ns);
		tool_put_ms(&call->w, "p99_ms", (int64_t)o->p99_ns);
		tool_put_ms(&call->w, "max_ms", (int64_t)o->max_ns);
		r = tool_row_end(call);
	}
	if (r < 0)
		return r;
	if (n == 0)
		return tool_fail(call, -ENOENT,
				 "no service '%.*s' has sent spans: call services without "
				 "arguments for the names",
				 SLICE_ARG(slice_first(service, 100)));
	call->total = n;
	snprintf(call->summary, sizeof(call->summary),
		 "%.*s has %llu operations; spans are counted as stored",
		 SLICE_ARG(slice_first(service, 100)), (unsigned long long)n);
	return 0;
}

int tool_services(struct tool_call *call)
{
	const struct tool_value *service = tool_value(call, "service");
	int r;

	if (service->given) {
		struct operation_list list;

		r = store_operations(call->house->store, &list);
		if (r == 0) {
			r = put_operations(call, &list, service->text);
			operation_list_done(&list);
		}
	} else {
		struct service_list list;

		r = store_services(call->house->store, &list);
		if (r == 0) {
			r = put_services(call, &list);
			service_list_done(&list);
		}
	}
	return r;
}

int tool_dependencies(struct tool_call *call)
{
	struct call_tally tally;
	int64_t from, to;
	int r = tool_window(call, &from, &to);

	if (r < 0)
		return r;
	call_tally_init(&tally);
	r = call_tally_store(&tally, call->house->store, from, to, NULL);
	if (r == -E2BIG)
		tool_fail(call, r, "there are more than %d pairs of services: ask for less time",
			  CALL_PAIRS_MOST);
	if (r == 0) {
		call->total = tally.n;
		snprintf(call->summary, sizeof(call->summary),
			 "%zu pairs of services: who called whom, as spans and their parents tell",
			 tally.n);
	}
	for (size_t i = 0; r == 0 && i < tally.n; i++) {
		tool_row(call);
		tool_put_text(&call->w, "caller", tally.rows[i].parent);
		tool_put_text(&call->w, "callee", tally.rows[i].child);
		tool_put_count(&call->w, "calls", tally.rows[i].calls);
		tool_put_count(&call->w, "errors", tally.rows[i].errors);
		r = tool_row_end(call);
	}
	call_tally_done(&tally);
	return MIN(r, 0);
}

/* --- search --- */

static int tags_read(struct tool_call *call, struct store_query *q)
{
	const struct tool_value *v = tool_value(call, "tags");
	struct store_tag *tags = arena_zalloc(&call->arena, v->text_n + 1, sizeof(*tags));

	if (!tags)
		return -ENOMEM;
	for (size_t i = 0; i < v->text_n; i++) {
		struct slice rest = v->texts[i], key = slice_cut(&rest, '=');

		if (key.n == 0 || !rest.p)
			return tool_fail(call, -EINVAL,
					 "tags: \"key=value\" is wanted, such as "
					 "\"http.response.status_code=500\"; not '%.*s'",
					 SLICE_ARG(slice_first(v->texts[i], 80)));
		tags[i] = (struct store_tag){key, rest};
	}
	q->tags = tags;
	q->tag_n = v->text_n;
	return 0;
}

static void put_found(struct tool_call *call, const struct trace_summary *t)
{
	struct json_writer *w = &call->w;

	tool_put_trace(w, "trace_id", t->id);
	tool_put_text(w, "root_service", t->root_service);
	tool_put_text(w, "root_name", t->root_name);
	tool_put_time(w, "start", t->start_ns);
	tool_put_ms(w, "duration_ms", t->duration_ns);
	tool_put_count(w, "spans", t->spans);
	tool_put_count(w, "errors", t->errors);
	if (t->unfinished)
		tool_put_count(w, "running", t->unfinished);
	tool_put_count(w, "services", t->service_n);
}

int tool_search(struct tool_call *call)
{
	struct store_query q = {
		.service = tool_value(call, "service")->text,
		.operation = tool_value(call, "operation")->text,
		.errors = tool_value(call, "errors")->flag,
		.min_duration_ns = tool_value(call, "min_duration")->number,
		.max_duration_ns = tool_value(call, "max_duration")->number,
		.order = tool_value(call, "order")->number ? STORE_SLOWEST : STORE_NEWEST,
		.limit = SEARCH_MOST,
	};
	struct trace_list list;
	int r = tool_window(call, &q.from_ns, &q.to_ns);

	if (r == 0)
		r = tags_read(call, &q);
	if (r == 0)
		r = store_find(call->house->store, &q, &list);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < list.n; i++) {
		tool_row(call);
		put_found(call, &list.rows[i]);
		r = tool_row_end(call);
	}
	call->total = list.n;
	if (list.more)
		call->incomplete =
			q.order == STORE_NEWEST
				? "more traces fit: ask again with end set to the start of the "
				  "last one, or with a narrower condition"
				: "more traces fit: ask again with max_duration, or with a "
				  "narrower condition";
	snprintf(call->summary, sizeof(call->summary), "%s%zu traces fit, %s first",
		 list.more ? "more than " : "", list.n,
		 q.order == STORE_NEWEST ? "newest" : "slowest");
	trace_list_done(&list);
	return MIN(r, 0);
}

/* --- tracepoints --- */

static int put_tracepoint(void *context, const struct tracepoint_row *row)
{
	struct tool_call *call = context;

	tool_row(call);
	tool_put_text(&call->w, "name", slice_cstr(row->name));
	json_put_name(&call->w, "definition");
	tool_put_cut(&call->w, slice_cstr(row->text), (size_t)4 * TOOL_TEXT_MOST);
	tool_put_text(&call->w, "owner", slice_cstr(row->owner));
	call->total++;
	return tool_row_end(call);
}

int tool_tracepoints(struct tool_call *call)
{
	struct error error = {0};
	int r = 0;

	if (call->house->catalog_why)
		return tool_fail(call, -EIO, "%s", call->house->catalog_why);
	if (call->house->catalog)
		r = tracepoint_list(call->house->catalog, put_tracepoint, call, &error);
	if (r < 0)
		return call->why.n ? r : tool_fail(call, r, "%s", error.text);
	snprintf(call->summary, sizeof(call->summary),
		 "%llu tracepoints are defined; each can stand behind In of a query",
		 (unsigned long long)call->total);
	return 0;
}
