/* wire/otlp_decode.c - OTLP traces and logs from protobuf to rows.
 *
 *   ExportTraceServiceRequest  resource_spans = 1
 *   ResourceSpans              resource = 1, scope_spans = 2, schema_url = 3
 *   ScopeSpans                 scope = 1, spans = 2, schema_url = 3
 *   Span                       trace_id = 1, span_id = 2, trace_state = 3, parent_span_id = 4, name
 * = 5, kind = 6, start = 7, end = 8, attributes = 9, dropped_attributes = 10, events = 11,
 * dropped_events = 12, links = 13, dropped_links = 14, status = 15, flags = 16 Span.Event time = 1,
 * name = 2, attributes = 3, dropped_attributes = 4 Span.Link                  trace_id = 1, span_id
 * = 2, trace_state = 3, attributes = 4, dropped_attributes = 5, flags = 6 Status message = 2, code
 * = 3 LogRecord                  time = 1, severity_number = 2, severity_text = 3, body = 5,
 *                              attributes = 6, dropped_attributes = 7, flags = 8, trace_id = 9,
 *                              span_id = 10, observed_time = 11, event_name = 12
 *
 * A span's own fields are read first, its events and links in a second pass over their stretch
 * alone: its attributes must lie side by side, whatever the order of fields. */
#include <errno.h>

#include "wire/otlp_group.h"
#include "wire/otlp_proto.h"
#include "wire/otlp_text_int.h"

#define SPAN_BYTES     448  /* what a span usually takes */
#define PREFETCH_BYTES 1024 /* ahead */

/* The tag of a span's flags, which takes two bytes. */
#define FLAGS_HEAD (0x80 | (PB_TAG(16, PB_FIXED32) & 0x7f) | PB_TAG(16, PB_FIXED32) >> 7 << 8)

enum id_state { ID_MISSING, ID_BAD, ID_GOOD };

static enum id_state take_trace_id(struct slice bytes, struct trace_id *id)
{
	if (bytes.n == 0)
		return ID_MISSING;
	if (bytes.n != sizeof(id->b))
		return ID_BAD;
	memcpy(id->b, bytes.p, sizeof(id->b));
	return trace_id_is_zero(*id) ? ID_MISSING : ID_GOOD;
}

static enum id_state take_span_id(struct slice bytes, span_id_t *id)
{
	if (bytes.n == 0)
		return ID_MISSING;
	if (bytes.n != 8)
		return ID_BAD;
	*id = load_be64(bytes.p);
	return *id == 0 ? ID_MISSING : ID_GOOD;
}

static int decode_point(struct otlp_decoder *d, const struct event *span, struct slice bytes)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	uint32_t index = (uint32_t)b->event_n, dropped = 0;
	struct event e = {.trace_id = span->trace_id,
			  .id1 = span->id1,
			  .resource = span->resource,
			  .scope = span->scope,
			  .type = EVENT_POINT,
			  .attrs.first = (uint32_t)b->attr_n};
	struct pb_field f;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_FIXED64):
			e.time_ns = f.value;
			break;
		case PB_TAG(2, PB_BYTES):
			e.name = batch_string(b, f.bytes);
			break;
		case PB_TAG(3, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &e.attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(4, PB_VARINT):
			dropped = (uint32_t)f.value;
			break;
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "Span.events");
	*batch_event(b) = e;
	if (dropped || d->unknown.n) {
		struct event_extra *x = batch_extra(b, index);

		x->dropped_attributes = dropped;
		x->unknown = otlp_unknown_take(d);
	}
	return 0;
}

