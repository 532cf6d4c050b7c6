/* cli/messages_spans.c - messages out of spans, as if somebody had watched the wire.
 *
 * A span that a service serves for another is a call.  Who called is told by its parent span (the
 * caller's name is on the wire as well); that is all that parents are asked for: which call inside
 * the caller's process made it is left to be inferred.
 *
 *   client span    CALL_SENT ──────────────────────────── RET_RECV
 *   server span            CALL_RECV ──────── RET_SENT
 *
 * A server span without a parent that was seen is called by `client`; a client span that nobody
 * served is a call to whatever its attributes name. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "cli/messages_int.h"
#include "cli/reader.h"
#include "core/hash.h"

struct seen {
	struct trace_id trace;
	uint64_t id, parent;
	int64_t start_ns, end_ns;
	uint32_t service, name, peer; /* peer: NAMES_NONE when the span names none */
	int32_t kind;
	bool served; /* a server span is its child */
};

struct spans {
	struct messages_input *in;
	struct seen *at;
	size_t n, capacity;
	struct map map;
};

struct span_key {
	struct trace_id trace;
	uint64_t id;
	bool client; /* both ends of a call may have the same id: Zipkin's shared spans */
};

static bool is_client(const struct seen *x)
{
	return x->kind == KIND_CLIENT || x->kind == KIND_PRODUCER;
}

static bool same_span(const void *context, uint32_t value, const void *key)
{
	const struct seen *s = &((const struct spans *)context)->at[value];
	const struct span_key *k = key;

	return s->id == k->id && is_client(s) == k->client &&
	       memcmp(&s->trace, &k->trace, sizeof(k->trace)) == 0;
}

static uint64_t key_hash(const struct span_key *k, uint64_t seed)
{
	return hash_bytes(&k->trace, sizeof(k->trace), seed ^ k->id);
}

static int node_of(struct spans *s, struct slice name, struct slice fallback, uint32_t *ret)
{
	return names_intern(s->in->nodes, slice_first(name.n ? name : fallback, NAMES_MAX_BYTES),
			    ret);
}

static int peer_of(struct spans *s, const struct batch *b, const struct event *e, uint32_t *ret)
{
	static const struct slice keys[] = {SLICE("peer.service"),     SLICE("rpc.service"),
					    SLICE("db.system.name"),   SLICE("db.system"),
					    SLICE("messaging.system"), SLICE("server.address"),
					    SLICE("net.peer.name"),    SLICE("net.peer.ip")};

	*ret = NAMES_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct slice text = batch_attr_text(b, e->attrs, keys[i]);

		if (text.n)
			return node_of(s, text, text, ret);
	}
	return 0;
}

static int span_add(struct spans *s, const struct batch *b, const struct event *e)
{
	struct seen x = {.trace = e->trace_id,
			 .id = e->id1,
			 .parent = e->id2,
			 .start_ns = (int64_t)e->time_ns,
			 .end_ns = (int64_t)e->end_ns,
			 .kind = e->kind,
			 .name = NAMES_NONE};
	struct span_key key = {.trace = e->trace_id, .id = e->id1};
	struct slice name = batch_text(b, e->name);
	int r = node_of(s, batch_service(b, e), SLICE("unknown"), &x.service);

	if (r == 0)
		r = peer_of(s, b, e, &x.peer);
	if (r == 0 && name.n)
		r = names_intern(s->in->operations, slice_first(name, NAMES_MAX_BYTES), &x.name);
	if (r < 0)
		return r;
	if (x.end_ns < x.start_ns || !message_time_ok(x.start_ns) || !message_time_ok(x.end_ns))
		return 0;
	if (s->n >= UINT32_MAX - 1 ||
	    !vec_reserve(&s->at, &s->capacity, s->n + 1, sizeof(*s->at)) ||
	    !map_put(&s->map, key_hash(&key, s->map.seed), (uint32_t)s->n))
		return -ENOMEM;
	s->at[s->n++] = x;
	return 0;
}

static int put(struct spans *s, uint8_t op, uint8_t sight, int64_t time_ns, uint32_t from,
	       uint32_t to, const struct seen *of, uint64_t id)
{
	struct message m = {.time_ns = time_ns,
			    .op = op,
			    .sight = sight,
			    .sender = from,
			    .receiver = to,
			    .id = message_id_of_number(id),
			    .name = of->name,
			    .file = s->in->file};

	return s->in->sink.put(s->in->sink.context, &m, 1);
}

