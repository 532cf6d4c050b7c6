/* wire/otlp_json_encode.c - rows to OTLP traces and logs in JSON.
 *
 * Fields with their default are not written.  64-bit integers are strings, ids hex, enums numbers:
 * what the specification asks for. */
#include "wire/otlp_json.h"
#include "wire/otlp_json_put.h"

/* --- values --- */

static void put_pair(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	if (a->type == VALUE_RAW_PAIR) {
		otlp_json_put_raw_pair(w, batch_text(b, a->string));
		return;
	}
	json_begin_object(w);
	json_put_name(w, "key");
	json_put_string(w, batch_text(b, a->key));
	json_put_name(w, "value");
	otlp_json_put_value(w, b, a);
	json_end_object(w);
}

static void put_children(struct json_writer *w, const struct batch *b, const struct attr *list)
{
	struct value_range children = attr_children(b, list);

	json_put_name(w, list->type == VALUE_ARRAY ? "arrayValue" : "kvlistValue");
	json_begin_object(w);
	json_put_name(w, "values");
	json_begin_array(w);
	for (uint32_t i = 0; i < children.count; i++) {
		const struct attr *child = &b->nested[children.first + i];

		if (list->type == VALUE_ARRAY)
			otlp_json_put_value(w, b, child);
		else
			put_pair(w, b, child);
	}
	json_end_array(w);
	json_end_object(w);
}

void otlp_json_put_value(struct json_writer *w, const struct batch *b, const struct attr *value)
{
	if (value->type == VALUE_RAW) {
		otlp_json_put_raw(w, batch_text(b, value->string));
		return;
	}
	json_begin_object(w);
	switch (value->type) {
	case VALUE_STRING:
		json_put_name(w, "stringValue");
		json_put_string(w, batch_text(b, value->string));
		break;
	case VALUE_BOOL:
		json_put_name(w, "boolValue");
		json_put_bool(w, value->word);
		break;
	case VALUE_INT:
		json_put_name(w, "intValue");
		json_put_i64_text(w, attr_integer(b, value));
		break;
	case VALUE_DOUBLE:
		json_put_name(w, "doubleValue");
		json_put_double(w, attr_number(b, value));
		break;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		put_children(w, b, value);
		break;
	case VALUE_BYTES:
		json_put_name(w, "bytesValue");
		json_put_base64(w, batch_text(b, value->string));
		break;
	default:
		break; /* EMPTY: an AnyValue without a member */
	}
	json_end_object(w);
}

void otlp_json_put_attrs(struct json_writer *w, const struct batch *b, struct attr_range range)
{
	json_begin_array(w);
	for (uint32_t i = 0; i < range.count; i++)
		put_pair(w, b, &b->attrs[range.first + i]);
	json_end_array(w);
}

/* The kvlist that stands for an EntityRef has its keys from this format. */
static void put_entity(struct json_writer *w, const struct batch *b, const struct attr *entity)
{
	struct value_range parts = attr_children(b, entity);

	if (entity->type == VALUE_RAW) {
		otlp_json_put_raw_entity(w, batch_text(b, entity->string));
		return;
	}
	json_begin_object(w);
	for (uint32_t i = 0; i < parts.count; i++) {
		const struct attr *a = &b->nested[parts.first + i];
		struct value_range keys = attr_children(b, a);

		if (a->type == VALUE_STRING ? a->string == 0 : keys.count == 0)
			continue;
		json_put_key(w, batch_text(b, a->key));
		if (a->type == VALUE_STRING) {
			json_put_string(w, batch_text(b, a->string));
			continue;
		}
		json_begin_array(w);
		for (uint32_t k = 0; k < keys.count; k++)
			json_put_string(w, batch_text(b, b->nested[keys.first + k].string));
		json_end_array(w);
	}
	json_end_object(w);
}

void otlp_json_put_entities(struct json_writer *w, const struct batch *b,
			    const struct attr *entities)
{
	struct value_range list = attr_children(b, entities);

	json_begin_array(w);
	for (uint32_t i = 0; i < list.count; i++)
		put_entity(w, b, &b->nested[list.first + i]);
	json_end_array(w);
}

/* --- members --- */

static void put_point(struct json_writer *w, const struct batch *b, const struct event *e)
{
	json_begin_object(w);
	put_time(w, "timeUnixNano", e->time_ns);
	put_text(w, "name", b, e->name);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", batch_extra_get(b, e)->dropped_attributes);
	json_end_object(w);
}