/* 1: the link has an id of a wrong length. */
static int decode_link(struct otlp_decoder *d, const struct event *span, struct slice bytes)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	uint32_t index = (uint32_t)b->event_n;
	struct event_extra x = {0};
	struct event e = {.trace_id = span->trace_id,
			  .id1 = span->id1,
			  .resource = span->resource,
			  .scope = span->scope,
			  .type = EVENT_LINK,
			  .attrs.first = (uint32_t)b->attr_n};
	enum id_state trace = ID_MISSING, id = ID_MISSING;
	struct pb_field f;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			trace = take_trace_id(f.bytes, &x.link_trace);
			break;
		case PB_TAG(2, PB_BYTES):
			id = take_span_id(f.bytes, &e.id2);
			break;
		case PB_TAG(3, PB_BYTES):
			x.trace_state = batch_string(b, f.bytes);
			break;
		case PB_TAG(4, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &e.attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(5, PB_VARINT):
			x.dropped_attributes = (uint32_t)f.value;
			break;
		case PB_TAG(6, PB_FIXED32):
			e.flags = (uint32_t)f.value;
			break;
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "Span.links");
	x.unknown = otlp_unknown_take(d);
	if (trace == ID_BAD || id == ID_BAD)
		return 1;
	*batch_event(b) = e;
	*batch_extra(b, index) = x;
	return 0;
}

/* What a span says besides its row. */
struct span_parts {
	struct event_extra extra;
	enum id_state trace, id, parent;
	const uint8_t *members; /* the first event or link */
};

/* The start of a span as nearly every exporter writes it, in the order of the field numbers,
 * without looking for what each field is.  Returns where it met something else: the caller goes on
 * there. */
static inline const uint8_t *span_start(struct otlp_decoder *d, const uint8_t *p,
					const uint8_t *end, struct event *e, struct span_parts *s)
{
	size_t name;

	if (end - p < 40 || pb_load16(p) != pb_head(PB_TAG(1, PB_BYTES), 16) ||
	    pb_load16(p + 18) != pb_head(PB_TAG(2, PB_BYTES), 8))
		return p;
	s->trace = take_trace_id(slice_of(p + 2, 16), &e->trace_id);
	s->id = take_span_id(slice_of(p + 20, 8), &e->id1);
	p += 28;
	if (pb_load16(p) == pb_head(PB_TAG(4, PB_BYTES), 8)) {
		s->parent = take_span_id(slice_of(p + 2, 8), &e->id2);
		p += 10;
	}
	name = p[1];
	if (p[0] != PB_TAG(5, PB_BYTES) || name >= 0x80 || (size_t)(end - p) < 2 + name + 20 ||
	    p >= d->wide_end)
		return p;
	e->name = otlp_text(d, p + 2, name);
	p += 2 + name;
	if (p[0] == PB_TAG(6, PB_VARINT) && p[1] < 0x80) {
		e->kind = p[1];
		p += 2;
	}
	if (p[0] == PB_TAG(7, PB_FIXED64) && p[9] == PB_TAG(8, PB_FIXED64)) {
		memcpy(&e->time_ns, p + 1, 8);
		memcpy(&e->end_ns, p + 10, 8);
		p += 18;
	}
	return p;
}

/* And what usually stands behind its attributes. */
static inline const uint8_t *span_end(const uint8_t *p, const uint8_t *end, struct event *e)
{
	if (end - p >= 4 && pb_load16(p) == pb_head(PB_TAG(15, PB_BYTES), 2) &&
	    p[2] == PB_TAG(3, PB_VARINT) && p[3] < 0x80) {
		e->status = p[3];
		p += 4;
	}
	if (end - p >= 6 && pb_load16(p) == FLAGS_HEAD) {
		memcpy(&e->flags, p + 2, sizeof(e->flags));
		p += 6;
	}
	return p;
}

