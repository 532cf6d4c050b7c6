/* wire/zipkin_proto.c - Zipkin's spans in protobuf, both ways.
 *
 *   ListOfSpans  spans = 1
 *   Span         trace_id = 1 (8 or 16 bytes), parent_id = 2, id = 3, kind = 4, name = 5,
 *                timestamp = 6 (fixed64, µs), duration = 7 (µs), local_endpoint = 8,
 *                remote_endpoint = 9, annotations = 10, tags = 11 (map), debug = 12, shared = 13
 *   Endpoint     service_name = 1, ipv4 = 2, ipv6 = 3 (bytes), port = 4
 *   Annotation   timestamp = 1 (fixed64, µs), value = 2
 *   tags' entry  key = 1, value = 2 */
#include "wire/zipkin_proto.h"

#include <errno.h>

#include "base/cleanup.h"
#include "wire/protobuf.h"
#include "wire/zipkin.h"

/* --- decoding --- */

struct decoder {
	struct slice body;
	struct error *error;
	struct zipkin_span span;
	struct buffer unknown; /* fields of the span that we do not know */
};

/* By number; 0 stands for "none". */
static const enum span_kind kinds[] = {KIND_UNSPECIFIED, KIND_CLIENT, KIND_SERVER, KIND_PRODUCER,
				       KIND_CONSUMER};

static int malformed(struct decoder *d, const uint8_t *where, const char *what)
{
	size_t offset = (size_t)((const char *)where - d->body.p);

	return error_at(d->error, -EBADMSG, offset, "malformed protobuf in %s at byte %zu", what,
			offset);
}

static void object(struct decoder *d, const char *why)
{
	if (!d->span.objection)
		d->span.objection = why;
}

static void take_trace_id(struct decoder *d, struct slice bytes)
{
	struct trace_id *id = &d->span.trace_id;

	*id = (struct trace_id){0};
	d->span.trace_id_64 = bytes.n == 8;
	if (bytes.n == 8 || bytes.n == 16)
		memcpy(id->b + 16 - bytes.n, bytes.p, bytes.n);
	else if (bytes.n != 0)
		object(d, "span with a trace_id that is not 8 or 16 bytes long");
}

static void take_id(struct decoder *d, struct slice bytes, span_id_t *id)
{
	*id = bytes.n == 8 ? load_be64(bytes.p) : 0;
	if (bytes.n != 8 && bytes.n != 0)
		object(d, "span with an id or parent_id that is not 8 bytes long");
}

static void take_address(struct decoder *d, struct slice bytes, size_t length,
			 struct slice *address)
{
	if (bytes.n == 0)
		return;
	if (bytes.n != length) {
		object(d, "span with an endpoint whose address is not 4 (ipv4) or 16 (ipv6) bytes "
			  "long");
		return;
	}
	*address = zipkin_address_text(&d->span.arena, bytes);
	d->span.failed |= address->n == 0;
}

static int take_endpoint(struct decoder *d, struct slice bytes, struct zipkin_endpoint *endpoint)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			endpoint->service = f.bytes;
			break;
		case PB_TAG(2, PB_BYTES):
			take_address(d, f.bytes, 4, &endpoint->ipv4);
			break;
		case PB_TAG(3, PB_BYTES):
			take_address(d, f.bytes, 16, &endpoint->ipv6);
			break;
		case PB_TAG(4, PB_VARINT):
			endpoint->port = f.value > UINT32_MAX ? UINT32_MAX : (uint32_t)f.value;
			break;
		default:
			break;
		}
	}
	return r.bad ? malformed(d, r.bad, "an endpoint") : 0;
}

static int take_annotation(struct decoder *d, struct slice bytes)
{
	struct pb_reader r = pb_open(bytes);
	struct slice value = {0};
	uint64_t timestamp = 0;
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_FIXED64))
			timestamp = f.value;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			value = f.bytes;
	}
	if (r.bad)
		return malformed(d, r.bad, "an annotation");
	zipkin_span_annotate(&d->span, timestamp, value);
	return 0;
}

static int take_tag(struct decoder *d, struct slice bytes)
{
	struct pb_reader r = pb_open(bytes);
	struct slice key = {0}, value = {0};
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			key = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			value = f.bytes;
	}
	if (r.bad)
		return malformed(d, r.bad, "a tag");
	zipkin_span_tag(&d->span, key, value);
	return 0;
}

static int take_field(struct decoder *d, const struct pb_reader *r, const struct pb_field *f)
{
	struct zipkin_span *s = &d->span;

	switch (f->tag) {
	case PB_TAG(1, PB_BYTES):
		take_trace_id(d, f->bytes);
		return 0;
	case PB_TAG(2, PB_BYTES):
		take_id(d, f->bytes, &s->parent);
		return 0;
	case PB_TAG(3, PB_BYTES):
		take_id(d, f->bytes, &s->id);
		return 0;
	case PB_TAG(5, PB_BYTES):
		s->name = f->bytes;
		return 0;
	case PB_TAG(6, PB_FIXED64):
		s->timestamp_us = f->value;
		return 0;
	case PB_TAG(7, PB_VARINT):
		s->duration_us = f->value;
		return 0;
	case PB_TAG(8, PB_BYTES):
		return take_endpoint(d, f->bytes, &s->local);
	case PB_TAG(9, PB_BYTES):
		return take_endpoint(d, f->bytes, &s->remote);
	case PB_TAG(10, PB_BYTES):
		return take_annotation(d, f->bytes);
	case PB_TAG(11, PB_BYTES):
		return take_tag(d, f->bytes);
	case PB_TAG(12, PB_VARINT):
		s->debug = f->value != 0;
		return 0;
	case PB_TAG(13, PB_VARINT):
		s->shared = f->value != 0;
		return 0;
	case PB_TAG(4, PB_VARINT):
		if (f->value < ARRAY_SIZE(kinds)) {
			s->kind = kinds[f->value];
			return 0;
		}
		break;
	default:
		break;
	}
	buffer_slice(&d->unknown, pb_whole(r, f));
	return 0;
}