/* An id of 0 is none. */
static void put_styled_id(struct json_writer *w, const struct otlp_json_style *style,
			  const char *name, span_id_t id)
{
	uint8_t bytes[8];

	if (id == 0)
		return;
	store_be64(bytes, id);
	style->id(w, name, bytes, sizeof(bytes));
}

static void put_link(struct json_writer *w, const struct otlp_json_style *style,
		     const struct batch *b, const struct event *e)
{
	const struct event_extra *x = batch_extra_get(b, e);

	json_begin_object(w);
	style->id(w, "traceId", x->link_trace.b, sizeof(x->link_trace.b));
	put_styled_id(w, style, "spanId", e->id2);
	put_text(w, "traceState", b, x->trace_state);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", x->dropped_attributes);
	put_number(w, "flags", e->flags);
	json_end_object(w);
}

/* The points or the links among the rows behind a span. */
static void put_rows(struct json_writer *w, const struct otlp_json_style *style,
		     const struct event_ref *refs, size_t n, enum event_type type)
{
	bool begun = false;

	for (size_t i = 1; i < n; i++) {
		const struct event *e = event_get(refs[i]);

		if (e->type != type)
			continue;
		if (!begun) {
			json_put_name(w, type == EVENT_POINT ? "events" : "links");
			json_begin_array(w);
			begun = true;
		}
		if (type == EVENT_POINT)
			put_point(w, refs[i].batch, e);
		else
			put_link(w, style, refs[i].batch, e);
	}
	if (begun)
		json_end_array(w);
}

/* The row at refs[0] and those behind it that belong to it. */
static size_t span_rows(const struct event_ref *refs, size_t n)
{
	const struct event *span = event_get(refs[0]);
	size_t i = 1;

	while (i < n && refs[i].batch == refs[0].batch) {
		const struct event *e = event_get(refs[i]);

		if ((e->type != EVENT_POINT && e->type != EVENT_LINK) || e->id1 != span->id1)
			break;
		i++;
	}
	return i;
}

size_t otlp_json_put_span(struct json_writer *w, const struct otlp_json_style *style,
			  const struct event_ref *refs, size_t n)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);
	size_t rows = span_rows(refs, n);

	json_begin_object(w);
	style->id(w, "traceId", e->trace_id.b, sizeof(e->trace_id.b));
	put_styled_id(w, style, "spanId", e->id1);
	put_text(w, "traceState", b, x->trace_state);
	put_styled_id(w, style, "parentSpanId", e->id2);
	put_number(w, "flags", e->flags);
	put_text(w, "name", b, e->name);
	style->kind(w, e->kind);
	put_time(w, "startTimeUnixNano", e->time_ns);
	put_time(w, "endTimeUnixNano", e->end_ns);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", x->dropped_attributes);
	put_rows(w, style, refs, rows, EVENT_POINT);
	put_number(w, "droppedEventsCount", x->dropped_points);
	put_rows(w, style, refs, rows, EVENT_LINK);
	put_number(w, "droppedLinksCount", x->dropped_links);
	style->status(w, b, e);
	json_end_object(w);
	return rows;
}

/* --- OTLP's own style --- */

static void put_hex_id(struct json_writer *w, const char *name, const uint8_t *bytes, size_t n)
{
	static const uint8_t none[sizeof(struct trace_id)];

	if (memcmp(bytes, none, n) == 0)
		return;
	json_put_name(w, name);
	json_put_hex(w, bytes, n);
}

static void put_kind(struct json_writer *w, int32_t kind)
{
	put_number(w, "kind", kind);
}

static size_t put_span(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	static const struct otlp_json_style style = {put_hex_id, put_kind, put_status};

	return otlp_json_put_span(w, &style, refs, n);
}

static size_t put_log(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);

	json_begin_object(w);
	put_time(w, "timeUnixNano", e->time_ns);
	put_time(w, "observedTimeUnixNano", x->observed_ns);
	put_number(w, "severityNumber", e->kind);
	put_text(w, "severityText", b, x->severity_text);
	if (x->body.type != VALUE_EMPTY) {
		json_put_name(w, "body");
		otlp_json_put_value(w, b, &x->body);
	}
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", x->dropped_attributes);
	put_number(w, "flags", e->flags);
	put_trace_id(w, "traceId", e->trace_id);
	put_span_id(w, "spanId", e->id1);
	put_text(w, "eventName", b, e->name);
	json_end_object(w);
	return 1;
}

/* --- groups --- */

