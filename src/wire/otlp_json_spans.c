/* wire/otlp_json_spans.c - OTLP traces from JSON to rows, in one pass.
 *
 * Keys come in any order: a span's row is taken first, and its points and links get their ids at
 * its end. */
#include "base/cleanup.h"
#include "wire/otlp_json.h"
#include "wire/otlp_json_group.h"

static int32_t read_kind(struct otlp_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("SPAN_KIND_UNSPECIFIED", KIND_UNSPECIFIED),
		JSON_NAME("SPAN_KIND_INTERNAL", KIND_INTERNAL),
		JSON_NAME("SPAN_KIND_SERVER", KIND_SERVER),
		JSON_NAME("SPAN_KIND_CLIENT", KIND_CLIENT),
		JSON_NAME("SPAN_KIND_PRODUCER", KIND_PRODUCER),
		JSON_NAME("SPAN_KIND_CONSUMER", KIND_CONSUMER),
	};

	return otlp_json_enum(d, names, ARRAY_SIZE(names));
}

enum span_field {
	TRACE_ID,
	SPAN_ID,
	PARENT_ID,
	TRACE_STATE,
	NAME,
	KIND,
	START,
	END,
	ATTRIBUTES,
	DROPPED_ATTRIBUTES,
	POINTS,
	DROPPED_POINTS,
	STATUS,
	LINKS,
	DROPPED_LINKS,
	FLAGS
};

static void read_point(struct otlp_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("timeUnixNano", START),
		JSON_NAME("name", NAME),
		JSON_NAME("attributes", ATTRIBUTES),
		JSON_NAME("droppedAttributesCount", DROPPED_ATTRIBUTES),
		JSON_NAME("time_unix_nano", START),
		JSON_NAME("dropped_attributes_count", DROPPED_ATTRIBUTES),
	};
	struct event e = {.type = EVENT_POINT};
	uint32_t dropped = 0;
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		switch (field) {
		case START:
			json_u64(&d->r, &e.time_ns);
			break;
		case NAME:
			e.name = otlp_json_text(d);
			break;
		case ATTRIBUTES:
			e.attrs = otlp_json_attrs(d);
			break;
		case DROPPED_ATTRIBUTES:
			json_u32(&d->r, &dropped);
			break;
		default:
			json_skip(&d->r);
		}
	}
	*batch_event(d->batch) = e;
	if (dropped)
		batch_extra(d->batch, (uint32_t)d->batch->event_n - 1)->dropped_attributes =
			dropped;
}

/* False: an id of the link is unacceptable. */
static bool read_link(struct otlp_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("traceId", TRACE_ID),
		JSON_NAME("spanId", SPAN_ID),
		JSON_NAME("traceState", TRACE_STATE),
		JSON_NAME("attributes", ATTRIBUTES),
		JSON_NAME("droppedAttributesCount", DROPPED_ATTRIBUTES),
		JSON_NAME("flags", FLAGS),
		JSON_NAME("trace_id", TRACE_ID),
		JSON_NAME("span_id", SPAN_ID),
		JSON_NAME("trace_state", TRACE_STATE),
		JSON_NAME("dropped_attributes_count", DROPPED_ATTRIBUTES),
	};
	struct event e = {.type = EVENT_LINK};
	enum otlp_id trace = OTLP_ID_MISSING, id = OTLP_ID_MISSING;
	struct event_extra x = {0};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		switch (field) {
		case TRACE_ID:
			trace = otlp_json_trace_id(d, &x.link_trace);
			break;
		case SPAN_ID:
			id = otlp_json_span_id(d, &e.id2);
			break;
		case TRACE_STATE:
			x.trace_state = otlp_json_text(d);
			break;
		case ATTRIBUTES:
			e.attrs = otlp_json_attrs(d);
			break;
		case DROPPED_ATTRIBUTES:
			json_u32(&d->r, &x.dropped_attributes);
			break;
		case FLAGS:
			json_u32(&d->r, &e.flags);
			break;
		default:
			json_skip(&d->r);
		}
	}
	*batch_event(d->batch) = e;
	*batch_extra(d->batch, (uint32_t)d->batch->event_n - 1) = x;
	return trace != OTLP_ID_BAD && id != OTLP_ID_BAD;
}

