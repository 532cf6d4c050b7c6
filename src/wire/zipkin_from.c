/* wire/zipkin_from.c - rows to Zipkin spans.
 *
 * Zipkin's own come back as they came.  Others follow OpenTelemetry's rules for Zipkin exporters:
 * what Zipkin has no place for becomes tags (otel.*), values become text, events become annotations
 * with their attributes as JSON, links become tags as the OpenTelemetry Collector writes them
 * (otlp.link.N).  Times lose what is below a microsecond. */
#include "base/cleanup.h"
#include "wire/value_text.h"
#include "wire/zipkin.h"

#define NS_PER_US         1000
#define OVERRIDES_CHECKED 1000 /* attributes of a span that are compared with its resource's */

struct maker {
	struct zipkin_span *s;
	const struct batch *b;
	const struct event *e;
};

static void add_tag(struct maker *m, struct slice key, struct slice value)
{
	if (value.n > 0)
		zipkin_span_tag(m->s, key, value);
}

static struct slice text_of(struct maker *m, const struct attr *a)
{
	return value_text(m->b, a, &m->s->arena, &m->s->failed);
}

static void add_number(struct maker *m, struct slice key, uint64_t value)
{
	char *text;

	if (value == 0)
		return;
	text = arena_printf(&m->s->arena, "%llu", (unsigned long long)value);
	m->s->failed |= !text;
	add_tag(m, key, slice_cstr(text));
}

/* --- Zipkin's own --- */

/* The attribute at *at, if it is the one the bit announces; redaction may have taken it away. */
static const struct attr *announced(struct maker *m, unsigned bit, struct slice key,
				    enum value_type type, uint32_t *at)
{
	const struct attr *a;

	if (!(m->e->bits & bit) || *at >= m->e->attrs.count)
		return NULL;
	a = &m->b->attrs[m->e->attrs.first + *at];
	if (a->type != type || !slice_eq(batch_text(m->b, a->key), key))
		return NULL;
	(*at)++;
	return a;
}

static struct slice take_text(struct maker *m, unsigned bit, struct slice key, uint32_t *at)
{
	const struct attr *a = announced(m, bit, key, VALUE_STRING, at);

	return a ? batch_text(m->b, a->string) : slice_of(NULL, 0);
}

static uint32_t take_port(struct maker *m, unsigned bit, struct slice key, uint32_t *at)
{
	const struct attr *a = announced(m, bit, key, VALUE_INT, at);
	int64_t port = a ? attr_integer(m->b, a) : 0;

	return port > 0 && port <= ZIPKIN_PORT_MAX ? (uint32_t)port : 0;
}

static void from_zipkin(struct maker *m)
{
	struct zipkin_endpoint *local = &m->s->local, *remote = &m->s->remote;
	const struct slice address = SLICE("network.local.address"),
			   peer = SLICE("network.peer.address");
	unsigned bits = m->e->bits;
	uint32_t at = 0;

	m->s->debug = bits & EVENT_DEBUG;
	m->s->shared = bits & EVENT_SHARED;
	local->ipv4 = take_text(m, ZIPKIN_LOCAL_IPV4, address, &at);
	local->ipv6 =
		take_text(m, ZIPKIN_LOCAL_IPV6,
			  bits & ZIPKIN_LOCAL_IPV4 ? SLICE("zipkin.local.ipv6") : address, &at);
	local->port = take_port(m, ZIPKIN_LOCAL_PORT, SLICE("network.local.port"), &at);
	remote->service = take_text(m, ZIPKIN_REMOTE_SERVICE, SLICE("peer.service"), &at);
	remote->ipv4 = take_text(m, ZIPKIN_REMOTE_IPV4, peer, &at);
	remote->ipv6 = take_text(m, ZIPKIN_REMOTE_IPV6,
				 bits & ZIPKIN_REMOTE_IPV4 ? SLICE("zipkin.peer.ipv6") : peer, &at);
	remote->port = take_port(m, ZIPKIN_REMOTE_PORT, SLICE("network.peer.port"), &at);
	for (; at < m->e->attrs.count; at++) {
		const struct attr *a = &m->b->attrs[m->e->attrs.first + at];

		zipkin_span_tag(m->s, batch_text(m->b, a->key), text_of(m, a));
	}
}

