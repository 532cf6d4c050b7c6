/* wire/jaeger_json_decode.c - Jaeger's JSON to rows.
 *
 * Processes and warnings stand behind the spans that need them, and within a span references stand
 * before logs: so a trace and a span are walked twice, first to see where their parts lie (and that
 * they are JSON), then to read them in the order of the rows. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "wire/jaeger_json.h"
#include "wire/jaeger_tag_int.h"
#include "wire/json_reader.h"

#define NS_PER_US      1000
#define TIMESTAMP_MOST (UINT64_MAX / NS_PER_US)

/* A process of the trace being read. */
struct process {
	uint32_t id; /* dictionary code */
	uint32_t resource;
};

/* State of one decoding run. */
struct jaeger_json {
	struct json_reader r;
	struct batch *batch;
	struct decode_tally *tally;
	struct buffer scratch;
	struct process *processes; /* of this trace */
	size_t process_n, process_capacity;
	struct map process_map, scope_map;
	uint32_t nobody; /* the resource of spans without a process, once `has_nobody` */
	bool has_nobody;
	/* What the trace says for its spans: */
	struct trace_id trace_id;
	bool trace_is_64, bad_trace;
	struct attr trace_warnings; /* EMPTY once the first span has them */
};

/* A place in the text to come back to; at is NULL when there is none. */
typedef struct json_reader place;

static void pass(struct jaeger_json *d, place *ret_place)
{
	*ret_place = d->r;
	json_skip(&d->r);
}

/* Goes back to a place, and later on from where we were, unless the reader has stopped. */
static bool go_back(struct jaeger_json *d, const place *to, place *ret_here)
{
	if (!to->at || d->r.bad)
		return false;
	*ret_here = d->r;
	d->r = *to;
	return true;
}

static void go_on(struct jaeger_json *d, const place *here)
{
	if (!d->r.bad)
		d->r = *here;
}

static void out_of_memory(struct jaeger_json *d)
{
	d->batch->failed = -ENOMEM;
	json_stop(&d->r, d->r.at, "out of memory");
}

static struct slice read_slice(struct jaeger_json *d)
{
	struct json_string s;
	struct slice text = {0};

	if (!json_null(&d->r) && json_string(&d->r, &s)) {
		text = json_text(s, &d->scratch);
		if (d->scratch.failed)
			out_of_memory(d);
	}
	return text;
}

static uint32_t read_text(struct jaeger_json *d)
{
	return batch_string(d->batch, read_slice(d));
}

static bool all_zeros(struct slice hex)
{
	for (size_t i = 0; i < hex.n; i++)
		if (hex.p[i] != '0')
			return false;
	return true;
}

/* Hex of any length up to the id's; "" and zeros are none.  False when it is something else. */
static bool read_trace_id(struct jaeger_json *d, struct trace_id *id, bool *is_64)
{
	struct slice hex = read_slice(d);

	*id = (struct trace_id){0};
	*is_64 = hex.n <= SPAN_ID_HEX;
	return (hex.n <= TRACE_ID_HEX && all_zeros(hex)) || trace_id_parse(hex, id) == 0;
}

static bool read_span_id(struct jaeger_json *d, span_id_t *id)
{
	struct slice hex = read_slice(d);

	*id = 0;
	return (hex.n <= SPAN_ID_HEX && all_zeros(hex)) || span_id_parse(hex, id) == 0;
}

/* --- processes and scopes --- */

static bool same_process(const void *context, uint32_t value, const void *key)
{
	const struct jaeger_json *d = context;

	return d->processes[value].id == *(const uint32_t *)key;
}

static void read_tags_plain(struct jaeger_json *d, struct attr_range *range)
{
	if (json_null(&d->r))
		return;
	json_array(&d->r);
	while (json_next_item(&d->r)) {
		batch_attr(d->batch, jaeger_tag_read(&d->r, d->batch, &d->scratch));
		range->count++;
	}
}

