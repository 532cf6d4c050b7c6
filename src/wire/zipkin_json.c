/* wire/zipkin_json.c - Zipkin v2 spans in JSON, both ways. */
#include "wire/zipkin_json.h"

#include <errno.h>

#include "base/cleanup.h"
#include "wire/json_reader.h"
#include "wire/zipkin.h"

/* State of one decoding run. */
struct zipkin_json {
	struct json_reader r;
	struct zipkin_builder builder;
	struct zipkin_span span;
	struct buffer scratch;
};

/* Text that lives as long as the span: where it lies, or unescaped in the span's arena. */
static struct slice keep_text(struct zipkin_json *d, struct json_string s)
{
	struct slice text = json_text(s, &d->scratch);

	if (!s.escaped)
		return text;
	text = arena_dup(&d->span.arena, text);
	if (!text.p || d->scratch.failed) {
		d->span.failed = true;
		return slice_of(NULL, 0);
	}
	return text;
}

static struct slice read_text(struct zipkin_json *d)
{
	struct json_string s;

	return json_string(&d->r, &s) ? keep_text(d, s) : slice_of(NULL, 0);
}

/* A tag's value.  It should be a string; numbers and truth values are taken by their text. */
static struct slice read_tag(struct zipkin_json *d)
{
	struct slice text = {0};
	bool truth;

	switch (json_peek(&d->r)) {
	case JSON_NUMBER:
		json_number(&d->r, &text);
		return text;
	case JSON_BOOL:
		if (json_bool(&d->r, &truth))
			text = truth ? SLICE("true") : SLICE("false");
		return text;
	case JSON_NULL:
		json_null(&d->r);
		return text;
	default:
		return read_text(d);
	}
}

static void read_trace_id(struct zipkin_json *d)
{
	struct slice hex = read_text(d);

	d->span.trace_id = (struct trace_id){0};
	d->span.trace_id_64 = hex.n <= SPAN_ID_HEX;
	if (hex.n > 0 && trace_id_parse(hex, &d->span.trace_id) < 0)
		d->span.objection = "span with a traceId that is not 1 to 32 hex digits";
}

static span_id_t read_span_id(struct zipkin_json *d, const char *objection)
{
	struct slice hex = read_text(d);
	span_id_t id = 0;

	if (hex.n > 0 && span_id_parse(hex, &id) < 0 &&
	    !slice_eq(hex, SLICE("0000000000000000"))) /* none, to some tracers */
		d->span.objection = objection;
	return id;
}

static enum span_kind read_kind(struct zipkin_json *d)
{
	static const struct json_name kinds[] = {
		JSON_NAME("CLIENT", KIND_CLIENT),
		JSON_NAME("SERVER", KIND_SERVER),
		JSON_NAME("PRODUCER", KIND_PRODUCER),
		JSON_NAME("CONSUMER", KIND_CONSUMER),
	};
	struct slice text = read_text(d);
	unsigned hint = 0;
	int kind = json_name_find(kinds, ARRAY_SIZE(kinds), &hint, text);

	if (kind < 0 && text.n > 0)
		d->span.objection = "span with a kind that Zipkin does not have";
	return kind < 0 ? KIND_UNSPECIFIED : (enum span_kind)kind;
}

static struct zipkin_endpoint read_endpoint(struct zipkin_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("serviceName", 's'),
		JSON_NAME("ipv4", '4'),
		JSON_NAME("ipv6", '6'),
		JSON_NAME("port", 'p'),
	};
	struct zipkin_endpoint e = {0};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == 's')
			e.service = read_text(d);
		else if (field == '4')
			e.ipv4 = read_text(d);
		else if (field == '6')
			e.ipv6 = read_text(d);
		else if (field == 'p')
			json_u32(&d->r, &e.port);
		else
			json_skip(&d->r);
	}
	return e;
}

static void read_annotation(struct zipkin_json *d)
{
	static const struct json_name names[] = {JSON_NAME("timestamp", 't'),
						 JSON_NAME("value", 'v')};
	struct slice name, value = {0};
	uint64_t timestamp = 0;
	unsigned hint = 0;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == 't')
			json_u64(&d->r, &timestamp);
		else if (field == 'v')
			value = read_text(d);
		else
			json_skip(&d->r);
	}
	zipkin_span_annotate(&d->span, timestamp, value);
}