/* --- everybody else's --- */

static struct slice attr_of(struct maker *m, struct slice key)
{
	const struct attr *a = batch_attr_find(m->b, m->e->attrs, key);

	return a ? text_of(m, a) : slice_of(NULL, 0);
}

static void set_address(struct zipkin_endpoint *to, struct slice text)
{
	uint8_t bytes[16];
	size_t n = zipkin_address_bytes(text, bytes);

	if (n == 4)
		to->ipv4 = text;
	else if (n == 16)
		to->ipv6 = text;
}

static void set_port(struct maker *m, struct zipkin_endpoint *to, struct slice key)
{
	struct slice text = attr_of(m, key);
	uint64_t port;

	if (to->port == 0 && slice_parse_u64(text, &port) == 0 && port <= ZIPKIN_PORT_MAX)
		to->port = (uint32_t)port;
}

static void set_endpoints(struct maker *m)
{
	/* Only who calls names the other side by these. */
	static const struct slice names[] = {{"server.address", 14},
					     {"net.peer.name", 13},
					     {"peer.hostname", 13},
					     {"db.name", 7}};
	struct zipkin_endpoint *local = &m->s->local, *remote = &m->s->remote;
	bool calls = m->e->kind == KIND_CLIENT || m->e->kind == KIND_PRODUCER;

	set_address(local, attr_of(m, SLICE("network.local.address")));
	set_port(m, local, SLICE("network.local.port"));
	remote->service = attr_of(m, SLICE("peer.service"));
	for (size_t i = 0; calls && i < ARRAY_SIZE(names) && remote->service.n == 0; i++)
		remote->service = attr_of(m, names[i]);
	set_address(remote, attr_of(m, SLICE("network.peer.address")));
	if (remote->ipv4.n == 0 && remote->ipv6.n == 0)
		set_address(remote, attr_of(m, SLICE("net.peer.ip")));
	set_port(m, remote, SLICE("network.peer.port"));
	if (calls) {
		set_port(m, remote, SLICE("server.port"));
		set_port(m, remote, SLICE("net.peer.port"));
	}
}

static void add_attrs(struct maker *m)
{
	const struct attr_range own = m->e->attrs, shared = m->b->resources[m->e->resource].attrs;

	for (uint32_t i = 0; i < shared.count; i++) {
		const struct attr *a = &m->b->attrs[shared.first + i];
		struct slice key = batch_text(m->b, a->key);

		if (slice_eq(key, SLICE("service.name")) ||
		    (own.count <= OVERRIDES_CHECKED && batch_attr_find(m->b, own, key)))
			continue;
		zipkin_span_tag(m->s, key, text_of(m, a));
	}
	for (uint32_t i = 0; i < own.count; i++) {
		const struct attr *a = &m->b->attrs[own.first + i];
		struct slice key = batch_text(m->b, a->key);

		if (m->e->status == STATUS_ERROR && slice_eq(key, SLICE("error")))
			continue; /* the status says it */
		zipkin_span_tag(m->s, key, text_of(m, a));
	}
}

static void add_facts(struct maker *m)
{
	const struct scope *scope = &m->b->scopes[m->e->scope];
	const struct event_extra *x = batch_extra_get(m->b, m->e);

	add_tag(m, SLICE("otel.scope.name"), batch_text(m->b, scope->name));
	add_tag(m, SLICE("otel.scope.version"), batch_text(m->b, scope->version));
	add_tag(m, SLICE("otel.library.name"), batch_text(m->b, scope->name));
	add_tag(m, SLICE("otel.library.version"), batch_text(m->b, scope->version));
	add_tag(m, SLICE("w3c.tracestate"), batch_text(m->b, x->trace_state));
	add_number(m, SLICE("otel.dropped_attributes_count"), x->dropped_attributes);
	add_number(m, SLICE("otel.dropped_events_count"), x->dropped_points);
	add_number(m, SLICE("otel.dropped_links_count"), x->dropped_links);
	if (m->e->status == STATUS_OK) {
		add_tag(m, SLICE("otel.status_code"), SLICE("OK"));
	} else if (m->e->status == STATUS_ERROR) {
		add_tag(m, SLICE("otel.status_code"), SLICE("ERROR"));
		zipkin_span_tag(m->s, SLICE("error"), batch_text(m->b, x->status_message));
	}
}

