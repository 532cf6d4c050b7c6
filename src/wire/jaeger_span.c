/* wire/jaeger_span.c - Jaeger's spans to rows.
 *
 * References stand before logs, and points go before links: so a span is walked twice, first to see
 * where its lists lie (and that they are JSON), then to read them in the order of the rows. */
#include "base/cleanup.h"
#include "wire/jaeger_decode_int.h"

#define NS_PER_US      1000
#define TIMESTAMP_MOST (UINT64_MAX / NS_PER_US)

static void read_tags(struct jaeger_json *d, struct span_parts *s)
{
	if (json_null(&d->r))
		return;
	json_array(&d->r);
	while (json_next_item(&d->r)) {
		struct attr a = jaeger_tag_read(&d->r, d->batch, &d->scratch);

		if (d->r.bad || jaeger_take_tag(d, s, &a))
			continue;
		batch_attr(d->batch, a);
		s->row.attrs.count++;
	}
	if (!(s->row.bits & JAEGER_STATUS_TAG) && (s->error_text || s->row.bits & JAEGER_ERROR_TAG))
		s->row.status = STATUS_ERROR;
}

static void add_attr(struct jaeger_json *d, struct event *e, struct attr a)
{
	if (a.type == VALUE_EMPTY)
		return;
	batch_attr(d->batch, a);
	e->attrs.count++;
}

static void add_row(struct jaeger_json *d, const struct span_parts *s, struct event e)
{
	e.format = FORMAT_JAEGER;
	e.trace_id = s->row.trace_id;
	e.id1 = s->row.id1;
	e.resource = s->row.resource;
	e.scope = s->row.scope;
	*batch_event(d->batch) = e;
}

/* {"timestamp":…,"fields":[…]} */
static void read_log(struct jaeger_json *d, struct span_parts *s)
{
	struct batch *b = d->batch;
	struct event e = {.type = EVENT_POINT, .bits = s->row.bits & EVENT_TRACE_ID_64};
	uint32_t dropped = 0;
	uint64_t us = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (slice_eq(name, SLICE("timestamp"))) {
			json_u64(&d->r, &us);
			continue;
		}
		if (!slice_eq(name, SLICE("fields"))) {
			json_skip(&d->r);
			continue;
		}
		e.attrs = (struct attr_range){(uint32_t)b->attr_n, 0};
		e.name = dropped = 0;
		json_array(&d->r);
		while (json_next_item(&d->r)) {
			struct attr a = jaeger_tag_read(&d->r, b, &d->scratch);
			struct slice key = batch_text(b, a.key);

			if (e.name == 0 && slice_eq(key, SLICE("event")) &&
			    jaeger_take_text(&a, &e.name))
				continue;
			if (dropped == 0 && slice_eq(key, SLICE("otel.dropped_attributes_count")) &&
			    jaeger_take_count(d->batch, &a, &dropped))
				continue;
			batch_attr(b, a);
			e.attrs.count++;
		}
	}
	if (us > TIMESTAMP_MOST)
		s->objection = "span with a log whose timestamp is out of range";
	e.time_ns = us * NS_PER_US;
	add_row(d, s, e);
	if (dropped)
		batch_extra(b, (uint32_t)b->event_n - 1)->dropped_attributes = dropped;
}

struct reference {
	uint32_t type; /* dictionary code */
	struct trace_id trace;
	span_id_t id;
	bool trace_is_64;
};

static struct reference read_reference(struct jaeger_json *d, struct span_parts *s)
{
	static const struct json_name names[] = {
		JSON_NAME("refType", 'r'), JSON_NAME("traceID", 't'), JSON_NAME("spanID", 's')};
	struct reference ref = {0};
	unsigned hint = 0;
	struct slice name;
	bool good = true;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		switch (json_name_find(names, ARRAY_SIZE(names), &hint, name)) {
		case 'r':
			ref.type = jaeger_read_text(d);
			break;
		case 't':
			good &= jaeger_read_trace_id(d, &ref.trace, &ref.trace_is_64);
			break;
		case 's':
			good &= jaeger_read_span_id(d, &ref.id);
			break;
		default:
			json_skip(&d->r);
		}
	}
	if (!good)
		s->objection = "span with a reference whose ids are not hex";
	return ref;
}