static void read_tags(struct zipkin_json *d)
{
	struct json_string key;

	json_object(&d->r);
	while (json_next_key(&d->r, &key)) {
		struct slice text = keep_text(d, key);

		zipkin_span_tag(&d->span, text, read_tag(d));
	}
}

enum field {
	TRACE_ID,
	PARENT_ID,
	ID,
	KIND,
	NAME,
	TIMESTAMP,
	DURATION,
	LOCAL,
	REMOTE,
	ANNOTATIONS,
	TAGS,
	DEBUG,
	SHARED
};

static void read_field(struct zipkin_json *d, int field)
{
	struct zipkin_span *s = &d->span;

	switch (field) {
	case TRACE_ID:
		read_trace_id(d);
		break;
	case PARENT_ID:
		s->parent = read_span_id(d, "span with a parentId that is not 1 to 16 hex digits");
		break;
	case ID:
		s->id = read_span_id(d, "span with an id that is not 1 to 16 hex digits");
		break;
	case KIND:
		s->kind = read_kind(d);
		break;
	case NAME:
		s->name = read_text(d);
		break;
	case TIMESTAMP:
		json_u64(&d->r, &s->timestamp_us);
		break;
	case DURATION:
		json_u64(&d->r, &s->duration_us);
		break;
	case LOCAL:
		s->local = read_endpoint(d);
		break;
	case REMOTE:
		s->remote = read_endpoint(d);
		break;
	case ANNOTATIONS:
		s->annotation_n = 0;
		json_array(&d->r);
		while (json_next_item(&d->r))
			read_annotation(d);
		break;
	case TAGS:
		s->tag_n = 0;
		read_tags(d);
		break;
	case DEBUG:
		json_bool(&d->r, &s->debug);
		break;
	case SHARED:
		json_bool(&d->r, &s->shared);
		break;
	default:
		json_skip(&d->r);
	}
}

static void read_span(struct zipkin_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("traceId", TRACE_ID),
		JSON_NAME("parentId", PARENT_ID),
		JSON_NAME("id", ID),
		JSON_NAME("kind", KIND),
		JSON_NAME("name", NAME),
		JSON_NAME("timestamp", TIMESTAMP),
		JSON_NAME("duration", DURATION),
		JSON_NAME("localEndpoint", LOCAL),
		JSON_NAME("remoteEndpoint", REMOTE),
		JSON_NAME("annotations", ANNOTATIONS),
		JSON_NAME("tags", TAGS),
		JSON_NAME("debug", DEBUG),
		JSON_NAME("shared", SHARED),
	};
	size_t offset = (size_t)(d->r.at - d->r.start);
	unsigned hint = 0;
	struct slice name;

	zipkin_span_clear(&d->span);
	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (!json_null(&d->r))
			read_field(d, field);
	}
	if (d->span.failed) {
		d->builder.batch->failed = -ENOMEM;
		json_stop(&d->r, d->r.at, "out of memory");
	}
	if (!d->r.bad)
		zipkin_builder_add(&d->builder, &d->span, offset);
}

int zipkin_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error)
{
	struct zipkin_json d = {.r = json_open(body)};
	int result;

	zipkin_builder_init(&d.builder, batch, tally);
	if (json_peek(&d.r) == JSON_OBJECT) {
		read_span(&d);
	} else {
		json_array(&d.r);
		while (json_next_item(&d.r)) {
			if (json_peek(&d.r) != JSON_ARRAY) {
				read_span(&d);
				continue;
			}
			json_array(&d.r);
			while (json_next_item(&d.r))
				read_span(&d);
		}
	}
	result = batch->failed;
	if (result < 0)
		error_set(error, result,
			  result == -ENOMEM ? "out of memory" : "the request is too large");
	else
		result = json_finish(&d.r, error);
	zipkin_builder_done(&d.builder);
	zipkin_span_done(&d.span);
	buffer_done(&d.scratch);
	return result;
}

