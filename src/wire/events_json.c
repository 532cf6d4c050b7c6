/* wire/events_json.c - native events in JSON, both ways. */
#include "wire/events_json.h"

#include "base/cleanup.h"
#include "wire/events.h"
#include "wire/otlp_json_group.h"
#include "wire/otlp_json_put.h"

/* --- decoding --- */

enum field {
	TRACE_ID,
	TYPE,
	ID1,
	ID2,
	UNIT,
	SEQ,
	TIME,
	END_TIME,
	NAME,
	ATTRIBUTES,
	DROPPED_ATTRIBUTES,
	KIND,
	STATUS,
	VALUE,
	LINK_TRACE_ID,
	TRACE_STATE,
	FLAGS,
	SEVERITY_NUMBER,
	SEVERITY_TEXT,
	OBSERVED_TIME,
	DROPPED_POINTS,
	DROPPED_LINKS,
	ORIGIN,
	MARKS,
};

static const struct json_name names[] = {
	JSON_NAME("traceId", TRACE_ID),
	JSON_NAME("type", TYPE),
	JSON_NAME("id1", ID1),
	JSON_NAME("id2", ID2),
	JSON_NAME("unit", UNIT),
	JSON_NAME("seq", SEQ),
	JSON_NAME("timeUnixNano", TIME),
	JSON_NAME("endTimeUnixNano", END_TIME),
	JSON_NAME("name", NAME),
	JSON_NAME("attributes", ATTRIBUTES),
	JSON_NAME("droppedAttributesCount", DROPPED_ATTRIBUTES),
	JSON_NAME("kind", KIND),
	JSON_NAME("status", STATUS),
	JSON_NAME("value", VALUE),
	JSON_NAME("linkTraceId", LINK_TRACE_ID),
	JSON_NAME("traceState", TRACE_STATE),
	JSON_NAME("flags", FLAGS),
	JSON_NAME("severityNumber", SEVERITY_NUMBER),
	JSON_NAME("severityText", SEVERITY_TEXT),
	JSON_NAME("observedTimeUnixNano", OBSERVED_TIME),
	JSON_NAME("droppedPointsCount", DROPPED_POINTS),
	JSON_NAME("droppedLinksCount", DROPPED_LINKS),
	JSON_NAME("origin", ORIGIN),
	JSON_NAME("marks", MARKS),
	JSON_NAME("trace_id", TRACE_ID),
	JSON_NAME("time_unix_nano", TIME),
	JSON_NAME("end_time_unix_nano", END_TIME),
	JSON_NAME("dropped_attributes_count", DROPPED_ATTRIBUTES),
	JSON_NAME("link_trace_id", LINK_TRACE_ID),
	JSON_NAME("trace_state", TRACE_STATE),
	JSON_NAME("severity_number", SEVERITY_NUMBER),
	JSON_NAME("severity_text", SEVERITY_TEXT),
	JSON_NAME("observed_time_unix_nano", OBSERVED_TIME),
	JSON_NAME("dropped_points_count", DROPPED_POINTS),
	JSON_NAME("dropped_links_count", DROPPED_LINKS),
};

/* A name, with or without its prefix, or a number; a name nobody knows is -1. */
static int64_t read_type(struct otlp_json *d)
{
	struct json_string text;
	int64_t number = 0;
	int type;

	if (json_peek(&d->r) != JSON_STRING) {
		json_i64(&d->r, &number);
		return number < 0 ? -1 : number;
	}
	if (!json_string(&d->r, &text))
		return -1;
	if (slice_eq(text.raw, SLICE("EVENT_TYPE_UNSPECIFIED")))
		return 0;
	type = events_type_parse(text.raw);
	return type < 0 ? -1 : (int64_t)events_type_number((enum event_type)type);
}