/* The service's name stands first, wherever it was. */
static void service_first(struct batch *b, struct attr_range attrs)
{
	struct attr *run = b->attrs + attrs.first;

	for (uint32_t i = 0; i < attrs.count; i++) {
		struct attr a = run[i];

		if (a.type != VALUE_STRING || a.string == 0 ||
		    !slice_eq(batch_text(b, a.key), SLICE("service.name")))
			continue;
		memmove(run + 1, run, i * sizeof(*run));
		run[0] = a;
		return;
	}
}

/* {"serviceName":…,"tags":[…]} */
static uint32_t read_process(struct jaeger_json *d)
{
	struct batch *b = d->batch;
	uint32_t index = batch_resource(b), service = 0;
	struct attr_range attrs;
	place tags = {0}, here;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (slice_eq(name, SLICE("serviceName")))
			service = read_text(d);
		else if (slice_eq(name, SLICE("tags")))
			pass(d, &tags);
		else
			json_skip(&d->r);
	}
	attrs = (struct attr_range){(uint32_t)b->attr_n, 0};
	if (service) {
		batch_attr(b, (struct attr){.key = batch_string(b, SLICE("service.name")),
					    .type = VALUE_STRING,
					    .string = service});
		attrs.count++;
	}
	if (go_back(d, &tags, &here)) {
		read_tags_plain(d, &attrs);
		go_on(d, &here);
	}
	if (b->failed)
		return 0;
	b->resources[index].attrs = attrs;
	service_first(b, attrs);
	return index;
}

static void read_processes(struct jaeger_json *d)
{
	struct json_string key;

	if (json_null(&d->r))
		return;
	json_object(&d->r);
	while (json_next_key(&d->r, &key)) {
		struct slice text = json_text(key, &d->scratch);
		uint32_t id = batch_string(d->batch, text);
		uint64_t hash = hash_u64(id, d->process_map.seed);
		uint32_t at = map_get(&d->process_map, hash, same_process, d, &id);

		if (at == MAP_NONE) {
			at = (uint32_t)d->process_n;
			if (d->scratch.failed ||
			    !vec_reserve(&d->processes, &d->process_capacity, d->process_n + 1,
					 sizeof(*d->processes)) ||
			    !map_put(&d->process_map, hash, at)) {
				out_of_memory(d);
				return;
			}
			d->processes[d->process_n++].id = id;
		}
		d->processes[at].resource = read_process(d);
	}
}

static uint32_t find_process(struct jaeger_json *d, uint32_t id)
{
	uint32_t at =
		map_get(&d->process_map, hash_u64(id, d->process_map.seed), same_process, d, &id);

	if (at != MAP_NONE)
		return d->processes[at].resource;
	if (!d->has_nobody) {
		d->nobody = batch_resource(d->batch);
		d->has_nobody = true;
	}
	return d->nobody;
}

static bool same_scope(const void *context, uint32_t value, const void *key)
{
	const struct batch *b = context;
	const struct scope *wanted = key;

	return b->scopes[value].name == wanted->name && b->scopes[value].version == wanted->version;
}

static uint32_t find_scope(struct jaeger_json *d, const struct scope *wanted)
{
	struct batch *b = d->batch;
	uint64_t both = (uint64_t)wanted->name << 32 | wanted->version;
	uint64_t hash = hash_u64(both, d->scope_map.seed);
	uint32_t at = map_get(&d->scope_map, hash, same_scope, b, wanted);

	if (at != MAP_NONE)
		return at;
	at = batch_scope(b);
	if (b->failed)
		return 0;
	b->scopes[at] = *wanted;
	if (!map_put(&d->scope_map, hash, at))
		out_of_memory(d);
	return at;
}

/* --- spans --- */

/* Tags that mean something to us; each is taken once. */
enum known_tag {
	SPAN_KIND,
	ERROR,
	STATUS_CODE,
	STATUS_DESCRIPTION,
	TRACE_STATE,
	SCOPE_NAME,
	SCOPE_VERSION,
	DROPPED_ATTRIBUTES,
	DROPPED_POINTS,
	DROPPED_LINKS,
	KNOWN_TAGS
};

