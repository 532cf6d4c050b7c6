/* wire/jaeger_json_encode.c - rows to Jaeger's JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/hash.h"
#include "wire/jaeger_json.h"
#include "wire/jaeger_tag_int.h"

#define NS_PER_US 1000

/* State of one encoding run. */
struct jaeger_writer {
	struct json_writer *w;
	struct slice unnamed; /* what a service without a name is called */
	/* One row for each resource the trace has used so far: process i + 1. */
	struct event_ref *processes;
	size_t process_n, process_capacity;
	struct map process_map;
};

/* Ids of 64 bits have 16 digits, unless they came with 32.  `of` is the row that the id is from. */
static void put_trace_id(struct json_writer *w, const char *name, struct trace_id id,
			 const struct event *of)
{
	bool own = of->format == FORMAT_JAEGER || of->format == FORMAT_ZIPKIN;
	bool is_64 = !own || of->bits & EVENT_TRACE_ID_64;
	const size_t skip = is_64 && load_be64(id.b) == 0 ? 8 : 0;

	json_put_name(w, name);
	json_put_hex(w, id.b + skip, sizeof(id.b) - skip);
}

static void put_span_id(struct json_writer *w, const char *name, span_id_t id)
{
	uint8_t bytes[8];

	store_be64(bytes, id);
	json_put_name(w, name);
	json_put_hex(w, bytes, sizeof(bytes));
}

static void put_number(struct json_writer *w, const char *name, uint64_t value)
{
	json_put_name(w, name);
	json_put_u64(w, value);
}

/* --- attributes --- */

static const struct slice warnings_key = {"jaeger.warnings", 15};
static const struct slice trace_warnings_key = {"jaeger.trace_warnings", 21};

/* A list of warnings stands in an attribute that is a list of strings, which no tag of Jaeger's can
 * be. */
static bool is_list(const struct batch *b, const struct attr *a, struct slice key)
{
	struct value_range children = attr_children(b, a);

	if (a->type != VALUE_ARRAY || children.count == 0 || !slice_eq(batch_text(b, a->key), key))
		return false;
	for (uint32_t i = 0; i < children.count; i++)
		if (b->nested[children.first + i].type != VALUE_STRING)
			return false;
	return true;
}

static const struct attr *find_list(const struct batch *b, struct attr_range range,
				    struct slice key)
{
	for (uint32_t i = 0; i < range.count; i++)
		if (is_list(b, &b->attrs[range.first + i], key))
			return &b->attrs[range.first + i];
	return NULL;
}

static void put_warnings(struct json_writer *w, const struct batch *b, const struct attr *list)
{
	struct value_range children;

	json_put_name(w, "warnings");
	if (!list) {
		json_put_null(w);
		return;
	}
	children = attr_children(b, list);
	json_begin_array(w);
	for (uint32_t i = 0; i < children.count; i++)
		json_put_string(w, batch_text(b, b->nested[children.first + i].string));
	json_end_array(w);
}

/* Each attribute as a tag, but for up to two that are written elsewhere. */
static void put_attrs(struct json_writer *w, const struct batch *b, struct attr_range range,
		      const struct attr *but, const struct attr *nor)
{
	for (uint32_t i = 0; i < range.count; i++) {
		const struct attr *a = &b->attrs[range.first + i];

		if (a != but && a != nor)
			jaeger_tag_put(w, b, a);
	}
}

static void put_text_tag(struct json_writer *w, const char *key, const struct batch *b,
			 uint32_t code)
{
	if (code)
		jaeger_tag_put_text(w, key, batch_text(b, code));
}

static void put_count_tag(struct json_writer *w, const char *key, uint32_t count)
{
	if (count)
		jaeger_tag_put_int(w, key, count);
}

static void put_status(struct json_writer *w, const struct event *e)
{
	bool own = e->format == FORMAT_JAEGER;
	bool error = own ? e->bits & JAEGER_ERROR_TAG : e->status == STATUS_ERROR;
	bool code = own ? e->bits & JAEGER_STATUS_TAG
			: e->status == STATUS_OK || e->status == STATUS_ERROR;

	if (error)
		jaeger_tag_put_true(w, "error");
	if (code)
		jaeger_tag_put_text(w, "otel.status_code",
				    e->status == STATUS_OK ? SLICE("OK") : SLICE("ERROR"));
}

