/* api/tool_trace.c - tools that look into one trace without sending all of it: an overview, a
 * subtree, single spans, the critical path. */
#include <errno.h>
#include <stdio.h>

#include "api/tool_int.h"
#include "api/trace_json.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "model/critical_path.h"

#define SHOWN_ERRORS     5
#define SHOWN_SHARES     8
#define ATTRIBUTES_SHOWN 200 /* of one span, and of its resource */
#define EVENTS_SHOWN     50  /* of one span */
#define VALUE_MOST       1000
#define DETAILS_BYTES    (TOOL_BYTES_MOST / 2) /* of a span's attributes and events, about */

int tool_trace_open(struct tool_call *call, struct tool_trace *ret_trace)
{
	struct trace_id id = tool_value(call, "trace_id")->trace;
	struct tool_trace t = {0};
	char hex[TRACE_ID_HEX + 1];
	int r = store_trace(call->house->store, id, &t.set);

	trace_id_format(id, hex);
	if (r == -ENOENT)
		return tool_fail(call, r, "there is no trace %s: search finds traces", hex);
	if (r == -E2BIG)
		return tool_fail(call, r,
				 "trace %s has more than %zu events, too many to be modelled: ask "
				 "query about it, { trace:id = \"%s\" } | count() by (name)",
				 hex, STORE_TRACE_ROWS, hex);
	if (r == 0)
		r = trace_build(t.set.refs, t.set.n, 0, &t.trace);
	if (r < 0)
		event_set_done(&t.set);
	else
		*ret_trace = t;
	return r;
}

void tool_trace_done(struct tool_trace *t)
{
	t->trace = trace_free(t->trace);
	event_set_done(&t->set);
}

int tool_trace_span(struct tool_call *call, const struct trace *t, uint32_t *ret_block)
{
	const struct tool_value *v = tool_value(call, "span_id");

	*ret_block = v->given ? trace_find(t, v->span) : TRACE_NONE;
	if (v->given && *ret_block == TRACE_NONE)
		return tool_fail(call, -ENOENT,
				 "the trace has no span %.*s: subtree without span_id starts at "
				 "its roots",
				 SLICE_ARG(slice_first(v->text, 32)));
	return 0;
}

static const char *kind_name(int32_t kind)
{
	static const char *const names[] = {"unspecified", "internal", "server",
					    "client",      "producer", "consumer"};

	return kind >= 0 && (size_t)kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}

static struct slice status_message(const struct trace *t, const struct trace_block *k)
{
	uint32_t row = k->end_row != TRACE_NONE ? k->end_row : k->row;
	const struct batch *b = trace_row_batch(t, row);

	return batch_text(b, batch_extra_get(b, trace_row(t, row))->status_message);
}

/* What is said of a span everywhere. */
static void put_block(struct json_writer *w, const struct trace *t, uint32_t i)
{
	const struct trace_block *k = &t->blocks[i];

	if (k->id)
		tool_put_span(w, "span_id", k->id);
	tool_put_text(w, "service", trace_block_service(t, i));
	tool_put_text(w, "name", trace_block_name(t, i));
	tool_put_ms(w, "at_ms", k->begin_ns - t->begin_ns);
	tool_put_ms(w, "duration_ms", k->end_ns - k->begin_ns);
	tool_put_ms(w, "self_ms", k->self_ns);
	if (k->bits & BLOCK_ERROR)
		tool_put_flag(w, "error");
	if (k->bits & BLOCK_RUNNING)
		tool_put_flag(w, "running");
	if (k->inferred != TRACE_NONE)
		tool_put_flag(w, "inferred");
}

static void put_repairs(struct json_writer *w, uint32_t repairs)
{
	if (!repairs)
		return;
	json_put_name(w, "repairs");
	json_begin_array(w);
	for (int bit = 0; bit < REPAIR_BITS; bit++)
		if (repairs & 1U << bit)
			json_put_cstr(w, trace_repair_name((enum trace_repair)(1U << bit)));
	json_end_array(w);
}

/* --- trace_summary --- */