static void read_status(struct otlp_json *d, int32_t *status, uint32_t *message)
{
	static const struct json_name names[] = {JSON_NAME("code", 'c'), JSON_NAME("message", 'm')};
	static const struct json_name codes[] = {
		JSON_NAME("STATUS_CODE_UNSET", STATUS_UNSET),
		JSON_NAME("STATUS_CODE_OK", STATUS_OK),
		JSON_NAME("STATUS_CODE_ERROR", STATUS_ERROR),
	};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == 'c')
			*status = otlp_json_enum(d, codes, ARRAY_SIZE(codes));
		else if (field == 'm')
			*message = otlp_json_text(d);
		else
			json_skip(&d->r);
	}
}

/* What a span says, while its row waits in the batch. */
struct span_parts {
	struct event row;
	struct event_extra extra;
	enum otlp_id trace, id, parent;
	bool bad_link;
	uint32_t index; /* of the row */
};

/* Takes the rows of a type behind a span away: their list comes a second time. */
static void drop_rows(struct batch *b, uint32_t span, enum event_type type)
{
	size_t kept = span + 1;

	for (size_t i = span + 1; i < b->event_n; i++)
		if (b->events[i].type != type)
			b->events[kept++] = b->events[i];
	b->event_n = MIN(kept, b->event_n);
}

static void read_span_field(struct otlp_json *d, struct span_parts *s, int field)
{
	struct event *e = &s->row;
	struct event_extra *x = &s->extra;

	switch (field) {
	case TRACE_ID:
		s->trace = otlp_json_trace_id(d, &e->trace_id);
		break;
	case SPAN_ID:
		s->id = otlp_json_span_id(d, &e->id1);
		break;
	case PARENT_ID:
		s->parent = otlp_json_span_id(d, &e->id2);
		break;
	case TRACE_STATE:
		x->trace_state = otlp_json_text(d);
		break;
	case NAME:
		e->name = otlp_json_text(d);
		break;
	case KIND:
		e->kind = read_kind(d);
		break;
	case START:
		json_u64(&d->r, &e->time_ns);
		break;
	case END:
		json_u64(&d->r, &e->end_ns);
		break;
	case ATTRIBUTES:
		e->attrs = otlp_json_attrs(d);
		break;
	case DROPPED_ATTRIBUTES:
		json_u32(&d->r, &x->dropped_attributes);
		break;
	case POINTS:
		drop_rows(d->batch, s->index, EVENT_POINT);
		json_array(&d->r);
		while (json_next_item(&d->r))
			read_point(d);
		break;
	case DROPPED_POINTS:
		json_u32(&d->r, &x->dropped_points);
		break;
	case STATUS:
		read_status(d, &e->status, &x->status_message);
		break;
	case LINKS:
		drop_rows(d->batch, s->index, EVENT_LINK);
		json_array(&d->r);
		while (json_next_item(&d->r))
			s->bad_link |= !read_link(d);
		break;
	case DROPPED_LINKS:
		json_u32(&d->r, &x->dropped_links);
		break;
	case FLAGS:
		json_u32(&d->r, &e->flags);
		break;
	default:
		json_skip(&d->r);
	}
}