static int span_walk(struct otlp_decoder *d, struct slice bytes, struct event *e,
		     struct span_parts *s)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	struct pb_field f;
	int error;

	r.at = span_start(d, r.at, r.end, e, s);
	if (r.at < r.end && *r.at == PB_TAG(9, PB_BYTES)) {
		r.at = otlp_attrs_decode(d, r.at, r.end, &e->attrs.count);
		if (!r.at)
			return d->failed;
		r.at = span_end(r.at, r.end, e);
	}
	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			s->trace = take_trace_id(f.bytes, &e->trace_id);
			break;
		case PB_TAG(2, PB_BYTES):
			s->id = take_span_id(f.bytes, &e->id1);
			break;
		case PB_TAG(3, PB_BYTES):
			s->extra.trace_state = batch_string(b, f.bytes);
			break;
		case PB_TAG(4, PB_BYTES):
			s->parent = take_span_id(f.bytes, &e->id2);
			break;
		case PB_TAG(5, PB_BYTES):
			e->name = batch_string(b, f.bytes);
			break;
		case PB_TAG(6, PB_VARINT):
			e->kind = (int32_t)f.value;
			break;
		case PB_TAG(7, PB_FIXED64):
			e->time_ns = f.value;
			break;
		case PB_TAG(8, PB_FIXED64):
			e->end_ns = f.value;
			break;
		case PB_TAG(9, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &e->attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(10, PB_VARINT):
			s->extra.dropped_attributes = (uint32_t)f.value;
			break;
		case PB_TAG(11, PB_BYTES):
		case PB_TAG(13, PB_BYTES):
			if (!s->members)
				s->members = f.start;
			break;
		case PB_TAG(12, PB_VARINT):
			s->extra.dropped_points = (uint32_t)f.value;
			break;
		case PB_TAG(14, PB_VARINT):
			s->extra.dropped_links = (uint32_t)f.value;
			break;
		case PB_TAG(15, PB_BYTES):
			error = otlp_status_decode(d, f.bytes, e, &s->extra);
			if (error < 0)
				return error;
			break;
		case PB_TAG(16, PB_FIXED32):
			e->flags = (uint32_t)f.value;
			break;
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	s->extra.unknown = otlp_unknown_take(d);
	return r.bad ? otlp_malformed(d, r.bad, "a span") : 0;
}

/* The points first, then the links: as OTLP writes them.  1: a link is unacceptable. */
static int span_members(struct otlp_decoder *d, struct slice bytes, const uint8_t *members,
			uint32_t index)
{
	struct slice from = slice_from(bytes, (size_t)((const char *)members - bytes.p));
	const struct event span = d->batch->events[index]; /* a copy: the rows may move */
	struct pb_reader r = pb_open(from);
	struct pb_field f;
	bool links = false;
	int error;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(13, PB_BYTES))
			links = true;
		if (f.tag != PB_TAG(11, PB_BYTES))
			continue;
		error = decode_point(d, &span, f.bytes);
		if (error < 0)
			return error;
	}
	if (!links)
		return 0;
	r = pb_open(from);
	while (pb_next(&r, &f)) {
		if (f.tag != PB_TAG(13, PB_BYTES))
			continue;
		error = decode_link(d, &span, f.bytes);
		if (error != 0)
			return error;
	}
	return 0;
}

static const char *span_objection(const struct span_parts *s)
{
	if (s->trace != ID_GOOD)
		return s->trace == ID_BAD ? "span with a trace_id that is not 16 bytes long"
					  : "span without a trace_id";
	if (s->id != ID_GOOD)
		return s->id == ID_BAD ? "span with a span_id that is not 8 bytes long"
				       : "span without a span_id";
	if (s->parent == ID_BAD)
		return "span with a parent_span_id that is not 8 bytes long";
	return NULL;
}

static bool extra_is_zero(const struct event_extra *x)
{
	return (x->trace_state | x->status_message | x->unknown | x->unknown_status |
		x->dropped_attributes | x->dropped_points | x->dropped_links) == 0;
}

/* Requests are read from front to back, but the processor does not look beyond a page by itself. */
static inline void prefetch(const char *p)
{
	for (uintptr_t i = 0; i < SPAN_BYTES; i += 64)
		__builtin_prefetch((const void *)((uintptr_t)p + PREFETCH_BYTES + i));
}