/* All spans of one operation. */
struct operation {
	struct slice service, name;
	uint64_t spans, errors;
	int64_t self_ns, longest_ns;
	uint32_t longest; /* block */
};

struct tally {
	struct operation *rows;
	size_t n, capacity;
	struct map map;
};

static bool operation_equal(const void *context, uint32_t value, const void *key)
{
	const struct tally *t = context;
	const struct operation *k = key;

	return slice_eq(t->rows[value].service, k->service) &&
	       slice_eq(t->rows[value].name, k->name);
}

static struct operation *operation_of(struct tally *t, struct slice service, struct slice name)
{
	struct operation key = {.service = service, .name = name, .longest_ns = -1};
	uint64_t hash = hash_bytes(name.p, name.n, hash_bytes(service.p, service.n, t->map.seed));
	uint32_t at = map_get(&t->map, hash, operation_equal, t, &key);

	if (at != MAP_NONE)
		return &t->rows[at];
	if (!vec_reserve(&t->rows, &t->capacity, t->n + 1, sizeof(*t->rows)) ||
	    !map_put(&t->map, hash, (uint32_t)t->n))
		return NULL;
	t->rows[t->n] = key;
	return &t->rows[t->n++];
}

static int by_self(const void *a, const void *b)
{
	const struct operation *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return x->longest < y->longest ? -1 : x->longest > y->longest;
}

static int tally_blocks(struct tally *tally, const struct trace *t)
{
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *k = &t->blocks[i];
		struct operation *o =
			operation_of(tally, trace_block_service(t, i), trace_block_name(t, i));

		if (!o)
			return -ENOMEM;
		o->spans++;
		o->errors += (k->bits & BLOCK_ERROR) != 0;
		o->self_ns += k->self_ns;
		if (k->end_ns - k->begin_ns > o->longest_ns) {
			o->longest_ns = k->end_ns - k->begin_ns;
			o->longest = i;
		}
	}
	if (tally->n > 1)
		qsort(tally->rows, tally->n, sizeof(*tally->rows), by_self);
	return 0;
}

static void put_errors(struct json_writer *w, const struct trace *t)
{
	size_t shown = 0;

	json_put_name(w, "first_errors");
	json_begin_array(w);
	for (uint32_t i = 0; i < t->block_n && shown < SHOWN_ERRORS; i++) {
		const struct trace_block *k = &t->blocks[i];

		if (!(k->bits & BLOCK_ERROR))
			continue;
		shown++;
		json_begin_object(w);
		tool_put_span(w, "span_id", k->id);
		tool_put_text(w, "service", trace_block_service(t, i));
		tool_put_text(w, "name", trace_block_name(t, i));
		tool_put_text(w, "message", status_message(t, k));
		json_end_object(w);
	}
	json_end_array(w);
}

static void put_overview(struct tool_call *call, const struct trace *t)
{
	struct json_writer w = tool_head(call);
	uint32_t depth = 0;

	for (uint32_t i = 0; i < t->block_n; i++)
		depth = MAX(depth, t->blocks[i].depth);
	tool_put_trace(&w, "trace_id", t->id);
	tool_put_time(&w, "start", t->begin_ns);
	tool_put_ms(&w, "duration_ms", t->end_ns - t->begin_ns);
	if (t->block_n) {
		json_put_name(&w, "root");
		json_begin_object(&w);
		put_block(&w, t, 0);
		json_end_object(&w);
	}
	tool_put_count(&w, "spans", t->block_n);
	tool_put_count(&w, "errors", t->errors);
	tool_put_count(&w, "running", t->running);
	tool_put_count(&w, "roots", t->roots);
	tool_put_count(&w, "depth", depth);
	tool_put_count(&w, "processes", t->process_n);
	if (t->errors)
		put_errors(&w, t);
	put_repairs(&w, t->repairs);
}

