/* wire/events_proto.c - native events in protobuf, both ways.  Field numbers:
 * docs/format/events.proto.
 *
 * Where a field has no meaning for the event's type (a severity on something that is no log, say)
 * it is kept with the unknown fields, so that it is given back all the same. */
#include "wire/events_proto.h"

#include "wire/events.h"
#include "wire/otlp_group.h"
#include "wire/otlp_put.h"

#define REQUEST_GROUPS 12

enum field {
	TRACE_ID = 1,
	TYPE = 2,
	ID1 = 3,
	ID2 = 4,
	UNIT = 5,
	SEQ = 6,
	TIME = 7,
	END_TIME = 8,
	NAME = 9,
	ATTRIBUTES = 10,
	DROPPED_ATTRIBUTES = 11,
	KIND = 12,
	STATUS = 13,
	VALUE = 14,
	LINK_TRACE_ID = 15,
	TRACE_STATE = 16,
	FLAGS = 17,
	SEVERITY_NUMBER = 18,
	SEVERITY_TEXT = 19,
	OBSERVED_TIME = 20,
	DROPPED_POINTS = 21,
	DROPPED_LINKS = 22,
	ORIGIN = 23,
	MARKS = 24,
};

/* --- decoding --- */

static void take_trace_id(struct events_row *row, struct slice bytes, struct trace_id *id)
{
	if (bytes.n == sizeof(id->b))
		memcpy(id->b, bytes.p, sizeof(id->b));
	else if (bytes.n != 0)
		row->bad_length = true;
	else
		*id = (struct trace_id){0};
}

static void take_id(struct events_row *row, struct slice bytes, span_id_t *id)
{
	if (bytes.n == sizeof(*id))
		*id = load_be64(bytes.p);
	else if (bytes.n != 0)
		row->bad_length = true;
	else
		*id = 0;
}

/* Fields that may hold what the model cannot.  False: keep it with the unknown ones. */
static bool take_conditional(struct events_row *row, const struct pb_field *f)
{
	int format;

	switch (f->tag) {
	case PB_TAG(ORIGIN, PB_VARINT):
		format = events_format_find(f->value);
		if (format < 0)
			return false;
		row->event.format = (uint8_t)format;
		return true;
	case PB_TAG(MARKS, PB_VARINT):
		if (f->value > UINT16_MAX)
			return false;
		row->event.bits = (uint16_t)f->value;
		return true;
	default:
		return false;
	}
}

/* Ids, times and numbers.  False: none of them. */
static bool take_scalar(struct events_row *row, const struct pb_field *f)
{
	struct event *e = &row->event;
	struct event_extra *x = &row->extra;

	switch (f->tag) {
	case PB_TAG(TRACE_ID, PB_BYTES):
		take_trace_id(row, f->bytes, &e->trace_id);
		return true;
	case PB_TAG(TYPE, PB_VARINT):
		row->type = f->value > INT32_MAX ? INT32_MAX : (int64_t)f->value;
		return true;
	case PB_TAG(ID1, PB_BYTES):
		take_id(row, f->bytes, &e->id1);
		return true;
	case PB_TAG(ID2, PB_BYTES):
		take_id(row, f->bytes, &e->id2);
		return true;
	case PB_TAG(UNIT, PB_BYTES):
		take_id(row, f->bytes, &row->place.unit);
		return true;
	case PB_TAG(LINK_TRACE_ID, PB_BYTES):
		take_trace_id(row, f->bytes, &x->link_trace);
		return true;
	case PB_TAG(SEQ, PB_VARINT):
		row->place.seq = f->value;
		return true;
	case PB_TAG(TIME, PB_FIXED64):
		e->time_ns = f->value;
		return true;
	case PB_TAG(END_TIME, PB_FIXED64):
		e->end_ns = f->value;
		return true;
	case PB_TAG(OBSERVED_TIME, PB_FIXED64):
		x->observed_ns = f->value;
		return true;
	case PB_TAG(FLAGS, PB_FIXED32):
		e->flags = (uint32_t)f->value;
		return true;
	case PB_TAG(DROPPED_ATTRIBUTES, PB_VARINT):
		x->dropped_attributes = (uint32_t)f->value;
		return true;
	case PB_TAG(DROPPED_POINTS, PB_VARINT):
		x->dropped_points = (uint32_t)f->value;
		return true;
	case PB_TAG(DROPPED_LINKS, PB_VARINT):
		x->dropped_links = (uint32_t)f->value;
		return true;
	default:
		return false;
	}
}

