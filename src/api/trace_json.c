/* api/trace_json.c - the modelled trace as JSON, piece by piece.
 *
 * One object; its arrays are sections of a table here, and the writer stops between two elements
 * whenever a piece is full.  Elements refer to each other by index. */
#include "api/trace_json.h"

#include <stdio.h>

#include "base/cleanup.h"

static void put_time(struct json_writer *w, const char *name, int64_t ns)
{
	json_put_name(w, name);
	json_put_i64_text(w, ns);
}

static void put_raw_time(struct json_writer *w, const char *name, uint64_t ns)
{
	json_put_name(w, name);
	json_put_u64_text(w, ns);
}

static void put_duration(struct json_writer *w, const char *name, int64_t ns)
{
	json_put_name(w, name);
	json_put_i64(w, ns);
}

static void put_count(struct json_writer *w, const char *name, size_t n)
{
	json_put_name(w, name);
	json_put_u64(w, n);
}

static void put_text(struct json_writer *w, const char *name, struct slice text)
{
	json_put_name(w, name);
	json_put_string(w, text);
}

static void put_index(struct json_writer *w, const char *name, uint32_t index)
{
	json_put_name(w, name);
	if (index == TRACE_NONE)
		json_put_null(w);
	else
		json_put_u64(w, index);
}