static int put_operations(struct tool_call *call, const struct trace *t, const struct tally *tally)
{
	int r = 0;

	call->total = tally->n;
	for (size_t i = 0; r == 0 && i < tally->n; i++) {
		const struct operation *o = &tally->rows[i];

		tool_row(call);
		tool_put_text(&call->w, "service", o->service);
		tool_put_text(&call->w, "operation", o->name);
		tool_put_count(&call->w, "spans", o->spans);
		tool_put_count(&call->w, "errors", o->errors);
		tool_put_ms(&call->w, "self_ms", o->self_ns);
		tool_put_ms(&call->w, "longest_ms", o->longest_ns);
		if (t->blocks[o->longest].id) /* an inferred one has none */
			tool_put_span(&call->w, "longest_span_id", t->blocks[o->longest].id);
		r = tool_row_end(call);
	}
	return MIN(r, 0);
}

int tool_trace_summary(struct tool_call *call)
{
	char took[QUANTITY_TEXT_BYTES];
	struct tally tally = {0};
	struct tool_trace t;
	int r = tool_trace_open(call, &t);

	if (r < 0)
		return r;
	map_init(&tally.map);
	r = tally_blocks(&tally, t.trace);
	if (r == 0) {
		put_overview(call, t.trace);
		r = put_operations(call, t.trace, &tally);
	}
	snprintf(
		call->summary, sizeof(call->summary),
		"%zu spans in %zu processes took %s, %zu of them failed, %zu still run; operations "
		"by their own time",
		t.trace->block_n, t.trace->process_n,
		duration_format(t.trace->end_ns - t.trace->begin_ns, took), t.trace->errors,
		t.trace->running);
	map_done(&tally.map);
	free(tally.rows);
	tool_trace_done(&t);
	return r;
}

/* --- subtree --- */

/* Spans below one that the depth leaves out. */
static uint32_t hidden_below(const struct trace *t, uint32_t i, uint32_t deepest)
{
	return t->blocks[i].depth == deepest ? t->blocks[i].last - i : 0;
}

static int put_tree(struct tool_call *call, const struct trace *t, uint32_t top)
{
	uint32_t first = top == TRACE_NONE ? 0 : top;
	uint32_t end = top == TRACE_NONE ? (uint32_t)t->block_n : t->blocks[top].last + 1;
	uint32_t above = top == TRACE_NONE ? 0 : t->blocks[top].depth;
	const struct tool_value *depth = tool_value(call, "depth");
	bool errors = tool_value(call, "errors")->flag;
	bool all = errors && !depth->given; /* failures are few, and deep */
	uint32_t deepest = all ? UINT32_MAX : above + (uint32_t)depth->number;
	uint64_t n = 0, deeper = 0;
	char levels[32], next[80] = "";
	int r = 0;

	for (uint32_t i = first; r >= 0 && i < end; i++) {
		const struct trace_block *k = &t->blocks[i];
		uint32_t hidden = hidden_below(t, i, deepest);

		if (errors && !(k->bits & BLOCK_ERROR))
			continue;
		if (k->depth > deepest) {
			deeper++;
			continue;
		}
		n++;
		if (r)
			continue; /* only counted */
		tool_row(call);
		tool_put_count(&call->w, "depth", k->depth - above);
		put_block(&call->w, t, i);
		if (k->parent != TRACE_NONE && t->blocks[k->parent].id)
			tool_put_span(&call->w, "parent_id", t->blocks[k->parent].id);
		if (k->child_n)
			tool_put_count(&call->w, "children", k->child_n);
		if (hidden)
			tool_put_count(&call->w, "hidden_below", hidden);
		r = tool_row_end(call);
	}
	call->total = n;
	if (all)
		snprintf(levels, sizeof(levels), "all levels");
	else
		snprintf(levels, sizeof(levels), "%lld levels deep", (long long)depth->number);
	if (errors && deeper)
		snprintf(next, sizeof(next),
			 "; %llu more failed deeper: leave out depth to see them",
			 (unsigned long long)deeper);
	else if (deeper)
		snprintf(next, sizeof(next),
			 "; ask for the subtree of one that has hidden_below to go on");
	snprintf(call->summary, sizeof(call->summary),
		 "%llu%s of the %u spans %s, in the order of the tree, %s%s", (unsigned long long)n,
		 errors ? " failed" : "", end - first,
		 top == TRACE_NONE ? "of the trace" : "of this subtree", levels, next);
	return MIN(r, 0);
}