static int call_put(struct spans *s, const struct seen *client, const struct seen *server,
		    uint32_t caller, uint32_t callee, uint64_t id)
{
	int r = 0;

	if (client) {
		r = put(s, MESSAGE_CALL, MESSAGE_SENT, client->start_ns, caller, callee, client,
			id);
		if (r == 0)
			r = put(s, MESSAGE_RET, MESSAGE_RECV, client->end_ns, callee, caller,
				client, id);
	}
	if (r == 0 && server) {
		r = put(s, MESSAGE_CALL, MESSAGE_RECV, server->start_ns, caller, callee, server,
			id);
		if (r == 0)
			r = put(s, MESSAGE_RET, MESSAGE_SENT, server->end_ns, callee, caller,
				server, id);
	}
	return r;
}

static struct seen *find(struct spans *s, struct trace_id trace, uint64_t id, bool client)
{
	struct span_key key = {trace, id, client};
	uint32_t at =
		id ? map_get(&s->map, key_hash(&key, s->map.seed), same_span, s, &key) : MAP_NONE;

	return at == MAP_NONE ? NULL : &s->at[at];
}

/* The span of the caller: the other end of a shared span, or the parent. */
static struct seen *caller_of(struct spans *s, const struct seen *x)
{
	struct seen *found = NULL;

	if (x->kind == KIND_SERVER || x->kind == KIND_CONSUMER)
		found = find(s, x->trace, x->id, true);
	if (!found)
		found = find(s, x->trace, x->parent, true);
	if (!found)
		found = find(s, x->trace, x->parent, false);
	return found == x ? NULL : found;
}

static int served(struct spans *s, uint32_t at)
{
	struct seen *x = &s->at[at], *parent = caller_of(s, x);
	uint32_t caller;
	int r;

	if (parent && parent->service == x->service && x->kind != KIND_SERVER &&
	    x->kind != KIND_CONSUMER)
		return 0; /* inside one process */
	if (!parent && x->parent && x->kind != KIND_SERVER && x->kind != KIND_CONSUMER)
		return 0;
	r = parent ? 0 : names_intern(s->in->nodes, SLICE("client"), &caller);
	if (r < 0)
		return r;
	if (parent) {
		caller = parent->service;
		parent->served = true;
	}
	return call_put(s, parent && is_client(parent) ? parent : NULL, x, caller, x->service, at);
}

static int calls_give(struct spans *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->n && r == 0; i++)
		if (!is_client(&s->at[i]))
			r = served(s, i);
	for (uint32_t i = 0; i < s->n && r == 0; i++) {
		const struct seen *x = &s->at[i];

		if (is_client(x) && !x->served && x->peer != NAMES_NONE)
			r = call_put(s, x, NULL, x->service, x->peer, i);
	}
	return r;
}

bool messages_spans_sniff(struct slice head, struct slice name)
{
	return codec_sniff(head, name) != NULL;
}

int messages_spans(struct messages_input *in, struct error *error)
{
	struct reader reader = {.source = in->source};
	struct spans s = {.in = in};
	struct decode_tally tally = {0};
	struct batch *batch;
	int r;

	reader.codec = codec_sniff(in->head, slice_cstr(source_name(in->source)));
	if (!reader.codec)
		return error_set(error, -ENOTSUP, "the format of the spans is not recognised");
	reader.split.frame = reader.codec->frame;
	map_init(&s.map);
	buffer_slice(&reader.window, in->head);
	while ((r = reader_next_batch(&reader, &batch, &tally, error)) > 0) {
		r = 0;
		for (size_t i = 0; i < batch->event_n && r == 0; i++)
			if (batch->events[i].type == EVENT_SPAN)
				r = span_add(&s, batch, &batch->events[i]);
		batch_unref(batch);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = calls_give(&s);
	if (r < 0 && !error->text[0])
		error_set(error, r, "%s", strerror(-r));
	reader.source = NULL; /* the caller's */
	reader_done(&reader);
	free(s.at);
	map_done(&s.map);
	return r;
}