static int32_t read_kind(struct otlp_json *d)
{
	static const struct json_name kinds[] = {
		JSON_NAME("SPAN_KIND_UNSPECIFIED", KIND_UNSPECIFIED),
		JSON_NAME("SPAN_KIND_INTERNAL", KIND_INTERNAL),
		JSON_NAME("SPAN_KIND_SERVER", KIND_SERVER),
		JSON_NAME("SPAN_KIND_CLIENT", KIND_CLIENT),
		JSON_NAME("SPAN_KIND_PRODUCER", KIND_PRODUCER),
		JSON_NAME("SPAN_KIND_CONSUMER", KIND_CONSUMER),
	};

	return otlp_json_enum(d, kinds, ARRAY_SIZE(kinds));
}

static void read_origin(struct otlp_json *d, struct event *e)
{
	static const struct json_name origins[] = {
		JSON_NAME("ORIGIN_NATIVE", 0),
		JSON_NAME("ORIGIN_OTLP", 1),
		JSON_NAME("ORIGIN_ZIPKIN", 2),
		JSON_NAME("ORIGIN_JAEGER", 3),
	};
	int32_t origin = otlp_json_enum(d, origins, ARRAY_SIZE(origins));
	int format = events_format_find((uint32_t)origin);

	if (format >= 0)
		e->format = (uint8_t)format;
}

static void read_status(struct otlp_json *d, struct events_row *row)
{
	static const struct json_name codes[] = {
		JSON_NAME("STATUS_CODE_UNSET", STATUS_UNSET),
		JSON_NAME("STATUS_CODE_OK", STATUS_OK),
		JSON_NAME("STATUS_CODE_ERROR", STATUS_ERROR),
	};
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (slice_eq(name, SLICE("message")))
			row->extra.status_message = otlp_json_text(d);
		else if (slice_eq(name, SLICE("code")))
			row->event.status = otlp_json_enum(d, codes, ARRAY_SIZE(codes));
		else
			json_skip(&d->r);
	}
}

static void read_trace_id(struct otlp_json *d, struct events_row *row, struct trace_id *id)
{
	row->bad_length |= otlp_json_trace_id(d, id) == OTLP_ID_BAD;
}

static void read_id(struct otlp_json *d, struct events_row *row, span_id_t *id)
{
	row->bad_length |= otlp_json_span_id(d, id) == OTLP_ID_BAD;
}

/* Kind and severity share a place in the model; which it is shows when the type is known. */
struct both {
	int32_t kind, severity;
};

static void read_field(struct otlp_json *d, struct events_row *row, struct both *both, int field)
{
	struct event *e = &row->event;
	struct event_extra *x = &row->extra;
	uint32_t bits = 0;

	switch (field) {
	case TRACE_ID:
		read_trace_id(d, row, &e->trace_id);
		break;
	case TYPE:
		row->type = read_type(d);
		break;
	case ID1:
		read_id(d, row, &e->id1);
		break;
	case ID2:
		read_id(d, row, &e->id2);
		break;
	case UNIT:
		read_id(d, row, &row->place.unit);
		break;
	case SEQ:
		json_u64(&d->r, &row->place.seq);
		break;
	case TIME:
		json_u64(&d->r, &e->time_ns);
		break;
	case END_TIME:
		json_u64(&d->r, &e->end_ns);
		break;
	case NAME:
		e->name = otlp_json_text(d);
		break;
	case ATTRIBUTES:
		e->attrs = otlp_json_attrs(d);
		break;
	case DROPPED_ATTRIBUTES:
		json_u32(&d->r, &x->dropped_attributes);
		break;
	case KIND:
		both->kind = read_kind(d);
		break;
	case STATUS:
		read_status(d, row);
		break;
	case VALUE:
		x->body = otlp_json_value(d);
		break;
	case LINK_TRACE_ID:
		read_trace_id(d, row, &x->link_trace);
		break;
	case TRACE_STATE:
		x->trace_state = otlp_json_text(d);
		break;
	case FLAGS:
		json_u32(&d->r, &e->flags);
		break;
	case SEVERITY_NUMBER:
		both->severity = otlp_json_enum(d, NULL, 0);
		break;
	case SEVERITY_TEXT:
		x->severity_text = otlp_json_text(d);
		break;
	case OBSERVED_TIME:
		json_u64(&d->r, &x->observed_ns);
		break;
	case DROPPED_POINTS:
		json_u32(&d->r, &x->dropped_points);
		break;
	case DROPPED_LINKS:
		json_u32(&d->r, &x->dropped_links);
		break;
	case ORIGIN:
		read_origin(d, e);
		break;
	case MARKS:
		json_u32(&d->r, &bits);
		e->bits = (uint16_t)bits;
		break;
	default:
		json_skip(&d->r);
	}
}