int tool_subtree(struct tool_call *call)
{
	struct tool_trace t;
	uint32_t top;
	int r = tool_trace_open(call, &t);

	if (r < 0)
		return r;
	r = tool_trace_span(call, t.trace, &top);
	if (r == 0)
		r = put_tree(call, t.trace, top);
	tool_trace_done(&t);
	return r;
}

/* --- span_details --- */

static void put_value(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	struct json_writer nested = {.out = &text};

	if (a->type == VALUE_STRING) {
		tool_put_cut(w, batch_text(b, a->string), VALUE_MOST);
		return;
	}
	attr_json_value(&nested, b, a);
	if (text.n <= VALUE_MOST)
		json_put_json(w, buffer_get(&text));
	else
		tool_put_cut(w, buffer_get(&text), VALUE_MOST);
	w->out->failed |= text.failed;
}

static void put_attributes(struct json_writer *w, const char *name, const struct batch *b,
			   struct attr_range range)
{
	uint32_t shown = MIN(range.count, (uint32_t)ATTRIBUTES_SHOWN), i;

	json_put_name(w, name);
	json_begin_object(w);
	for (i = 0; i < shown && w->out->n < DETAILS_BYTES; i++) {
		const struct attr *a = &b->attrs[range.first + i];

		json_put_key(w, slice_first(batch_text(b, a->key), TOOL_TEXT_MOST));
		put_value(w, b, a);
	}
	if (range.count > i)
		tool_put_count(w, "… of", range.count);
	json_end_object(w);
}

static void put_events(struct json_writer *w, const struct trace *t, const struct trace_block *k)
{
	uint32_t shown = MIN(k->point_n, (uint32_t)EVENTS_SHOWN), i;

	if (k->point_n == 0)
		return;
	json_put_name(w, "events");
	json_begin_array(w);
	for (i = 0; i < shown && w->out->n < DETAILS_BYTES; i++) {
		const struct trace_point *p = &t->points[k->point_first + i];

		json_begin_object(w);
		tool_put_text(w, "name", trace_row_name(t, p->row));
		tool_put_ms(w, "at_ms", p->time_ns - t->begin_ns);
		put_attributes(w, "attributes", trace_row_batch(t, p->row),
			       trace_row(t, p->row)->attrs);
		json_end_object(w);
	}
	json_end_array(w);
	if (k->point_n > i)
		tool_put_count(w, "events_total", k->point_n);
}

static int put_details(struct tool_call *call, const struct trace *t, uint32_t i)
{
	const struct trace_block *k = &t->blocks[i];
	const struct trace_process *p = &t->processes[k->process];
	struct json_writer *w = &call->w;
	struct slice message = status_message(t, k);

	tool_row(call);
	put_block(w, t, i);
	tool_put_text(w, "kind", slice_cstr(kind_name(k->kind)));
	tool_put_time(w, "start", k->begin_ns);
	if (message.n)
		tool_put_text(w, "status_message", message);
	if (k->parent != TRACE_NONE)
		tool_put_span(w, "parent_id", t->blocks[k->parent].id);
	tool_put_count(w, "children", k->child_n);
	put_attributes(w, "attributes", trace_row_batch(t, k->row), trace_row(t, k->row)->attrs);
	if (k->end_row != TRACE_NONE && k->end_row != k->row)
		put_attributes(w, "attributes_at_end", trace_row_batch(t, k->end_row),
			       trace_row(t, k->end_row)->attrs);
	if (!p->inferred)
		put_attributes(w, "resource", p->batch, p->batch->resources[p->resource].attrs);
	put_events(w, t, k);
	put_repairs(w, k->repairs);
	return tool_row_end(call);
}