/* --- writing --- */

static void put_text(struct json_writer *w, const char *name, struct slice text)
{
	if (text.n == 0)
		return;
	json_put_name(w, name);
	json_put_string(w, text);
}

static void put_number(struct json_writer *w, const char *name, uint64_t value)
{
	if (value == 0)
		return;
	json_put_name(w, name);
	json_put_u64(w, value);
}

static void put_span_id(struct json_writer *w, const char *name, span_id_t id)
{
	uint8_t bytes[8];

	if (id == 0)
		return;
	store_be64(bytes, id);
	json_put_name(w, name);
	json_put_hex(w, bytes, sizeof(bytes));
}

static void put_true(struct json_writer *w, const char *name, bool value)
{
	if (!value)
		return;
	json_put_name(w, name);
	json_put_bool(w, true);
}

static void put_endpoint(struct json_writer *w, const char *name, const struct zipkin_endpoint *e)
{
	if (e->service.n == 0 && e->ipv4.n == 0 && e->ipv6.n == 0 && e->port == 0)
		return;
	json_put_name(w, name);
	json_begin_object(w);
	put_text(w, "serviceName", e->service);
	put_text(w, "ipv4", e->ipv4);
	put_text(w, "ipv6", e->ipv6);
	put_number(w, "port", e->port);
	json_end_object(w);
}

static void put_annotations(struct json_writer *w, const struct zipkin_span *s)
{
	if (s->annotation_n == 0)
		return;
	json_put_name(w, "annotations");
	json_begin_array(w);
	for (size_t i = 0; i < s->annotation_n; i++) {
		json_begin_object(w);
		json_put_name(w, "timestamp");
		json_put_u64(w, s->annotations[i].timestamp_us);
		json_put_name(w, "value");
		json_put_string(w, s->annotations[i].value);
		json_end_object(w);
	}
	json_end_array(w);
}

static void put_tags(struct json_writer *w, const struct zipkin_span *s)
{
	if (s->tag_n == 0)
		return;
	json_put_name(w, "tags");
	json_begin_object(w);
	for (size_t i = 0; i < s->tag_n; i++) {
		json_put_key(w, s->tags[i].key);
		json_put_string(w, s->tags[i].value);
	}
	json_end_object(w);
}

void zipkin_json_put_span(struct json_writer *w, const struct zipkin_span *s)
{
	static const char *const kinds[] = {[KIND_SERVER] = "SERVER",
					    [KIND_CLIENT] = "CLIENT",
					    [KIND_PRODUCER] = "PRODUCER",
					    [KIND_CONSUMER] = "CONSUMER"};
	const size_t skip = s->trace_id_64 ? 8 : 0;

	json_begin_object(w);
	json_put_name(w, "traceId");
	json_put_hex(w, s->trace_id.b + skip, sizeof(s->trace_id.b) - skip);
	put_span_id(w, "parentId", s->parent);
	put_span_id(w, "id", s->id);
	if (s->kind != KIND_UNSPECIFIED)
		put_text(w, "kind", slice_cstr(kinds[s->kind]));
	put_text(w, "name", s->name);
	put_number(w, "timestamp", s->timestamp_us);
	put_number(w, "duration", s->duration_us);
	put_endpoint(w, "localEndpoint", &s->local);
	put_endpoint(w, "remoteEndpoint", &s->remote);
	put_annotations(w, s);
	put_tags(w, s);
	put_true(w, "debug", s->debug);
	put_true(w, "shared", s->shared);
	json_end_object(w);
}

void zipkin_json_put(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	struct zipkin_span span = {0};
	bool is_span;

	json_begin_array(w);
	for (size_t i = 0; i < n;) {
		i += zipkin_span_from(refs + i, n - i, &span, &is_span);
		if (is_span)
			zipkin_json_put_span(w, &span);
		w->out->failed |= span.failed;
	}
	json_end_array(w);
	zipkin_span_done(&span);
}

void zipkin_json_encode(const struct event_ref *refs, size_t n, struct buffer *out)
{
	struct json_writer w = json_write(out);

	zipkin_json_put(&w, refs, n);
}