/* The parent, or a LINK row. */
static void add_reference(struct jaeger_json *d, struct span_parts *s, struct reference ref)
{
	struct batch *b = d->batch;
	struct slice type = batch_text(b, ref.type);
	struct event e = {.type = EVENT_LINK,
			  .id2 = ref.id,
			  .bits = ref.trace_is_64 ? EVENT_TRACE_ID_64 : 0,
			  .attrs.first = (uint32_t)b->attr_n};

	if (slice_eq(type, SLICE("CHILD_OF"))) {
		if (!s->has_parent && ref.id && trace_id_eq(ref.trace, s->row.trace_id)) {
			s->has_parent = true;
			s->row.id2 = ref.id;
			return;
		}
		batch_attr_string(b, SLICE("opentracing.ref_type"), SLICE("child_of"));
		e.attrs.count = 1;
	} else if (type.n > 0 && !slice_eq(type, SLICE("FOLLOWS_FROM"))) {
		batch_attr(b, (struct attr){.key = batch_string(b, SLICE("opentracing.ref_type")),
					    .type = VALUE_STRING,
					    .string = ref.type});
		e.attrs.count = 1;
	}
	add_row(d, s, e);
	batch_extra(b, (uint32_t)b->event_n - 1)->link_trace = ref.trace;
}

static void read_lists(struct jaeger_json *d, struct span_parts *s)
{
	struct json_reader here;

	if (jaeger_go_back(d, &s->logs, &here)) {
		if (!json_null(&d->r)) {
			json_array(&d->r);
			while (json_next_item(&d->r))
				read_log(d, s);
		}
		jaeger_go_on(d, &here);
	}
	if (jaeger_go_back(d, &s->references, &here)) {
		if (!json_null(&d->r)) {
			json_array(&d->r);
			while (json_next_item(&d->r)) {
				struct reference ref = read_reference(d, s);

				if (!d->r.bad)
					add_reference(d, s, ref);
			}
		}
		jaeger_go_on(d, &here);
	}
}

/* Tags and warnings: the span's attributes, side by side. */
static void read_attrs(struct jaeger_json *d, struct span_parts *s)
{
	struct json_reader here;

	s->row.attrs = (struct attr_range){(uint32_t)d->batch->attr_n, 0};
	if (jaeger_go_back(d, &s->tags, &here)) {
		read_tags(d, s);
		jaeger_go_on(d, &here);
	}
	if (jaeger_go_back(d, &s->warnings, &here)) {
		add_attr(d, &s->row, jaeger_read_warnings(d, "jaeger.warnings"));
		jaeger_go_on(d, &here);
	}
	add_attr(d, &s->row, d->trace_warnings);
}

static void objection_to(struct span_parts *s)
{
	uint64_t end;

	if (s->objection)
		return;
	if (trace_id_is_zero(s->row.trace_id))
		s->objection = s->bad_trace ? "span with a traceID that is not 1 to 32 hex digits"
					    : "span without a traceID";
	else if (s->row.id1 == 0)
		s->objection = "span without a spanID";
	else if (__builtin_add_overflow(s->start_us, s->duration_us, &end) || end > TIMESTAMP_MOST)
		s->objection = "span whose startTime and duration are out of range";
}

enum span_field {
	TRACE_ID,
	SPAN_ID,
	PARENT_ID,
	FLAGS,
	NAME,
	REFERENCES,
	START,
	DURATION,
	TAGS,
	LOGS,
	PROCESS_ID,
	PROCESS,
	WARNINGS
};