int tool_span_details(struct tool_call *call)
{
	const struct tool_value *ids = tool_value(call, "span_ids");
	size_t missing = 0;
	struct tool_trace t;
	int r = tool_trace_open(call, &t);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < ids->text_n; i++) {
		span_id_t id;
		uint32_t block;

		if (span_id_parse(ids->texts[i], &id) < 0) {
			r = tool_fail(call, -EINVAL,
				      "span_ids: up to 16 hex digits each, not '%.*s'",
				      SLICE_ARG(slice_first(ids->texts[i], 40)));
			break;
		}
		block = trace_find(t.trace, id);
		missing += block == TRACE_NONE;
		if (block != TRACE_NONE)
			r = put_details(call, t.trace, block);
	}
	if (r == 0 && ids->text_n == missing)
		r = tool_fail(call, -ENOENT,
			      "the trace has none of these spans: subtree lists those it has");
	snprintf(call->summary, sizeof(call->summary), "%zu spans%s", ids->text_n - missing,
		 missing ? "; the trace does not have the others" : "");
	tool_trace_done(&t);
	return MIN(r, 0);
}

/* --- critical_path --- */

static void put_shares(struct tool_call *call, const struct trace *t,
		       const struct critical_path *path)
{
	struct json_writer w = tool_head(call);
	struct tally tally = {0};
	bool good = true;

	map_init(&tally.map);
	for (size_t i = 0; good && i < path->n; i++) {
		const struct path_segment *s = &path->segments[i];
		struct operation *o = operation_of(&tally, trace_block_service(t, s->block),
						   slice_cstr(segment_kind_name(s->kind)));

		good = o != NULL;
		if (o)
			o->self_ns += s->to_ns - s->from_ns;
	}
	if (good && tally.n > 1)
		qsort(tally.rows, tally.n, sizeof(*tally.rows), by_self);
	tool_put_ms(&w, "total_ms", path->total_ns);
	json_put_name(&w, "by_service");
	json_begin_array(&w);
	for (size_t i = 0; good && i < MIN(tally.n, (size_t)SHOWN_SHARES); i++) {
		json_begin_object(&w);
		tool_put_text(&w, "service", tally.rows[i].service);
		tool_put_text(&w, "spent_on", tally.rows[i].name);
		tool_put_ms(&w, "ms", tally.rows[i].self_ns);
		json_end_object(&w);
	}
	json_end_array(&w);
	w.out->failed |= !good;
	map_done(&tally.map);
	free(tally.rows);
}

static int put_path(struct tool_call *call, const struct trace *t, const struct critical_path *path)
{
	char took[QUANTITY_TEXT_BYTES];
	int r = 0;

	put_shares(call, t, path);
	call->total = path->n;
	for (size_t i = 0; r == 0 && i < path->n; i++) {
		const struct path_segment *s = &path->segments[i];

		tool_row(call);
		tool_put_ms(&call->w, "at_ms", s->from_ns - t->begin_ns);
		tool_put_ms(&call->w, "ms", s->to_ns - s->from_ns);
		tool_put_text(&call->w, "spent_on", slice_cstr(segment_kind_name(s->kind)));
		if (s->edge != TRACE_NONE)
			tool_put_text(&call->w, "edge",
				      slice_cstr(trace_edge_kind_name(t->edges[s->edge].kind)));
		tool_put_text(&call->w, "service", trace_block_service(t, s->block));
		tool_put_text(&call->w, "name", trace_block_name(t, s->block));
		if (t->blocks[s->block].id)
			tool_put_span(&call->w, "span_id", t->blocks[s->block].id);
		r = tool_row_end(call);
	}
	snprintf(call->summary, sizeof(call->summary),
		 "what the %s were spent on, %zu segments in order of time; they add up to the "
		 "whole",
		 duration_format(path->total_ns, took), path->n);
	return MIN(r, 0);
}

int tool_critical_path(struct tool_call *call)
{
	struct critical_path path = {0};
	struct tool_trace t;
	uint32_t top;
	int r = tool_trace_open(call, &t);

	if (r < 0)
		return r;
	r = tool_trace_span(call, t.trace, &top);
	if (r == 0)
		r = top == TRACE_NONE ? critical_path_whole(t.trace, &path)
				      : critical_path_between(t.trace, trace_pos(POS_BEGIN, top),
							      trace_pos(POS_END, top), &path);
	if (r == 0)
		r = put_path(call, t.trace, &path);
	critical_path_done(&path);
	tool_trace_done(&t);
	return r;
}