static int take_span(struct decoder *d, struct zipkin_builder *z, struct slice bytes)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	int error = 0;

	zipkin_span_clear(&d->span);
	buffer_clear(&d->unknown);
	while (error == 0 && pb_next(&r, &f))
		error = take_field(d, &r, &f);
	if (error < 0)
		return error;
	if (r.bad)
		return malformed(d, r.bad, "a span");
	if (d->span.failed || d->unknown.failed)
		return error_set(d->error, -ENOMEM, "out of memory");
	d->span.unknown = buffer_get(&d->unknown);
	zipkin_builder_add(z, &d->span, (size_t)(bytes.p - d->body.p));
	return z->batch->failed;
}

int zipkin_proto_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
			struct error *error)
{
	struct decoder d = {.body = body, .error = error};
	struct pb_reader r = pb_open(body);
	struct zipkin_builder z;
	struct pb_field f;
	int result = 0;

	zipkin_builder_init(&z, batch, tally);
	while (result == 0 && pb_next(&r, &f))
		if (f.tag == PB_TAG(1, PB_BYTES))
			result = take_span(&d, &z, f.bytes);
	if (result == 0 && r.bad)
		result = malformed(&d, r.bad, "the list of spans");
	if (result == 0)
		result = batch->failed;
	if (batch->failed)
		error_set(error, result,
			  result == -ENOMEM ? "out of memory" : "the request is too large");
	zipkin_builder_done(&z);
	zipkin_span_done(&d.span);
	buffer_done(&d.unknown);
	return result;
}

/* --- encoding --- */

static void put_text(struct buffer *out, uint32_t number, struct slice text)
{
	if (text.n)
		pb_put_bytes(out, number, text);
}

static void put_id(struct buffer *out, uint32_t number, span_id_t id)
{
	uint8_t bytes[8];

	store_be64(bytes, id);
	if (id)
		pb_put_bytes(out, number, slice_of(bytes, sizeof(bytes)));
}

static void put_address(struct buffer *out, uint32_t number, struct slice text, size_t length)
{
	uint8_t bytes[16];

	if (zipkin_address_bytes(text, bytes) == length)
		pb_put_bytes(out, number, slice_of(bytes, length));
}

static void put_endpoint(struct buffer *out, uint32_t number, const struct zipkin_endpoint *e)
{
	size_t begun;

	if (e->service.n == 0 && e->ipv4.n == 0 && e->ipv6.n == 0 && e->port == 0)
		return;
	begun = pb_begin(out, number);
	put_text(out, 1, e->service);
	put_address(out, 2, e->ipv4, 4);
	put_address(out, 3, e->ipv6, 16);
	if (e->port)
		pb_put_varint(out, 4, e->port);
	pb_end(out, begun);
}

static void put_kind(struct buffer *out, enum span_kind kind)
{
	for (size_t i = 1; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i] == kind)
			pb_put_varint(out, 4, i);
}

static void put_span(struct buffer *out, const struct zipkin_span *s)
{
	size_t span = pb_begin(out, 1), begun;

	pb_put_bytes(out, 1,
		     s->trace_id_64 ? slice_of(s->trace_id.b + 8, 8) : slice_of(s->trace_id.b, 16));
	put_id(out, 2, s->parent);
	put_id(out, 3, s->id);
	put_kind(out, s->kind);
	put_text(out, 5, s->name);
	if (s->timestamp_us)
		pb_put_fixed64(out, 6, s->timestamp_us);
	if (s->duration_us)
		pb_put_varint(out, 7, s->duration_us);
	put_endpoint(out, 8, &s->local);
	put_endpoint(out, 9, &s->remote);
	for (size_t i = 0; i < s->annotation_n; i++) {
		begun = pb_begin(out, 10);
		if (s->annotations[i].timestamp_us)
			pb_put_fixed64(out, 1, s->annotations[i].timestamp_us);
		put_text(out, 2, s->annotations[i].value);
		pb_end(out, begun);
	}
	for (size_t i = 0; i < s->tag_n; i++) {
		begun = pb_begin(out, 11);
		pb_put_bytes(out, 1, s->tags[i].key);
		pb_put_bytes(out, 2, s->tags[i].value);
		pb_end(out, begun);
	}
	if (s->debug)
		pb_put_varint(out, 12, 1);
	if (s->shared)
		pb_put_varint(out, 13, 1);
	buffer_slice(out, s->unknown);
	pb_end(out, span);
}

void zipkin_proto_encode(const struct event_ref *refs, size_t n, struct buffer *out)
{
	struct zipkin_span s = {0};
	bool is_span;

	for (size_t i = 0; i < n && !out->failed;) {
		i += zipkin_span_from(refs + i, n - i, &s, &is_span);
		if (s.failed)
			out->failed = true;
		else if (is_span)
			put_span(out, &s);
	}
	zipkin_span_done(&s);
}