static int decode_span(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
		       uint32_t scope)
{
	struct batch *b = d->batch;
	struct batch_mark mark = batch_mark(b);
	uint32_t index = (uint32_t)b->event_n;
	struct event *row = batch_event(b); /* stays where it is until the next row is added */
	struct span_parts s = {0};
	const char *objection;
	int error;

	if (b->failed)
		return b->failed;
	prefetch(bytes.p);
	row->resource = resource;
	row->scope = scope;
	row->type = EVENT_SPAN;
	row->attrs.first = (uint32_t)b->attr_n;
	error = span_walk(d, bytes, row, &s);
	if (error < 0)
		return error;
	objection = span_objection(&s);
	if (!objection) {
		if (!extra_is_zero(&s.extra))
			*batch_extra(b, index) = s.extra;
		error = s.members ? span_members(d, bytes, s.members, index) : 0;
		if (error < 0)
			return error;
		if (error > 0)
			objection = "span with a link whose ids are not 16 and 8 bytes long";
	}
	if (objection) {
		batch_rewind(b, mark);
		decode_reject(d->tally, "%s (byte %zu)", objection, (size_t)(bytes.p - d->body.p));
		return 0;
	}
	d->tally->accepted++;
	return 0;
}

static int decode_log(struct otlp_decoder *d, struct slice bytes, uint32_t resource, uint32_t scope)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	struct batch_mark mark = batch_mark(b);
	uint32_t index = (uint32_t)b->event_n;
	struct event_extra x = {0};
	struct event e = {.resource = resource,
			  .scope = scope,
			  .type = EVENT_LOG,
			  .attrs.first = (uint32_t)b->attr_n};
	enum id_state trace = ID_MISSING, id = ID_MISSING;
	struct pb_field f;
	int error;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_FIXED64):
			e.time_ns = f.value;
			break;
		case PB_TAG(2, PB_VARINT):
			e.kind = (int32_t)f.value;
			break;
		case PB_TAG(3, PB_BYTES):
			x.severity_text = batch_string(b, f.bytes);
			break;
		case PB_TAG(5, PB_BYTES):
			error = otlp_value_decode(d, f.bytes, &x.body);
			if (error < 0)
				return error;
			break;
		case PB_TAG(6, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &e.attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(7, PB_VARINT):
			x.dropped_attributes = (uint32_t)f.value;
			break;
		case PB_TAG(8, PB_FIXED32):
			e.flags = (uint32_t)f.value;
			break;
		case PB_TAG(9, PB_BYTES):
			trace = take_trace_id(f.bytes, &e.trace_id);
			break;
		case PB_TAG(10, PB_BYTES):
			id = take_span_id(f.bytes, &e.id1);
			break;
		case PB_TAG(11, PB_FIXED64):
			x.observed_ns = f.value;
			break;
		case PB_TAG(12, PB_BYTES):
			e.name = batch_string(b, f.bytes);
			break;
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "a log record");
	x.unknown = otlp_unknown_take(d);
	if (trace != ID_GOOD || id == ID_BAD) {
		batch_rewind(b, mark);
		decode_reject(
			d->tally, "%s (byte %zu)",
			trace == ID_MISSING
				? "log record without a trace_id: logs are kept as points of a trace"
			: trace == ID_BAD ? "log record with a trace_id that is not 16 bytes long"
					  : "log record with a span_id that is not 8 bytes long",
			(size_t)(bytes.p - d->body.p));
		return 0;
	}
	*batch_event(b) = e;
	*batch_extra(b, index) = x;
	d->tally->accepted++;
	return 0;
}

int otlp_proto_decode_traces(struct slice body, struct batch *batch, struct decode_tally *tally,
			     struct error *error)
{
	return otlp_groups_decode(body, 1, batch, tally, error, decode_span);
}

int otlp_proto_decode_logs(struct slice body, struct batch *batch, struct decode_tally *tally,
			   struct error *error)
{
	return otlp_groups_decode(body, 1, batch, tally, error, decode_log);
}