static void put_tags(struct json_writer *w, const struct batch *b, const struct event *e)
{
	static const char *const kinds[] = {NULL,     "internal", "server",
					    "client", "producer", "consumer"};
	const struct event_extra *x = batch_extra_get(b, e);
	const struct scope *scope = &b->scopes[e->scope];

	json_put_name(w, "tags");
	json_begin_array(w);
	if (e->kind >= KIND_INTERNAL && e->kind <= KIND_CONSUMER)
		jaeger_tag_put_text(w, "span.kind", slice_cstr(kinds[e->kind]));
	put_text_tag(w, "otel.scope.name", b, scope->name);
	put_text_tag(w, "otel.scope.version", b, scope->version);
	put_status(w, e);
	put_text_tag(w, "otel.status_description", b, x->status_message);
	put_text_tag(w, "w3c.tracestate", b, x->trace_state);
	put_count_tag(w, "otel.dropped_attributes_count", x->dropped_attributes);
	put_count_tag(w, "otel.dropped_events_count", x->dropped_points);
	put_count_tag(w, "otel.dropped_links_count", x->dropped_links);
	put_attrs(w, b, e->attrs, find_list(b, e->attrs, warnings_key),
		  find_list(b, e->attrs, trace_warnings_key));
	json_end_array(w);
}

/* --- processes --- */

struct process_key {
	const struct batch *batch;
	uint32_t resource;
};

static bool same_process(const void *context, uint32_t value, const void *key)
{
	const struct jaeger_writer *j = context;
	const struct process_key *k = key;

	return j->processes[value].batch == k->batch &&
	       event_get(j->processes[value])->resource == k->resource;
}

/* The number of the row's process, from 1. */
static uint32_t process_of(struct jaeger_writer *j, struct event_ref ref)
{
	struct process_key key = {ref.batch, event_get(ref)->resource};
	uint64_t hash =
		hash_u64((uint64_t)(uintptr_t)key.batch + key.resource, j->process_map.seed);
	uint32_t at = map_get(&j->process_map, hash, same_process, j, &key);

	if (at != MAP_NONE)
		return at + 1;
	at = (uint32_t)j->process_n;
	if (!vec_reserve(&j->processes, &j->process_capacity, j->process_n + 1,
			 sizeof(*j->processes)) ||
	    !map_put(&j->process_map, hash, at)) {
		j->w->out->failed = true;
		return 0;
	}
	j->processes[j->process_n++] = ref;
	return at + 1;
}

static void put_process(struct json_writer *w, const struct batch *b, struct attr_range attrs,
			struct slice unnamed)
{
	const struct attr *service = batch_attr_find(b, attrs, SLICE("service.name"));

	if (service && (service->type != VALUE_STRING || service->string == 0))
		service = NULL; /* as batch_service() has it */
	json_begin_object(w);
	json_put_name(w, "serviceName");
	json_put_string(w, service ? batch_text(b, service->string) : unnamed);
	json_put_name(w, "tags");
	json_begin_array(w);
	put_attrs(w, b, attrs, service, NULL);
	json_end_array(w);
	json_end_object(w);
}

static void put_processes(struct jaeger_writer *j)
{
	json_put_name(j->w, "processes");
	json_begin_object(j->w);
	for (size_t i = 0; i < j->process_n; i++) {
		struct event_ref ref = j->processes[i];
		char name[16];

		snprintf(name, sizeof(name), "p%u", (unsigned)i + 1);
		json_put_name(j->w, name);
		put_process(j->w, ref.batch, ref.batch->resources[event_get(ref)->resource].attrs,
			    j->unnamed);
	}
	json_end_object(j->w);
}

/* --- spans --- */

static void put_reference(struct json_writer *w, struct slice type, struct trace_id trace,
			  const struct event *of, span_id_t id)
{
	json_begin_object(w);
	json_put_name(w, "refType");
	json_put_string(w, type);
	put_trace_id(w, "traceID", trace, of);
	put_span_id(w, "spanID", id);
	json_end_object(w);
}

static void put_link(struct json_writer *w, const struct batch *b, const struct event *e)
{
	struct slice type = batch_attr_text(b, e->attrs, SLICE("opentracing.ref_type"));

	if (slice_eq(type, SLICE("child_of")))
		type = SLICE("CHILD_OF");
	else if (type.n == 0 || slice_eq(type, SLICE("follows_from")))
		type = SLICE("FOLLOWS_FROM");
	put_reference(w, type, batch_extra_get(b, e)->link_trace, e, e->id2);
}

static void put_references(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	const struct event *span = event_get(refs[0]);

	json_put_name(w, "references");
	json_begin_array(w);
	if (span->id2)
		put_reference(w, SLICE("CHILD_OF"), span->trace_id, span, span->id2);
	for (size_t i = 1; i < n; i++)
		if (event_get(refs[i])->type == EVENT_LINK)
			put_link(w, refs[i].batch, event_get(refs[i]));
	json_end_array(w);
}