/* "name": {"attribute": value, …} */
static struct slice annotation_text(struct maker *m, const struct event *e)
{
	struct buffer text = {0};
	struct json_writer w = json_write(&text);
	struct slice made;

	if (e->attrs.count == 0)
		return batch_text(m->b, e->name);
	json_put_string(&w, batch_text(m->b, e->name));
	buffer_append(&text, ": ", 2);
	w.comma = false;
	value_put_object(&w, m->b, e->attrs);
	made = arena_dup(&m->s->arena, buffer_get(&text));
	m->s->failed |= text.failed || !made.p;
	buffer_done(&text);
	return made;
}

/* trace|span|tracestate|attributes|dropped */
static void add_link(struct maker *m, const struct event *e, size_t number)
{
	const struct event_extra *x = batch_extra_get(m->b, e);
	char trace[TRACE_ID_HEX + 1], span[SPAN_ID_HEX + 1];
	struct buffer text = {0};
	struct json_writer w = json_write(&text);
	char *key = arena_printf(&m->s->arena, "otlp.link.%zu", number);
	struct slice value;

	trace_id_format(x->link_trace, trace);
	span_id_format(e->id2, span);
	buffer_printf(&text, "%s|%s|", trace, span);
	buffer_slice(&text, batch_text(m->b, x->trace_state));
	buffer_byte(&text, '|');
	value_put_object(&w, m->b, e->attrs);
	buffer_printf(&text, "|%u", x->dropped_attributes);
	value = arena_dup(&m->s->arena, buffer_get(&text));
	m->s->failed |= text.failed || !value.p || !key;
	buffer_done(&text);
	add_tag(m, slice_cstr(key), value);
}

static size_t add_rows(struct maker *m, const struct event_ref *refs, size_t n)
{
	size_t i, links = 0;

	for (i = 1; i < n && refs[i].batch == m->b; i++) {
		const struct event *e = event_get(refs[i]);

		if ((e->type != EVENT_POINT && e->type != EVENT_LINK) || e->id1 != m->e->id1)
			break;
		if (e->type == EVENT_POINT)
			zipkin_span_annotate(m->s, e->time_ns / NS_PER_US, annotation_text(m, e));
		else
			add_link(m, e, links++);
	}
	return i;
}

static uint64_t duration_us(const struct event *e)
{
	uint64_t ns = e->end_ns > e->time_ns ? e->end_ns - e->time_ns : 0;

	/* Zipkin wants less than a microsecond to be one; but not past the end of time. */
	if (ns > 0 && ns < NS_PER_US && e->time_ns / NS_PER_US < UINT64_MAX / NS_PER_US)
		return 1;
	return ns / NS_PER_US;
}

size_t zipkin_span_from(const struct event_ref *refs, size_t n, struct zipkin_span *s,
			bool *ret_is_span)
{
	struct maker m = {.s = s, .b = refs[0].batch, .e = event_get(refs[0])};

	*ret_is_span = m.e->type == EVENT_SPAN;
	if (!*ret_is_span)
		return 1;
	zipkin_span_clear(s);
	s->trace_id = m.e->trace_id;
	s->trace_id_64 = (m.e->bits & EVENT_TRACE_ID_64) && load_be64(s->trace_id.b) == 0;
	s->id = m.e->id1;
	s->parent = m.e->id2;
	s->name = batch_text(m.b, m.e->name);
	if (m.e->kind >= KIND_SERVER && m.e->kind <= KIND_CONSUMER)
		s->kind = (enum span_kind)m.e->kind;
	s->timestamp_us = m.e->time_ns / NS_PER_US;
	s->duration_us = duration_us(m.e);
	s->local.service = batch_service(m.b, m.e);
	if (m.e->format == FORMAT_ZIPKIN) {
		s->unknown = batch_text(m.b, batch_extra_get(m.b, m.e)->unknown);
		from_zipkin(&m);
	} else {
		set_endpoints(&m);
		add_attrs(&m);
		add_facts(&m);
	}
	return add_rows(&m, refs, n);
}
