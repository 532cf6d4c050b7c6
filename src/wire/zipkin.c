/* wire/zipkin.c - Zipkin spans to rows.  The way back: wire/zipkin_from.c. */
#include "wire/zipkin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

#define NS_PER_US      1000
#define TIMESTAMP_MOST (UINT64_MAX / NS_PER_US)

void zipkin_span_clear(struct zipkin_span *s)
{
	struct zipkin_span kept = *s;

	arena_done(&kept.arena);
	*s = (struct zipkin_span){.annotations = kept.annotations,
				  .annotation_capacity = kept.annotation_capacity,
				  .tags = kept.tags,
				  .tag_capacity = kept.tag_capacity,
				  .arena = kept.arena};
}

void zipkin_span_done(struct zipkin_span *s)
{
	arena_done(&s->arena);
	free(s->annotations);
	free(s->tags);
	*s = (struct zipkin_span){0};
}

void zipkin_span_tag(struct zipkin_span *s, struct slice key, struct slice value)
{
	if (!vec_reserve(&s->tags, &s->tag_capacity, s->tag_n + 1, sizeof(*s->tags))) {
		s->failed = true;
		return;
	}
	s->tags[s->tag_n++] = (struct zipkin_tag){key, value};
}

void zipkin_span_annotate(struct zipkin_span *s, uint64_t timestamp_us, struct slice value)
{
	if (!vec_reserve(&s->annotations, &s->annotation_capacity, s->annotation_n + 1,
			 sizeof(*s->annotations))) {
		s->failed = true;
		return;
	}
	s->annotations[s->annotation_n++] = (struct zipkin_annotation){timestamp_us, value};
}

struct slice zipkin_address_text(struct arena *arena, struct slice bytes)
{
	char text[INET6_ADDRSTRLEN];

	if (bytes.n != 4 && bytes.n != 16)
		return slice_of(NULL, 0);
	if (!inet_ntop(bytes.n == 4 ? AF_INET : AF_INET6, bytes.p, text, sizeof(text)))
		return slice_of(NULL, 0);
	return arena_dup(arena, slice_cstr(text));
}

size_t zipkin_address_bytes(struct slice text, uint8_t out[16])
{
	char copy[INET6_ADDRSTRLEN];

	if (text.n == 0 || text.n >= sizeof(copy))
		return 0;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	if (inet_pton(AF_INET, copy, out) == 1)
		return 4;
	return inet_pton(AF_INET6, copy, out) == 1 ? 16 : 0;
}

void zipkin_builder_init(struct zipkin_builder *z, struct batch *batch, struct decode_tally *tally)
{
	*z = (struct zipkin_builder){.batch = batch, .tally = tally};
	map_init(&z->services);
}

void zipkin_builder_done(struct zipkin_builder *z)
{
	map_done(&z->services);
}

/* Has resource `value` this service name?  Ours have one attribute or none. */
static bool same_service(const void *context, uint32_t value, const void *key)
{
	const struct batch *b = context;
	const struct resource *r = &b->resources[value];

	return (r->attrs.count ? b->attrs[r->attrs.first].string : 0) == *(const uint32_t *)key;
}

static uint32_t resource_of(struct zipkin_builder *z, struct slice service)
{
	struct batch *b = z->batch;
	uint32_t code = batch_string(b, service);
	uint64_t hash = hash_u64(code, z->services.seed);
	uint32_t index = map_get(&z->services, hash, same_service, b, &code);

	if (index != MAP_NONE)
		return index;
	index = batch_resource(b);
	if (b->failed)
		return 0;
	if (code) {
		b->resources[index].attrs = (struct attr_range){(uint32_t)b->attr_n, 1};
		batch_attr_string(b, SLICE("service.name"), service);
	}
	if (!map_put(&z->services, hash, index))
		b->failed = -ENOMEM;
	return index;
}

/* Puts an address in front of the tags; returns its bit. */
static unsigned add_text(struct batch *b, unsigned bit, struct slice key, struct slice text)
{
	if (text.n == 0)
		return 0;
	batch_attr_string(b, key, text);
	return bit;
}

static unsigned add_port(struct batch *b, unsigned bit, struct slice key, uint32_t port)
{
	if (port == 0)
		return 0;
	batch_attr_int(b, key, port);
	return bit;
}

static unsigned add_endpoints(struct batch *b, const struct zipkin_span *s)
{
	const struct slice local = SLICE("network.local.address"),
			   remote = SLICE("network.peer.address");
	unsigned bits = 0;

	bits |= add_text(b, ZIPKIN_LOCAL_IPV4, local, s->local.ipv4);
	bits |= add_text(b, ZIPKIN_LOCAL_IPV6, bits ? SLICE("zipkin.local.ipv6") : local,
			 s->local.ipv6);
	bits |= add_port(b, ZIPKIN_LOCAL_PORT, SLICE("network.local.port"), s->local.port);
	bits |= add_text(b, ZIPKIN_REMOTE_SERVICE, SLICE("peer.service"), s->remote.service);
	bits |= add_text(b, ZIPKIN_REMOTE_IPV4, remote, s->remote.ipv4);
	bits |= add_text(b, ZIPKIN_REMOTE_IPV6,
			 bits & ZIPKIN_REMOTE_IPV4 ? SLICE("zipkin.peer.ipv6") : remote,
			 s->remote.ipv6);
	bits |= add_port(b, ZIPKIN_REMOTE_PORT, SLICE("network.peer.port"), s->remote.port);
	return bits;
}