/* The model has one place for the two: which it is depends on the type. */
static void take_kind(struct otlp_decoder *d, struct events_row *row, uint64_t kind,
		      uint64_t severity)
{
	bool log = row->type == (int64_t)events_type_number(EVENT_LOG);
	uint64_t other = log ? kind : severity;

	row->event.kind = (int32_t)(log ? severity : kind);
	if (other)
		pb_put_varint(&d->unknown, log ? KIND : SEVERITY_NUMBER, other);
}

static int decode_event(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
			uint32_t scope)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	struct batch_mark mark = batch_mark(b);
	struct events_row row = {.event = {.resource = resource,
					   .scope = scope,
					   .format = FORMAT_NATIVE,
					   .attrs.first = (uint32_t)b->attr_n}};
	uint64_t kind = 0, severity = 0;
	struct pb_field f;
	int error = 0;

	while (error == 0 && pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(KIND, PB_VARINT):
			kind = f.value;
			break;
		case PB_TAG(SEVERITY_NUMBER, PB_VARINT):
			severity = f.value;
			break;
		case PB_TAG(NAME, PB_BYTES):
			row.event.name = batch_string(b, f.bytes);
			break;
		case PB_TAG(TRACE_STATE, PB_BYTES):
			row.extra.trace_state = batch_string(b, f.bytes);
			break;
		case PB_TAG(SEVERITY_TEXT, PB_BYTES):
			row.extra.severity_text = batch_string(b, f.bytes);
			break;
		case PB_TAG(ATTRIBUTES, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &row.event.attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(VALUE, PB_BYTES):
			error = otlp_value_decode(d, f.bytes, &row.extra.body);
			break;
		case PB_TAG(STATUS, PB_BYTES):
			error = otlp_status_decode(d, f.bytes, &row.event, &row.extra);
			break;
		default:
			if (!take_scalar(&row, &f) && !take_conditional(&row, &f))
				otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	if (error < 0)
		return error;
	if (r.bad)
		return otlp_malformed(d, r.bad, "an event");
	take_kind(d, &row, kind, severity);
	row.extra.unknown = otlp_unknown_take(d);
	events_row_add(b, &row, mark, d->tally, (size_t)(bytes.p - d->body.p));
	return b->failed;
}

int events_proto_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
			struct error *error)
{
	return otlp_groups_decode(body, REQUEST_GROUPS, batch, tally, error, decode_event);
}

/* --- encoding --- */

static size_t put_event(const struct event_ref *refs, size_t n, struct buffer *out)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);
	struct event_place place = event_place(refs[0]);
	size_t begun = pb_begin(out, 2);

	put_trace_id(out, TRACE_ID, e->trace_id);
	put_number(out, TYPE, events_type_number(e->type));
	put_span_id(out, ID1, e->id1);
	put_span_id(out, ID2, e->id2);
	put_span_id(out, UNIT, place.unit);
	put_number(out, SEQ, place.seq);
	put_time(out, TIME, e->time_ns);
	put_time(out, END_TIME, e->end_ns);
	put_text(out, NAME, b, e->name);
	otlp_attrs_encode(out, ATTRIBUTES, b, e->attrs);
	put_number(out, DROPPED_ATTRIBUTES, x->dropped_attributes);
	put_number(out, e->type == EVENT_LOG ? SEVERITY_NUMBER : KIND, (uint64_t)(int64_t)e->kind);
	otlp_status_encode(out, STATUS, b, e);
	if (x->body.type != VALUE_EMPTY)
		otlp_value_encode(out, VALUE, b, &x->body);
	put_trace_id(out, LINK_TRACE_ID, x->link_trace);
	put_text(out, TRACE_STATE, b, x->trace_state);
	put_flags(out, FLAGS, e->flags);
	put_text(out, SEVERITY_TEXT, b, x->severity_text);
	put_time(out, OBSERVED_TIME, x->observed_ns);
	put_number(out, DROPPED_POINTS, x->dropped_points);
	put_number(out, DROPPED_LINKS, x->dropped_links);
	put_number(out, ORIGIN, events_origin(e->format));
	put_number(out, MARKS, e->bits);
	put_unknown(out, b, x->unknown);
	pb_end(out, begun);
	return 1;
}

void events_proto_encode(const struct event_ref *refs, size_t n, struct buffer *out)
{
	otlp_groups_encode(refs, n, REQUEST_GROUPS, out, put_event);
}

void events_proto_response(const struct decode_tally *tally, struct buffer *out)
{
	size_t begun;

	if (tally->rejected == 0)
		return;
	begun = pb_begin(out, 1);
	pb_put_varint(out, 1, tally->rejected);
	pb_put_bytes(out, 2, slice_cstr(tally->reason));
	pb_end(out, begun);
}
