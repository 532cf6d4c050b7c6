/* wire/tempo_json.c - spans in the JSON that Tempo answers. */
#include "wire/tempo_json.h"

#include "base/cleanup.h"
#include "wire/otlp_json_put.h"

static void put_id(struct json_writer *w, const char *name, const void *bytes, size_t n)
{
	json_put_name(w, name);
	json_put_base64(w, slice_of(bytes, n));
}

static void put_span_bytes(struct json_writer *w, const char *name, span_id_t id)
{
	uint8_t bytes[8];

	if (id == 0)
		return;
	store_be64(bytes, id);
	put_id(w, name, bytes, sizeof(bytes));
}

/* The name of an enum's value; a number that has none stands as it is. */
static void put_enum(struct json_writer *w, const char *name, int32_t value,
		     const char *const *names, size_t n)
{
	if (value == 0)
		return;
	json_put_name(w, name);
	if (value > 0 && (size_t)value < n)
		json_put_cstr(w, names[value]);
	else
		json_put_i64(w, value);
}

static void put_kind(struct json_writer *w, int32_t kind)
{
	static const char *const names[] = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
					    "SPAN_KIND_SERVER",      "SPAN_KIND_CLIENT",
					    "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};

	put_enum(w, "kind", kind, names, ARRAY_SIZE(names));
}

/* There even where it says nothing. */
static void put_whole_status(struct json_writer *w, const struct batch *b, const struct event *e)
{
	static const char *const names[] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
					    "STATUS_CODE_ERROR"};

	json_put_name(w, "status");
	json_begin_object(w);
	put_text(w, "message", b, batch_extra_get(b, e)->status_message);
	put_enum(w, "code", e->status, names, ARRAY_SIZE(names));
	json_end_object(w);
}

static void put_point(struct json_writer *w, const struct batch *b, const struct event *e)
{
	json_begin_object(w);
	put_time(w, "timeUnixNano", e->time_ns);
	put_text(w, "name", b, e->name);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", batch_extra_get(b, e)->dropped_attributes);
	json_end_object(w);
}

static void put_link(struct json_writer *w, const struct batch *b, const struct event *e)
{
	const struct event_extra *x = batch_extra_get(b, e);

	json_begin_object(w);
	put_id(w, "traceId", x->link_trace.b, sizeof(x->link_trace.b));
	put_span_bytes(w, "spanId", e->id2);
	put_text(w, "traceState", b, x->trace_state);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", x->dropped_attributes);
	put_number(w, "flags", e->flags);
	json_end_object(w);
}

/* The points or the links among the rows behind a span. */
static void put_rows(struct json_writer *w, const struct event_ref *refs, size_t n,
		     enum event_type type)
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
			put_link(w, refs[i].batch, e);
	}
	if (begun)
		json_end_array(w);
}

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

static size_t put_span(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);
	size_t rows = span_rows(refs, n);

	json_begin_object(w);
	put_id(w, "traceId", e->trace_id.b, sizeof(e->trace_id.b));
	put_span_bytes(w, "spanId", e->id1);
	put_text(w, "traceState", b, x->trace_state);
	put_span_bytes(w, "parentSpanId", e->id2);
	put_number(w, "flags", e->flags);
	put_text(w, "name", b, e->name);
	put_kind(w, e->kind);
	put_time(w, "startTimeUnixNano", e->time_ns);
	put_time(w, "endTimeUnixNano", e->end_ns);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", x->dropped_attributes);
	put_rows(w, refs, rows, EVENT_POINT);
	put_number(w, "droppedEventsCount", x->dropped_points);
	put_rows(w, refs, rows, EVENT_LINK);
	put_number(w, "droppedLinksCount", x->dropped_links);
	put_whole_status(w, b, e);
	json_end_object(w);
	return rows;
}

static bool is_span(const struct event *e)
{
	return e->type == EVENT_SPAN;
}

void tempo_json_put_traces(struct json_writer *w, const char *name, const struct event_ref *refs,
			   size_t n)
{
	const struct otlp_json_request request = {name, "scopeSpans", "spans", is_span, put_span};

	otlp_json_put_groups(w, &request, refs, n);
}