static void read_span_field(struct jaeger_json *d, struct span_parts *s, int field)
{
	struct event *e = &s->row;
	bool is_64 = false;

	switch (field) {
	case TRACE_ID:
		s->bad_trace = !jaeger_read_trace_id(d, &e->trace_id, &is_64);
		e->bits = is_64 ? EVENT_TRACE_ID_64 : 0;
		break;
	case SPAN_ID:
		if (!jaeger_read_span_id(d, &e->id1))
			s->objection = "span with a spanID that is not 1 to 16 hex digits";
		break;
	case PARENT_ID:
		if (!jaeger_read_span_id(d, &s->legacy_parent))
			s->objection = "span with a parentSpanID that is not 1 to 16 hex digits";
		break;
	case FLAGS:
		json_u32(&d->r, &e->flags);
		break;
	case NAME:
		e->name = jaeger_read_text(d);
		break;
	case REFERENCES:
		jaeger_pass(d, &s->references);
		break;
	case START:
		json_u64(&d->r, &s->start_us);
		break;
	case DURATION:
		json_u64(&d->r, &s->duration_us);
		break;
	case TAGS:
		jaeger_pass(d, &s->tags);
		break;
	case LOGS:
		jaeger_pass(d, &s->logs);
		break;
	case PROCESS_ID:
		if (!s->has_process)
			e->resource = jaeger_find_process(d, jaeger_read_text(d));
		else
			json_skip(&d->r);
		s->has_process = true;
		break;
	case PROCESS: /* as Jaeger's Elasticsearch documents have it */
		e->resource = jaeger_read_process(d);
		s->has_process = true;
		break;
	case WARNINGS:
		jaeger_pass(d, &s->warnings);
		break;
	default:
		json_skip(&d->r);
	}
}

static void read_span_fields(struct jaeger_json *d, struct span_parts *s)
{
	static const struct json_name names[] = {
		JSON_NAME("traceID", TRACE_ID),
		JSON_NAME("spanID", SPAN_ID),
		JSON_NAME("parentSpanID", PARENT_ID),
		JSON_NAME("flags", FLAGS),
		JSON_NAME("operationName", NAME),
		JSON_NAME("references", REFERENCES),
		JSON_NAME("startTime", START),
		JSON_NAME("duration", DURATION),
		JSON_NAME("tags", TAGS),
		JSON_NAME("logs", LOGS),
		JSON_NAME("processID", PROCESS_ID),
		JSON_NAME("process", PROCESS),
		JSON_NAME("warnings", WARNINGS),
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

static bool extra_is_zero(const struct event_extra *x)
{
	return (x->trace_state | x->status_message | x->dropped_attributes | x->dropped_points |
		x->dropped_links) == 0;
}

void jaeger_read_span(struct jaeger_json *d)
{
	struct batch *b = d->batch;
	struct batch_mark mark = batch_mark(b);
	size_t offset = (size_t)(d->r.at - d->r.start);
	uint32_t index = (uint32_t)b->event_n;
	struct span_parts s = {.row.type = EVENT_SPAN,
			       .row.format = FORMAT_JAEGER,
			       .row.trace_id = d->trace_id,
			       .row.bits = d->trace_is_64 ? EVENT_TRACE_ID_64 : 0,
			       .bad_trace = d->bad_trace};

	batch_event(b);
	read_span_fields(d, &s);
	if (!s.has_process)
		s.row.resource = jaeger_find_process(d, 0);
	/* Resources and scopes may be shared with spans to come: they stay, whatever happens. */
	mark.resource_n = b->resource_n;
	mark.attr_n = b->attr_n;
	mark.nested_n = b->nested_n;
	read_attrs(d, &s);
	s.row.scope = jaeger_find_scope(d, &s.scope);
	mark.scope_n = b->scope_n;
	read_lists(d, &s);
	if (d->r.bad || b->failed)
		return;
	objection_to(&s);
	if (s.objection) {
		batch_rewind(b, mark);
		decode_reject(d->tally, "%s (byte %zu)", s.objection, offset);
		return;
	}
	if (!s.has_parent)
		s.row.id2 = s.legacy_parent;
	s.row.time_ns = s.start_us * NS_PER_US;
	s.row.end_ns = (s.start_us + s.duration_us) * NS_PER_US;
	b->events[index] = s.row;
	if (!extra_is_zero(&s.extra))
		*batch_extra(b, index) = s.extra;
	d->trace_warnings.type = VALUE_EMPTY;
	d->tally->accepted++;
}