/* What a span says, and where its lists stand. */
struct span_parts {
	struct event row;
	struct event_extra extra;
	struct scope scope;
	uint64_t start_us, duration_us;
	bool bad_trace, has_parent, has_process, error_text;
	bool taken[KNOWN_TAGS];
	span_id_t legacy_parent;
	const char *objection;
	place references, tags, logs, warnings;
};

static bool take_kind(struct slice text, int32_t *kind)
{
	static const struct json_name kinds[] = {
		JSON_NAME("internal", KIND_INTERNAL), JSON_NAME("server", KIND_SERVER),
		JSON_NAME("client", KIND_CLIENT),     JSON_NAME("producer", KIND_PRODUCER),
		JSON_NAME("consumer", KIND_CONSUMER),
	};
	unsigned hint = 0;
	int found = json_name_find(kinds, ARRAY_SIZE(kinds), &hint, text);

	if (found >= 0)
		*kind = found;
	return found >= 0;
}

static bool take_text(const struct attr *a, uint32_t *code)
{
	if (a->type != VALUE_STRING || a->string == 0)
		return false;
	*code = a->string;
	return true;
}

static bool take_count(const struct attr *a, uint32_t *count)
{
	if (a->type != VALUE_INT || a->integer <= 0 || a->integer > UINT32_MAX)
		return false;
	*count = (uint32_t)a->integer;
	return true;
}

static bool take_status(struct span_parts *s, struct slice text)
{
	if (!slice_eq(text, SLICE("OK")) && !slice_eq(text, SLICE("ERROR")))
		return false;
	s->row.status = text.n == 2 ? STATUS_OK : STATUS_ERROR;
	s->row.bits |= JAEGER_STATUS_TAG;
	return true;
}

static bool take_error(struct span_parts *s, const struct attr *a, struct slice text)
{
	s->error_text |= slice_eq(text, SLICE("true")); /* an error, but not as we write it */
	if (a->type != VALUE_BOOL || !a->boolean)
		return false;
	s->row.bits |= JAEGER_ERROR_TAG;
	return true;
}

/* Does the tag go into a field of the row, and has it? */
static bool take_tag(struct jaeger_json *d, struct span_parts *s, const struct attr *a)
{
	static const struct json_name names[] = {
		JSON_NAME("span.kind", SPAN_KIND),
		JSON_NAME("error", ERROR),
		JSON_NAME("otel.status_code", STATUS_CODE),
		JSON_NAME("otel.status_description", STATUS_DESCRIPTION),
		JSON_NAME("w3c.tracestate", TRACE_STATE),
		JSON_NAME("otel.scope.name", SCOPE_NAME),
		JSON_NAME("otel.scope.version", SCOPE_VERSION),
		JSON_NAME("otel.dropped_attributes_count", DROPPED_ATTRIBUTES),
		JSON_NAME("otel.dropped_events_count", DROPPED_POINTS),
		JSON_NAME("otel.dropped_links_count", DROPPED_LINKS),
	};
	struct slice text = {0};
	unsigned hint = 0;
	int tag = json_name_find(names, ARRAY_SIZE(names), &hint, batch_text(d->batch, a->key));

	if (tag < 0 || s->taken[tag])
		return false;
	if (a->type == VALUE_STRING)
		text = batch_text(d->batch, a->string);
	switch (tag) {
	case SPAN_KIND:
		s->taken[tag] = take_kind(text, &s->row.kind);
		break;
	case ERROR:
		s->taken[tag] = take_error(s, a, text);
		break;
	case STATUS_CODE:
		s->taken[tag] = take_status(s, text);
		break;
	case STATUS_DESCRIPTION:
		s->taken[tag] = take_text(a, &s->extra.status_message);
		break;
	case TRACE_STATE:
		s->taken[tag] = take_text(a, &s->extra.trace_state);
		break;
	case SCOPE_NAME:
		s->taken[tag] = take_text(a, &s->scope.name);
		break;
	case SCOPE_VERSION:
		s->taken[tag] = take_text(a, &s->scope.version);
		break;
	case DROPPED_ATTRIBUTES:
		s->taken[tag] = take_count(a, &s->extra.dropped_attributes);
		break;
	case DROPPED_POINTS:
		s->taken[tag] = take_count(a, &s->extra.dropped_points);
		break;
	default:
		s->taken[tag] = take_count(a, &s->extra.dropped_links);
	}
	return s->taken[tag];
}