static void read_span_fields(struct otlp_json *d, struct span_parts *s)
{
	static const struct json_name names[] = {
		JSON_NAME("traceId", TRACE_ID),
		JSON_NAME("spanId", SPAN_ID),
		JSON_NAME("traceState", TRACE_STATE),
		JSON_NAME("parentSpanId", PARENT_ID),
		JSON_NAME("flags", FLAGS),
		JSON_NAME("name", NAME),
		JSON_NAME("kind", KIND),
		JSON_NAME("startTimeUnixNano", START),
		JSON_NAME("endTimeUnixNano", END),
		JSON_NAME("attributes", ATTRIBUTES),
		JSON_NAME("droppedAttributesCount", DROPPED_ATTRIBUTES),
		JSON_NAME("events", POINTS),
		JSON_NAME("droppedEventsCount", DROPPED_POINTS),
		JSON_NAME("links", LINKS),
		JSON_NAME("droppedLinksCount", DROPPED_LINKS),
		JSON_NAME("status", STATUS),
		JSON_NAME("trace_id", TRACE_ID),
		JSON_NAME("span_id", SPAN_ID),
		JSON_NAME("trace_state", TRACE_STATE),
		JSON_NAME("parent_span_id", PARENT_ID),
		JSON_NAME("start_time_unix_nano", START),
		JSON_NAME("end_time_unix_nano", END),
		JSON_NAME("dropped_attributes_count", DROPPED_ATTRIBUTES),
		JSON_NAME("dropped_events_count", DROPPED_POINTS),
		JSON_NAME("dropped_links_count", DROPPED_LINKS),
	};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (!json_null(&d->r))
			read_span_field(d, s, field);
	}
}

static const char *span_objection(const struct span_parts *s)
{
	if (s->trace != OTLP_ID_GOOD)
		return s->trace == OTLP_ID_BAD ? "span with a traceId that is not 32 hex digits"
					       : "span without a traceId";
	if (s->id != OTLP_ID_GOOD)
		return s->id == OTLP_ID_BAD ? "span with a spanId that is not 16 hex digits"
					    : "span without a spanId";
	if (s->parent == OTLP_ID_BAD)
		return "span with a parentSpanId that is not 16 hex digits";
	if (s->bad_link)
		return "span with a link whose ids are not 32 and 16 hex digits";
	return NULL;
}

static void reverse_rows(struct event *rows, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct event e = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = e;
	}
}

/* Points before links, whichever list came first: two runs swap places by three reversals. */
static void order_rows(struct event *rows, size_t n)
{
	size_t links = 0;

	while (links < n && rows[links].type == EVENT_LINK)
		links++;
	if (links == 0 || links == n)
		return;
	reverse_rows(rows, links);
	reverse_rows(rows + links, n - links);
	reverse_rows(rows, n);
}

static bool extra_is_zero(const struct event_extra *x)
{
	return (x->trace_state | x->status_message | x->dropped_attributes | x->dropped_points |
		x->dropped_links) == 0;
}

static void read_span(struct otlp_json *d, uint32_t resource, uint32_t scope)
{
	struct batch *b = d->batch;
	struct batch_mark mark = batch_mark(b);
	size_t offset = (size_t)(d->r.at - d->r.start);
	uint32_t index = (uint32_t)b->event_n;
	struct span_parts s = {.row.resource = resource,
			       .row.scope = scope,
			       .row.type = EVENT_SPAN,
			       .index = index};
	const char *objection;

	batch_event(b);
	read_span_fields(d, &s);
	if (d->r.bad || b->failed)
		return;
	objection = span_objection(&s);
	if (objection) {
		batch_rewind(b, mark);
		decode_reject(d->tally, "%s (byte %zu)", objection, offset);
		return;
	}
	b->events[index] = s.row;
	if (!extra_is_zero(&s.extra))
		*batch_extra(b, index) = s.extra;
	for (size_t i = index + 1; i < b->event_n; i++) {
		struct event *e = &b->events[i];

		e->trace_id = s.row.trace_id;
		e->id1 = s.row.id1;
		e->resource = resource;
		e->scope = scope;
	}
	order_rows(b->events + index + 1, b->event_n - index - 1);
	d->tally->accepted++;
}

const struct otlp_json_shape otlp_json_traces = {
	.groups = {{"resourceSpans", 13}, {"resource_spans", 14}},
	.scopes = {{"scopeSpans", 10}, {"scope_spans", 11}},
	.members = {{"spans", 5}, {"spans", 5}},
	.member = read_span,
};

int otlp_json_decode_traces(struct slice body, struct batch *batch, struct decode_tally *tally,
			    struct error *error)
{
	static const struct otlp_json_shape *const shape = &otlp_json_traces;

	return otlp_json_groups(body, batch, tally, error, &shape, 1);
}