static void put_logs(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	json_put_name(w, "logs");
	json_begin_array(w);
	for (size_t i = 1; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		const struct batch *b = refs[i].batch;

		if (e->type != EVENT_POINT)
			continue;
		json_begin_object(w);
		put_number(w, "timestamp", e->time_ns / NS_PER_US);
		json_put_name(w, "fields");
		json_begin_array(w);
		put_text_tag(w, "event", b, e->name);
		put_count_tag(w, "otel.dropped_attributes_count",
			      batch_extra_get(b, e)->dropped_attributes);
		put_attrs(w, b, e->attrs, NULL, NULL);
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
}

/* The rows behind a span that belong to it, and the span. */
static size_t span_rows(const struct event_ref *refs, size_t n)
{
	size_t i = 1;

	while (i < n && refs[i].batch == refs[0].batch) {
		const struct event *e = event_get(refs[i]);

		if ((e->type != EVENT_POINT && e->type != EVENT_LINK) ||
		    e->id1 != event_get(refs[0])->id1)
			break;
		i++;
	}
	return i;
}

static void put_span(struct jaeger_writer *j, const struct event_ref *refs, size_t n)
{
	struct json_writer *w = j->w;
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	char process[16];

	json_begin_object(w);
	put_trace_id(w, "traceID", e->trace_id, e);
	put_span_id(w, "spanID", e->id1);
	if (e->flags)
		put_number(w, "flags", e->flags);
	json_put_name(w, "operationName");
	json_put_string(w, batch_text(b, e->name));
	put_references(w, refs, n);
	put_number(w, "startTime", e->time_ns / NS_PER_US);
	put_number(w, "duration",
		   e->end_ns > e->time_ns ? (e->end_ns - e->time_ns) / NS_PER_US : 0);
	put_tags(w, b, e);
	put_logs(w, refs, n);
	snprintf(process, sizeof(process), "p%u", process_of(j, refs[0]));
	json_put_name(w, "processID");
	json_put_cstr(w, process);
	put_warnings(w, b, find_list(b, e->attrs, warnings_key));
	json_end_object(w);
}

/* --- traces --- */

static size_t to_span(const struct event_ref *refs, size_t n, size_t at)
{
	while (at < n && event_get(refs[at])->type != EVENT_SPAN)
		at++;
	return at;
}

static bool has_trace_warnings(struct event_ref ref)
{
	return find_list(ref.batch, event_get(ref)->attrs, trace_warnings_key) != NULL;
}

/* Writes one trace beginning at refs[0], a span; returns how many rows it took. */
static size_t put_trace(struct jaeger_writer *j, const struct event_ref *refs, size_t n)
{
	struct json_writer *w = j->w;
	const struct event *first = event_get(refs[0]);
	size_t at = 0;

	j->process_n = 0;
	map_clear(&j->process_map);
	json_begin_object(w);
	put_trace_id(w, "traceID", first->trace_id, first);
	json_put_name(w, "spans");
	json_begin_array(w);
	/* A trace's warnings stand at its first span: another span with some begins another. */
	while (at < n && trace_id_eq(event_get(refs[at])->trace_id, first->trace_id) &&
	       (at == 0 || !has_trace_warnings(refs[at]))) {
		size_t rows = span_rows(refs + at, n - at);

		put_span(j, refs + at, rows);
		at = to_span(refs, n, at + rows);
	}
	json_end_array(w);
	put_processes(j);
	put_warnings(w, refs[0].batch, find_list(refs[0].batch, first->attrs, trace_warnings_key));
	json_end_object(w);
	return at;
}

void jaeger_json_put_trace(struct json_writer *w, const struct event_ref *refs, size_t n,
			   struct slice unnamed)
{
	struct jaeger_writer j = {.w = w, .unnamed = unnamed};

	map_init(&j.process_map);
	for (size_t at = to_span(refs, n, 0); at < n;)
		at += put_trace(&j, refs + at, n - at);
	map_done(&j.process_map);
	free(j.processes);
}

void jaeger_json_put_traces(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	json_begin_array(w);
	jaeger_json_put_trace(w, refs, n, slice_of(NULL, 0));
	json_end_array(w);
}

void jaeger_json_encode(const struct event_ref *refs, size_t n, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	json_put_name(&w, "data");
	jaeger_json_put_traces(&w, refs, n);
	put_number(&w, "total", 0);
	put_number(&w, "limit", 0);
	put_number(&w, "offset", 0);
	json_put_name(&w, "errors");
	json_put_null(&w);
	json_end_object(&w);
}
