/* wire/zipkin.h - a Zipkin v2 span, free of how it is written down (JSON or protobuf), and how it
 * becomes rows and back.
 *
 * A span is a SPAN row of FORMAT_ZIPKIN; its annotations are POINT rows behind it, its tags string
 * attributes in their order.  What OpenTelemetry has a name for stands under that name, in front of
 * the tags, so that every other part of the system finds it:
 *
 *   localEndpoint.serviceName   resource  service.name
 *   localEndpoint.ipv4, ipv6    span      network.local.address
 *   localEndpoint.port                    network.local.port
 *   remoteEndpoint.serviceName            peer.service
 *   remoteEndpoint.ipv4, ipv6             network.peer.address
 *   remoteEndpoint.port                   network.peer.port
 *   (ipv6 beside an ipv4                  zipkin.local.ipv6, zipkin.peer.ipv6)
 *   tag otel.status_code, error           the row's status; the tag stays
 *
 * Which of them were made from endpoints is in the row's bits (enum zipkin_bits), so a tag that
 * happens to have the same name stays a tag.  Spans born elsewhere are written the way
 * OpenTelemetry's exporters do it: docs/design/wire.md.
 *
 * Not told apart: absent and empty, absent and 0, absent and false. */
#ifndef CAUSET_WIRE_ZIPKIN_H
#define CAUSET_WIRE_ZIPKIN_H

#include "base/arena.h"
#include "base/map.h"
#include "wire/decode.h"

#define ZIPKIN_PORT_MAX 65535

/* In event.bits: this attribute stands at the front of the row's attributes, in this order. */
enum zipkin_bits {
	ZIPKIN_LOCAL_IPV4 = EVENT_FORMAT_BIT << 0,
	ZIPKIN_LOCAL_IPV6 = EVENT_FORMAT_BIT << 1,
	ZIPKIN_LOCAL_PORT = EVENT_FORMAT_BIT << 2,
	ZIPKIN_REMOTE_SERVICE = EVENT_FORMAT_BIT << 3,
	ZIPKIN_REMOTE_IPV4 = EVENT_FORMAT_BIT << 4,
	ZIPKIN_REMOTE_IPV6 = EVENT_FORMAT_BIT << 5,
	ZIPKIN_REMOTE_PORT = EVENT_FORMAT_BIT << 6,
};

struct zipkin_endpoint {
	struct slice service;
	struct slice ipv4, ipv6; /* as text, as they came: "10.0.0.1", "2001:db8::1" */
	uint32_t port;
};

struct zipkin_annotation {
	uint64_t timestamp_us;
	struct slice value;
};

struct zipkin_tag {
	struct slice key, value;
};

/* Slices are borrowed: from the input, from a batch, or from `arena`.  Reused from span to span. */
struct zipkin_span {
	struct trace_id trace_id;
	bool trace_id_64; /* came, or is to be written, as 16 digits or 8 bytes */
	span_id_t id, parent;
	struct slice name;
	enum span_kind kind; /* UNSPECIFIED where Zipkin has none; never INTERNAL */
	uint64_t timestamp_us, duration_us;
	bool debug, shared;
	struct zipkin_endpoint local, remote;
	struct zipkin_annotation *annotations;
	size_t annotation_n, annotation_capacity;
	struct zipkin_tag *tags;
	size_t tag_n, tag_capacity;

	struct slice unknown; /* protobuf fields that we do not know, verbatim */

	/* Decoders: why the span cannot be accepted ("traceId that is not hex"), a literal. */
	const char *objection;
	struct arena arena;
	bool failed; /* out of memory */
};

/* Empty, as at first; keeps its arrays. */
void zipkin_span_clear(struct zipkin_span *s);
void zipkin_span_done(struct zipkin_span *s);

/* Append; `failed` when out of memory. */
void zipkin_span_tag(struct zipkin_span *s, struct slice key, struct slice value);
void zipkin_span_annotate(struct zipkin_span *s, uint64_t timestamp_us, struct slice value);

/* --- spans to rows --- */

struct zipkin_builder {
	struct batch *batch;
	struct decode_tally *tally;
	struct map services; /* service name code → resource */
	uint32_t scope;
	bool has_scope;
};

void zipkin_builder_init(struct zipkin_builder *z, struct batch *batch, struct decode_tally *tally);
void zipkin_builder_done(struct zipkin_builder *z);

/* Adds the rows of one span, or counts it as rejected: with an objection, without a trace id or id,
 * with times past 2554.  `offset` of the span in the input is for the reason's text. */
void zipkin_builder_add(struct zipkin_builder *z, const struct zipkin_span *s, size_t offset);

/* --- rows to spans --- */

/* Fills *s (emptied first) from the SPAN row at refs[0] and the points and links behind it, of
 * whatever format they are.  Returns how many rows it took, at least 1; *ret_is_span says whether
 * there was a span (other rows are passed over). */
size_t zipkin_span_from(const struct event_ref *refs, size_t n, struct zipkin_span *s,
			bool *ret_is_span);

/* --- kinds and addresses --- */

/* 4 or 16 bytes as text in the arena; an empty slice for other lengths. */
struct slice zipkin_address_text(struct arena *arena, struct slice bytes);

/* The bytes of an address in text; returns 4 or 16, or 0 when it is none. */
size_t zipkin_address_bytes(struct slice text, uint8_t out[16]);

#endif