static void put_resource(struct json_writer *w, const struct batch *b, const struct resource *r)
{
	json_put_name(w, "resource");
	json_begin_object(w);
	put_attrs(w, b, r->attrs);
	put_number(w, "droppedAttributesCount", r->dropped_attributes);
	if (r->entities.type == VALUE_ARRAY) {
		json_put_name(w, "entityRefs");
		otlp_json_put_entities(w, b, &r->entities);
	}
	json_end_object(w);
}

static void put_scope(struct json_writer *w, const struct batch *b, const struct scope *s)
{
	json_put_name(w, "scope");
	json_begin_object(w);
	put_text(w, "name", b, s->name);
	put_text(w, "version", b, s->version);
	put_attrs(w, b, s->attrs);
	put_number(w, "droppedAttributesCount", s->dropped_attributes);
	json_end_object(w);
}

/* What is left of the rows, from the first that begins a member on. */
struct rows {
	const struct event_ref *refs;
	size_t n;
};

static void pass_over(struct rows *rows, size_t n, const struct otlp_json_request *q)
{
	rows->refs += n;
	rows->n -= n;
	while (rows->n > 0 && !q->begins(event_get(rows->refs[0]))) {
		rows->refs++;
		rows->n--;
	}
}

static bool same_resource(struct event_ref a, struct event_ref b)
{
	return a.batch == b.batch && event_get(a)->resource == event_get(b)->resource;
}

static void put_scope_group(struct json_writer *w, const struct otlp_json_request *q,
			    struct rows *rows)
{
	struct event_ref lead = rows->refs[0];
	const struct scope *scope = &lead.batch->scopes[event_get(lead)->scope];

	json_begin_object(w);
	put_scope(w, lead.batch, scope);
	json_put_name(w, q->members);
	json_begin_array(w);
	while (rows->n > 0 && same_resource(lead, rows->refs[0]) &&
	       event_get(lead)->scope == event_get(rows->refs[0])->scope)
		pass_over(rows, q->put(w, rows->refs, rows->n), q);
	json_end_array(w);
	put_text(w, "schemaUrl", lead.batch, scope->schema_url);
	json_end_object(w);
}

/* The groups as items of a list. */
static void put_items(struct json_writer *w, const struct otlp_json_request *q,
		      const struct event_ref *refs, size_t n)
{
	struct rows rows = {refs, n};

	pass_over(&rows, 0, q);
	while (rows.n > 0) {
		struct event_ref lead = rows.refs[0];
		const struct resource *resource = &lead.batch->resources[event_get(lead)->resource];

		json_begin_object(w);
		put_resource(w, lead.batch, resource);
		json_put_name(w, q->scopes);
		json_begin_array(w);
		while (rows.n > 0 && same_resource(lead, rows.refs[0]))
			put_scope_group(w, q, &rows);
		json_end_array(w);
		put_text(w, "schemaUrl", lead.batch, resource->schema_url);
		json_end_object(w);
	}
}

void otlp_json_put_groups(struct json_writer *w, const struct otlp_json_request *q,
			  const struct event_ref *refs, size_t n)
{
	json_put_name(w, q->groups);
	json_begin_array(w);
	put_items(w, q, refs, n);
	json_end_array(w);
}

static bool is_log(const struct event *e)
{
	return e->type == EVENT_LOG;
}

static const struct otlp_json_request traces = {"resourceSpans", "scopeSpans", "spans",
						otlp_json_is_span, put_span};
static const struct otlp_json_request logs = {"resourceLogs", "scopeLogs", "logRecords", is_log,
					      put_log};

void otlp_json_put_resource_spans(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	put_items(w, &traces, refs, n);
}

void otlp_json_encode_traces(const struct event_ref *refs, size_t n, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	otlp_json_put_groups(&w, &traces, refs, n);
	json_end_object(&w);
}

void otlp_json_encode_logs(const struct event_ref *refs, size_t n, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	otlp_json_put_groups(&w, &logs, refs, n);
	json_end_object(&w);
}

static bool has(const struct event_ref *refs, size_t n, bool (*which)(const struct event *e))
{
	for (size_t i = 0; i < n; i++)
		if (which(event_get(refs[i])))
			return true;
	return false;
}

void otlp_json_encode(const struct event_ref *refs, size_t n, struct buffer *out)
{
	bool records = has(refs, n, is_log);
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	if (!records || has(refs, n, otlp_json_is_span))
		otlp_json_put_groups(&w, &traces, refs, n);
	if (records)
		otlp_json_put_groups(&w, &logs, refs, n);
	json_end_object(&w);
}