static void put_id(struct json_writer *w, const char *name, span_id_t id)
{
	uint8_t bytes[8];

	store_be64(bytes, id);
	json_put_name(w, name);
	json_put_hex(w, bytes, sizeof(bytes));
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

static void put_range(struct json_writer *w, const struct batch *b, struct attr_range range)
{
	for (uint32_t i = 0; i < range.count; i++)
		attr_json(w, b, &b->attrs[range.first + i]);
}

static void put_attributes(struct json_writer *w, const struct batch *b, struct attr_range range)
{
	json_put_name(w, "attributes");
	json_begin_array(w);
	put_range(w, b, range);
	json_end_array(w);
}

static void put_head(struct json_writer *w, const struct trace *t)
{
	char hex[15];

	json_put_name(w, "traceId");
	json_put_hex(w, t->id.b, sizeof(t->id.b));
	put_time(w, "startUnixNano", t->begin_ns);
	put_duration(w, "durationNano", t->end_ns - t->begin_ns);
	put_count(w, "roots", t->roots);
	put_count(w, "errors", t->errors);
	put_count(w, "running", t->running);
	put_count(w, "duplicates", t->duplicates);
	put_repairs(w, t->repairs);
	if (t->threshold_known) {
		json_put_name(w, "sampling");
		json_begin_object(w);
		json_put_name(w, "threshold");
		snprintf(hex, sizeof(hex), "%014llx", (unsigned long long)t->threshold);
		json_put_cstr(w, hex);
		json_put_name(w, "probability");
		json_put_double(w, t->probability);
		json_end_object(w);
	}
}

static void put_process(struct trace_json *j, size_t i)
{
	const struct trace_process *p = &j->trace->processes[i];
	struct json_writer *w = &j->w;

	put_text(w, "service", p->service);
	put_text(w, "host", p->host);
	put_count(w, "blocks", p->blocks);
	put_duration(w, "offsetNano", p->offset_ns);
	if (p->inferred) {
		json_put_name(w, "inferred");
		json_put_bool(w, true);
	} else {
		put_attributes(w, p->batch, p->batch->resources[p->resource].attrs);
	}
}

static void put_unit(struct trace_json *j, size_t i)
{
	const struct trace_unit *u = &j->trace->units[i];
	struct json_writer *w = &j->w;

	if (u->id)
		put_id(w, "id", u->id);
	put_index(w, "parent", u->parent);
	put_index(w, "process", u->process);
	put_count(w, "blocks", u->blocks);
	if (u->row != TRACE_NONE) {
		put_text(w, "name", trace_row_name(j->trace, u->row));
		put_attributes(w, trace_row_batch(j->trace, u->row),
			       trace_row(j->trace, u->row)->attrs);
	}
	put_repairs(w, u->repairs);
}

static void put_kind(struct json_writer *w, int32_t kind)
{
	static const char *const names[] = {"unspecified", "internal", "server",
					    "client",      "producer", "consumer"};

	json_put_name(w, "kind");
	if (kind >= 0 && (size_t)kind < ARRAY_SIZE(names))
		json_put_cstr(w, names[kind]);
	else
		json_put_i64(w, kind);
}

static void put_status(struct json_writer *w, const struct batch *b, const struct event *e)
{
	static const char *const names[] = {"unset", "ok", "error"};
	uint32_t message = batch_extra_get(b, e)->status_message;

	if (e->status == STATUS_UNSET && !message)
		return;
	json_put_name(w, "status");
	json_begin_object(w);
	json_put_name(w, "code");
	if (e->status >= 0 && (size_t)e->status < ARRAY_SIZE(names))
		json_put_cstr(w, names[e->status]);
	else
		json_put_i64(w, e->status);
	if (message)
		put_text(w, "message", batch_text(b, message));
	json_end_object(w);
}

/* What the sender said: status, state, raw times where they differ, attributes of begin and end. */
static void put_block_rows(struct trace_json *j, const struct trace_block *k)
{
	const struct trace *t = j->trace;
	const struct batch *b = trace_row_batch(t, k->row);
	const struct event *e = trace_row(t, k->row);
	struct json_writer *w = &j->w;
	bool two = k->end_row != TRACE_NONE && k->end_row != k->row;
	const struct event *last = two ? trace_row(t, k->end_row) : e;
	const struct batch *last_batch = two ? trace_row_batch(t, k->end_row) : b;

	put_status(w, last_batch, last);
	if (batch_extra_get(b, e)->trace_state)
		put_text(w, "traceState", batch_text(b, batch_extra_get(b, e)->trace_state));
	if (k->repairs & (REPAIR_CLOCK | REPAIR_END_BEFORE_BEGIN | REPAIR_TIME_RANGE)) {
		put_raw_time(w, "rawStartUnixNano", e->time_ns);
		if (k->end_row != TRACE_NONE)
			put_raw_time(w, "rawEndUnixNano", last->end_ns);
	}
	json_put_name(w, "attributes");
	json_begin_array(w);
	put_range(w, b, e->attrs);
	if (two)
		put_range(w, last_batch, last->attrs);
	json_end_array(w);
}

static void put_block(struct trace_json *j, size_t i)
{
	const struct trace *t = j->trace;
	const struct trace_block *k = &t->blocks[i];
	struct json_writer *w = &j->w;

	if (k->id)
		put_id(w, "id", k->id);
	if (k->parent_id)
		put_id(w, "parentId", k->parent_id);
	put_index(w, "parent", k->parent);
	put_count(w, "depth", k->depth);
	put_count(w, "children", k->child_n);
	put_index(w, "unit", k->unit);
	put_index(w, "process", k->process);
	put_text(w, "service", trace_block_service(t, (uint32_t)i));
	put_text(w, "name", trace_block_name(t, (uint32_t)i));
	put_kind(w, k->kind);
	put_time(w, "startUnixNano", k->begin_ns);
	put_duration(w, "durationNano", k->end_ns - k->begin_ns);
	put_duration(w, "selfNano", k->self_ns);
	if (k->bits & BLOCK_RUNNING) {
		json_put_name(w, "running");
		json_put_bool(w, true);
	}
	if (k->bits & BLOCK_ERROR) {
		json_put_name(w, "error");
		json_put_bool(w, true);
	}
	if (k->inferred != TRACE_NONE) {
		json_put_name(w, "inferred");
		json_begin_object(w);
		put_text(w, "key", t->inferred[k->inferred].key);
		json_end_object(w);
	} else {
		put_block_rows(j, k);
	}
	put_repairs(w, k->repairs);
}

static void put_point(struct trace_json *j, size_t i)
{
	const struct trace *t = j->trace;
	const struct trace_point *p = &t->points[i];
	const struct batch *b = trace_row_batch(t, p->row);
	const struct event *e = trace_row(t, p->row);
	struct json_writer *w = &j->w;

	json_put_name(w, "type");
	json_put_cstr(w, event_type_name((enum event_type)e->type));
	put_index(w, "block", p->block);
	put_index(w, "unit", p->unit);
	put_text(w, "name", batch_text(b, e->name));
	put_time(w, "timeUnixNano", p->time_ns);
	if (p->repairs & (REPAIR_CLOCK | REPAIR_TIME_RANGE))
		put_raw_time(w, "rawTimeUnixNano", e->time_ns);
	if (e->type == EVENT_LOG) {
		json_put_name(w, "severity");
		json_put_i64(w, e->kind);
		json_put_name(w, "body");
		attr_json(w, b, &batch_extra_get(b, e)->body);
	}
	put_attributes(w, b, e->attrs);
	if (p->copies > 1)
		put_count(w, "copies", p->copies);
	put_repairs(w, p->repairs);
}

static void put_position(struct json_writer *w, const char *name, struct trace_pos at)
{
	static const char *const kinds[] = {"begin", "end", "point"};

	json_put_name(w, name);
	json_begin_object(w);
	json_put_name(w, "at");
	json_put_cstr(w, kinds[at.kind]);
	put_index(w, "index", at.index);
	json_end_object(w);
}

static void put_edge(struct trace_json *j, size_t i)
{
	const struct trace_edge *e = &j->trace->edges[i];
	struct json_writer *w = &j->w;

	json_put_name(w, "kind");
	json_put_cstr(w, trace_edge_kind_name((enum trace_edge_kind)e->kind));
	put_position(w, "from", e->from);
	put_position(w, "to", e->to);
	if (e->queued_ns)
		put_duration(w, "queuedNano", e->queued_ns);
	if (e->row != TRACE_NONE) {
		put_text(w, "name", trace_row_name(j->trace, e->row));
		put_attributes(w, trace_row_batch(j->trace, e->row),
			       trace_row(j->trace, e->row)->attrs);
	}
	put_repairs(w, e->repairs);
}

static void put_link(struct trace_json *j, size_t i)
{
	const struct trace_link *l = &j->trace->links[i];
	const struct batch *b = trace_row_batch(j->trace, l->row);
	const struct event *e = trace_row(j->trace, l->row);
	struct trace_id other = batch_extra_get(b, e)->link_trace;
	struct json_writer *w = &j->w;

	put_index(w, "block", l->block);
	json_put_name(w, "traceId");
	json_put_hex(w, other.b, sizeof(other.b));
	put_id(w, "id", e->id2);
	put_attributes(w, b, e->attrs);
}

static void put_counter(struct trace_json *j, size_t i)
{
	const struct trace_counter *c = &j->trace->counters[i];
	const struct batch *b = trace_row_batch(j->trace, c->row);
	const struct event *e = trace_row(j->trace, c->row);
	struct json_writer *w = &j->w;

	put_text(w, "name", batch_text(b, e->name));
	put_index(w, "block", c->block);
	put_index(w, "unit", c->unit);
	put_time(w, "timeUnixNano", c->time_ns);
	json_put_name(w, "value");
	attr_json(w, b, &batch_extra_get(b, e)->body);
	put_attributes(w, b, e->attrs);
	put_repairs(w, c->repairs);
}

static void put_skew(struct trace_json *j, size_t i)
{
	const struct trace_skew *s = &j->trace->skews[i];
	struct json_writer *w = &j->w;

	put_index(w, "from", s->from);
	put_index(w, "to", s->to);
	put_count(w, "requests", s->requests);
	put_count(w, "responses", s->responses);
	if (s->low_ns != INT64_MIN)
		put_duration(w, "lowNano", s->low_ns);
	if (s->high_ns != INT64_MAX)
		put_duration(w, "highNano", s->high_ns);
	put_duration(w, "appliedNano", s->applied_ns);
}

static void put_segment(struct trace_json *j, size_t i)
{
	const struct path_segment *s = &j->path->segments[i];
	struct json_writer *w = &j->w;

	put_index(w, "block", s->block);
	json_put_name(w, "kind");
	json_put_cstr(w, segment_kind_name(s->kind));
	put_time(w, "startUnixNano", s->from_ns);
	put_duration(w, "durationNano", s->to_ns - s->from_ns);
	if (s->edge != TRACE_NONE)
		put_index(w, "edge", s->edge);
}

static size_t process_n(const struct trace_json *j)
{
	return j->trace->process_n;
}

static size_t unit_n(const struct trace_json *j)
{
	return j->trace->unit_n;
}

static size_t block_n(const struct trace_json *j)
{
	return j->trace->block_n;
}

static size_t point_n(const struct trace_json *j)
{
	return j->trace->point_n;
}

static size_t edge_n(const struct trace_json *j)
{
	return j->trace->edge_n;
}

static size_t link_n(const struct trace_json *j)
{
	return j->trace->link_n;
}

static size_t counter_n(const struct trace_json *j)
{
	return j->trace->counter_n;
}

static size_t skew_n(const struct trace_json *j)
{
	return j->trace->skew_n;
}

static size_t segment_n(const struct trace_json *j)
{
	return j->path ? j->path->n : 0;
}

static const struct {
	const char *name;
	size_t (*count)(const struct trace_json *j);
	void (*put)(struct trace_json *j, size_t i);
} sections[] = {
	{"processes", process_n, put_process},
	{"units", unit_n, put_unit},
	{"blocks", block_n, put_block},
	{"points", point_n, put_point},
	{"edges", edge_n, put_edge},
	{"links", link_n, put_link},
	{"counters", counter_n, put_counter},
	{"clocks", skew_n, put_skew},
	{"criticalPath", segment_n, put_segment},
};

bool trace_json_next(struct trace_json *j, struct buffer *out)
{
	size_t start = out->n;

	if (j->section > ARRAY_SIZE(sections))
		return false;
	j->w.out = out;
	if (j->section == 0 && j->at == 0) {
		json_begin_object(&j->w);
		put_head(&j->w, j->trace);
		json_put_name(&j->w, sections[0].name);
		json_begin_array(&j->w);
	}
	while (j->section < ARRAY_SIZE(sections)) {
		size_t n = sections[j->section].count(j);

		for (; j->at < n; j->at++) {
			if (out->n - start >= TRACE_JSON_PIECE || out->failed)
				return true;
			json_begin_object(&j->w);
			sections[j->section].put(j, j->at);
			json_end_object(&j->w);
		}
		json_end_array(&j->w);
		j->at = 0;
		if (++j->section < ARRAY_SIZE(sections)) {
			json_put_name(&j->w, sections[j->section].name);
			json_begin_array(&j->w);
		}
	}
	json_end_object(&j->w);
	buffer_byte(out, '\n');
	j->section++;
	return true;
}