/* What the tags say about success.  OpenTelemetry's exporters write otel.status_code and put the
 * message into `error`; Zipkin's own tracers only have `error`, with any value. */
static void read_status(const struct zipkin_span *s, int32_t *ret_status, struct slice *ret_message)
{
	struct slice code = {0}, error = {0};
	bool has_error = false;

	for (size_t i = 0; i < s->tag_n; i++) {
		if (slice_eq(s->tags[i].key, SLICE("otel.status_code"))) {
			code = s->tags[i].value;
		} else if (slice_eq(s->tags[i].key, SLICE("error"))) {
			error = s->tags[i].value;
			has_error = !slice_eq(error, SLICE("false"));
		}
	}
	*ret_status = STATUS_UNSET;
	*ret_message = slice_of(NULL, 0);
	if (slice_eq(code, SLICE("OK"))) {
		*ret_status = STATUS_OK;
	} else if (slice_eq(code, SLICE("ERROR")) || has_error) {
		*ret_status = STATUS_ERROR;
		if (has_error && !slice_eq(error, SLICE("true")))
			*ret_message = error;
	}
}

static const char *objection_to(const struct zipkin_span *s)
{
	uint64_t end;

	if (s->objection)
		return s->objection;
	if (trace_id_is_zero(s->trace_id))
		return "span without a traceId";
	if (s->id == 0)
		return "span without an id";
	if (s->local.port > ZIPKIN_PORT_MAX || s->remote.port > ZIPKIN_PORT_MAX)
		return "span with an endpoint whose port is above 65535";
	if (__builtin_add_overflow(s->timestamp_us, s->duration_us, &end) || end > TIMESTAMP_MOST)
		return "span whose timestamp and duration are out of range";
	for (size_t i = 0; i < s->annotation_n; i++)
		if (s->annotations[i].timestamp_us > TIMESTAMP_MOST)
			return "span with an annotation whose timestamp is out of range";
	return NULL;
}

void zipkin_builder_add(struct zipkin_builder *z, const struct zipkin_span *s, size_t offset)
{
	struct batch *b = z->batch;
	const char *objection = objection_to(s);
	struct slice message;
	struct event e = {.type = EVENT_SPAN, .format = FORMAT_ZIPKIN};
	uint32_t index;

	if (objection) {
		decode_reject(z->tally, "%s (byte %zu)", objection, offset);
		return;
	}
	if (!z->has_scope) {
		z->scope = batch_scope(b);
		z->has_scope = true;
	}
	e.resource = resource_of(z, s->local.service);
	e.scope = z->scope;
	e.trace_id = s->trace_id;
	e.id1 = s->id;
	e.id2 = s->parent;
	e.name = batch_string(b, s->name);
	e.kind = s->kind;
	e.time_ns = s->timestamp_us * NS_PER_US;
	if (s->duration_us)
		e.end_ns = (s->timestamp_us + s->duration_us) * NS_PER_US;
	e.attrs.first = (uint32_t)b->attr_n;
	e.bits = (uint16_t)(add_endpoints(b, s) | (s->trace_id_64 ? EVENT_TRACE_ID_64 : 0) |
			    (s->shared ? EVENT_SHARED : 0) | (s->debug ? EVENT_DEBUG : 0));
	for (size_t i = 0; i < s->tag_n; i++)
		batch_attr_string(b, s->tags[i].key, s->tags[i].value);
	e.attrs.count = (uint32_t)b->attr_n - e.attrs.first;
	read_status(s, &e.status, &message);
	index = (uint32_t)b->event_n;
	*batch_event(b) = e;
	if (message.n > 0 || s->unknown.n > 0) {
		uint32_t text = batch_string(b, message), unknown = batch_string(b, s->unknown);
		struct event_extra *x = batch_extra(b, index);

		x->status_message = text;
		x->unknown = unknown;
	}
	for (size_t i = 0; i < s->annotation_n; i++)
		*batch_event(b) =
			(struct event){.type = EVENT_POINT,
				       .format = FORMAT_ZIPKIN,
				       .trace_id = e.trace_id,
				       .id1 = e.id1,
				       .resource = e.resource,
				       .scope = e.scope,
				       .bits = e.bits & EVENT_TRACE_ID_64,
				       .time_ns = s->annotations[i].timestamp_us * NS_PER_US,
				       .name = batch_string(b, s->annotations[i].value)};
	z->tally->accepted++;
}