static void read_tags(struct jaeger_json *d, struct span_parts *s)
{
	if (json_null(&d->r))
		return;
	json_array(&d->r);
	while (json_next_item(&d->r)) {
		struct attr a = jaeger_tag_read(&d->r, d->batch, &d->scratch);

		if (d->r.bad || take_tag(d, s, &a))
			continue;
		batch_attr(d->batch, a);
		s->row.attrs.count++;
	}
	if (!(s->row.bits & JAEGER_STATUS_TAG) && (s->error_text || s->row.bits & JAEGER_ERROR_TAG))
		s->row.status = STATUS_ERROR;
}

/* A list of strings; EMPTY when there are none. */
static struct attr read_warnings(struct jaeger_json *d, const char *key)
{
	struct attr list = {.key = batch_string(d->batch, slice_cstr(key)), .type = VALUE_ARRAY};
	struct json_reader counted = d->r;
	uint32_t count = 0;

	if (json_null(&d->r))
		return (struct attr){0};
	for (json_array(&counted); json_next_item(&counted); count++)
		json_skip(&counted);
	list.children = (struct value_range){batch_nested(d->batch, count), count};
	json_array(&d->r);
	for (uint32_t i = 0; json_next_item(&d->r); i++) {
		struct attr text = {.type = VALUE_STRING, .string = read_text(d)};

		if (i < count && !d->batch->failed)
			d->batch->nested[list.children.first + i] = text;
	}
	return count == 0 || d->batch->failed ? (struct attr){0} : list;
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

			if (e.name == 0 && slice_eq(key, SLICE("event")) && take_text(&a, &e.name))
				continue;
			if (dropped == 0 && slice_eq(key, SLICE("otel.dropped_attributes_count")) &&
			    take_count(&a, &dropped))
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
			ref.type = read_text(d);
			break;
		case 't':
			good &= read_trace_id(d, &ref.trace, &ref.trace_is_64);
			break;
		case 's':
			good &= read_span_id(d, &ref.id);
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
	place here;

	if (go_back(d, &s->logs, &here)) {
		if (!json_null(&d->r)) {
			json_array(&d->r);
			while (json_next_item(&d->r))
				read_log(d, s);
		}
		go_on(d, &here);
	}
	if (go_back(d, &s->references, &here)) {
		if (!json_null(&d->r)) {
			json_array(&d->r);
			while (json_next_item(&d->r)) {
				struct reference ref = read_reference(d, s);

				if (!d->r.bad)
					add_reference(d, s, ref);
			}
		}
		go_on(d, &here);
	}
}