static void read_event(struct otlp_json *d, uint32_t resource, uint32_t scope)
{
	struct batch_mark mark = batch_mark(d->batch);
	size_t offset = (size_t)(d->r.at - d->r.start);
	struct events_row row = {
		.event = {.resource = resource, .scope = scope, .format = FORMAT_NATIVE}};
	struct both both = {0};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (!json_null(&d->r))
			read_field(d, &row, &both, field);
	}
	if (d->r.bad || d->batch->failed)
		return;
	row.event.kind =
		row.type == (int64_t)events_type_number(EVENT_LOG) ? both.severity : both.kind;
	events_row_add(d->batch, &row, mark, d->tally, offset);
}

int events_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error)
{
	static const struct otlp_json_shape shape = {
		.groups = {{"resourceEvents", 14}, {"resource_events", 15}},
		.scopes = {{"scopeEvents", 11}, {"scope_events", 12}},
		.members = {{"events", 6}, {"events", 6}},
		.member = read_event,
	};
	const struct otlp_json_shape *only = &shape;

	return otlp_json_groups(body, batch, tally, error, &only, 1);
}

/* --- encoding --- */

static size_t put_event(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);
	struct event_place place = event_place(refs[0]);

	json_begin_object(w);
	put_trace_id(w, "traceId", e->trace_id);
	json_put_name(w, "type");
	json_put_cstr(w, events_type_name(e->type));
	put_span_id(w, "id1", e->id1);
	put_span_id(w, "id2", e->id2);
	put_span_id(w, "unit", place.unit);
	put_time(w, "seq", place.seq);
	put_time(w, "timeUnixNano", e->time_ns);
	put_time(w, "endTimeUnixNano", e->end_ns);
	put_text(w, "name", b, e->name);
	put_attrs(w, b, e->attrs);
	put_number(w, "droppedAttributesCount", x->dropped_attributes);
	put_number(w, e->type == EVENT_LOG ? "severityNumber" : "kind", e->kind);
	put_status(w, b, e);
	if (x->body.type != VALUE_EMPTY) {
		json_put_name(w, "value");
		otlp_json_put_value(w, b, &x->body);
	}
	put_trace_id(w, "linkTraceId", x->link_trace);
	put_text(w, "traceState", b, x->trace_state);
	put_number(w, "flags", e->flags);
	put_text(w, "severityText", b, x->severity_text);
	put_time(w, "observedTimeUnixNano", x->observed_ns);
	put_number(w, "droppedPointsCount", x->dropped_points);
	put_number(w, "droppedLinksCount", x->dropped_links);
	put_number(w, "origin", events_origin(e->format));
	put_number(w, "marks", e->bits);
	json_end_object(w);
	return 1;
}

static bool any_row(const struct event *e)
{
	return true;
}

void events_json_encode(const struct event_ref *refs, size_t n, struct buffer *out)
{
	static const struct otlp_json_request request = {"resourceEvents", "scopeEvents", "events",
							 any_row, put_event};
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	otlp_json_put_groups(&w, &request, refs, n);
	json_end_object(&w);
}

void events_json_response(const struct decode_tally *tally, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	if (tally->rejected > 0) {
		json_put_name(&w, "partialSuccess");
		json_begin_object(&w);
		json_put_name(&w, "rejectedEvents");
		json_put_u64_text(&w, tally->rejected);
		json_put_name(&w, "errorMessage");
		json_put_cstr(&w, tally->reason);
		json_end_object(&w);
	}
	json_end_object(&w);
}