/* Tags and warnings: the span's attributes, side by side. */
static void read_attrs(struct jaeger_json *d, struct span_parts *s)
{
	place here;

	s->row.attrs = (struct attr_range){(uint32_t)d->batch->attr_n, 0};
	if (go_back(d, &s->tags, &here)) {
		read_tags(d, s);
		go_on(d, &here);
	}
	if (go_back(d, &s->warnings, &here)) {
		add_attr(d, &s->row, read_warnings(d, "jaeger.warnings"));
		go_on(d, &here);
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
		s->bad_trace = !read_trace_id(d, &e->trace_id, &is_64);
		e->bits = is_64 ? EVENT_TRACE_ID_64 : 0;
		break;
	case SPAN_ID:
		if (!read_span_id(d, &e->id1))
			s->objection = "span with a spanID that is not 1 to 16 hex digits";
		break;
	case PARENT_ID:
		if (!read_span_id(d, &s->legacy_parent))
			s->objection = "span with a parentSpanID that is not 1 to 16 hex digits";
		break;
	case FLAGS:
		json_u32(&d->r, &e->flags);
		break;
	case NAME:
		e->name = read_text(d);
		break;
	case REFERENCES:
		pass(d, &s->references);
		break;
	case START:
		json_u64(&d->r, &s->start_us);
		break;
	case DURATION:
		json_u64(&d->r, &s->duration_us);
		break;
	case TAGS:
		pass(d, &s->tags);
		break;
	case LOGS:
		pass(d, &s->logs);
		break;
	case PROCESS_ID:
		if (!s->has_process)
			e->resource = find_process(d, read_text(d));
		else
			json_skip(&d->r);
		s->has_process = true;
		break;
	case PROCESS: /* as Jaeger's Elasticsearch documents have it */
		e->resource = read_process(d);
		s->has_process = true;
		break;
	case WARNINGS:
		pass(d, &s->warnings);
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

static void read_span(struct jaeger_json *d)
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
		s.row.resource = find_process(d, 0);
	/* Resources and scopes may be shared with spans to come: they stay, whatever happens. */
	mark.resource_n = b->resource_n;
	mark.attr_n = b->attr_n;
	mark.nested_n = b->nested_n;
	read_attrs(d, &s);
	s.row.scope = find_scope(d, &s.scope);
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

/* --- traces --- */

static void read_trace(struct jaeger_json *d)
{
	place spans = {0}, processes = {0}, here;
	struct slice name;

	d->trace_id = (struct trace_id){0};
	d->trace_is_64 = d->bad_trace = false;
	d->trace_warnings = (struct attr){0};
	d->process_n = 0;
	map_clear(&d->process_map);
	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (slice_eq(name, SLICE("spans")))
			pass(d, &spans);
		else if (slice_eq(name, SLICE("processes")))
			pass(d, &processes);
		else if (slice_eq(name, SLICE("traceID")))
			d->bad_trace = !read_trace_id(d, &d->trace_id, &d->trace_is_64);
		else if (slice_eq(name, SLICE("warnings")))
			d->trace_warnings = read_warnings(d, "jaeger.trace_warnings");
		else
			json_skip(&d->r);
	}
	if (go_back(d, &processes, &here)) {
		read_processes(d);
		go_on(d, &here);
	}
	if (go_back(d, &spans, &here)) {
		json_array(&d->r);
		while (json_next_item(&d->r))
			read_span(d);
		go_on(d, &here);
	}
}

static void read_traces(struct jaeger_json *d)
{
	if (json_null(&d->r))
		return;
	json_array(&d->r);
	while (json_next_item(&d->r))
		read_trace(d);
}

/* An object is an answer if it has "data", else a trace. */
static void read_object(struct jaeger_json *d)
{
	struct json_reader start = d->r;
	bool answer = false;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (slice_eq(name, SLICE("data"))) {
			answer = true;
			read_traces(d);
		} else {
			json_skip(&d->r);
		}
	}
	if (answer || d->r.bad)
		return;
	d->r = start;
	read_trace(d);
}

int jaeger_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error)
{
	struct jaeger_json d = {.r = json_open(body), .batch = batch, .tally = tally};
	int result;

	map_init(&d.process_map);
	map_init(&d.scope_map);
	if (json_peek(&d.r) == JSON_OBJECT)
		read_object(&d);
	else
		read_traces(&d);
	result = batch->failed;
	if (result < 0)
		error_set(error, result,
			  result == -ENOMEM ? "out of memory" : "the request is too large");
	else
		result = json_finish(&d.r, error);
	map_done(&d.process_map);
	map_done(&d.scope_map);
	free(d.processes);
	buffer_done(&d.scratch);
	return result;
}
