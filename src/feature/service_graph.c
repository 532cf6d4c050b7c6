/* feature/service_graph.c - who calls whom, from spans as they arrive.
 *
 * Halves lie in a ring, oldest first, and in chains by hash of (trace, client's span id).  A half
 * that found the other leaves its chain at once and its place in the ring when its time comes. */
#include "feature/service_graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"

#define NONE UINT32_MAX

struct half {
	struct trace_id trace;
	uint64_t call; /* the client's span id */
	int64_t arrived_ns;
	uint64_t duration_ns, end_ns;
	double weight;
	uint32_t service, peer; /* names; peer 0: not said */
	uint32_t next;          /* in its chain */
	bool waits, client, failed, messaging, database;
};

struct graph_wait {
	struct half halves[GRAPH_HALVES];
	uint32_t chains[GRAPH_HALVES]; /* index, or NONE */
	uint32_t oldest, n;
	/* Names of services. */
	struct slice *names;
	size_t name_n, name_capacity;
	struct map by_name;
	struct arena arena;
	uint64_t seed;
};

int service_graph_init(struct service_graph *g)
{
	*g = (struct service_graph){.wait = calloc(1, sizeof(*g->wait))};
	if (!g->wait)
		return -ENOMEM;
	series_set_init(&g->edges, GRAPH_LABELS, GRAPH_LATENCIES, GRAPH_EDGES);
	map_init(&g->wait->by_name);
	g->wait->seed = g->wait->by_name.seed;
	memset(g->wait->chains, 0xff, sizeof(g->wait->chains));
	return 0;
}

void service_graph_done(struct service_graph *g)
{
	if (!g->wait)
		return;
	series_set_done(&g->edges);
	map_done(&g->wait->by_name);
	arena_done(&g->wait->arena);
	free(g->wait->names);
	free(g->wait);
	*g = (struct service_graph){0};
}

/* --- names --- */

static bool name_is(const void *context, uint32_t value, const void *key)
{
	return slice_eq(((const struct graph_wait *)context)->names[value],
			*(const struct slice *)key);
}

/* A number for the name, from 1; NONE when out of memory.  Past GRAPH_NAMES all are one. */
static uint32_t name_of(struct graph_wait *w, struct slice text)
{
	uint64_t hash;
	uint32_t at;

	if (w->name_n >= GRAPH_NAMES)
		text = SLICE(SERIES_OVERFLOW);
	text = slice_first(text, SERIES_LABEL_BYTES);
	hash = hash_bytes(text.p ? text.p : "", text.n, w->seed);
	at = map_get(&w->by_name, hash, name_is, w, &text);
	if (at != MAP_NONE)
		return at + 1;
	text = arena_dup(&w->arena, text);
	if (!text.p ||
	    !vec_reserve(&w->names, &w->name_capacity, w->name_n + 1, sizeof(*w->names)) ||
	    !map_put(&w->by_name, hash, (uint32_t)w->name_n))
		return NONE;
	w->names[w->name_n++] = text;
	return (uint32_t)w->name_n;
}

static struct slice name_text(const struct graph_wait *w, uint32_t name)
{
	return w->names[name - 1];
}

/* --- halves --- */

static uint32_t *chain_of(struct graph_wait *w, const struct trace_id *trace, uint64_t call)
{
	uint64_t hash = hash_u64(call, hash_bytes(trace->b, sizeof(trace->b), w->seed));

	return &w->chains[hash % GRAPH_HALVES];
}

static void chain_leave(struct graph_wait *w, uint32_t at)
{
	uint32_t *link = chain_of(w, &w->halves[at].trace, w->halves[at].call);

	while (*link != at)
		link = &w->halves[*link].next;
	*link = w->halves[at].next;
	w->halves[at].waits = false;
}

/* The half that waits for this one, or NONE. */
static uint32_t other_of(struct graph_wait *w, const struct half *h)
{
	for (uint32_t at = *chain_of(w, &h->trace, h->call); at != NONE; at = w->halves[at].next) {
		const struct half *o = &w->halves[at];

		if (o->call == h->call && o->client != h->client && trace_id_eq(o->trace, h->trace))
			return at;
	}
	return NONE;
}

static int edge_count(struct service_graph *g, const struct half *client, const struct half *server,
		      uint32_t server_name)
{
	const struct graph_wait *w = g->wait;
	const struct half *either = client ? client : server;
	const struct slice labels[GRAPH_LABELS] = {
		[GRAPH_CLIENT] = name_text(w, client->service),
		[GRAPH_SERVER] = name_text(w, server_name),
		[GRAPH_TYPE] = either->messaging  ? SLICE("messaging_system")
			       : either->database ? SLICE("database")
			       : server           ? SLICE("")
						  : SLICE("virtual_node"),
	};
	struct exemplar exemplar = {.trace = client->trace};
	int64_t at = series_get(&g->edges, labels);
	struct series *edge;

	if (at < 0)
		return (int)at;
	edge = &g->edges.rows[at];
	edge->calls += client->weight;
	if (client->failed || (server && server->failed))
		edge->failed += client->weight;
	exemplar.time_ns = (int64_t)client->end_ns;
	latency_add(&edge->latencies[GRAPH_CLIENT_SECONDS], client->duration_ns, client->weight,
		    &exemplar);
	if (server) {
		exemplar.time_ns = (int64_t)server->end_ns;
		latency_add(&edge->latencies[GRAPH_SERVER_SECONDS], server->duration_ns,
			    server->weight, &exemplar);
	}
	return 0;
}

/* The oldest half leaves; if it waited in vain, what it knows alone is counted. */
static int drop_oldest(struct service_graph *g)
{
	struct graph_wait *w = g->wait;
	uint32_t at = w->oldest;
	struct half *h = &w->halves[at];
	int r = 0;

	if (h->waits) {
		chain_leave(w, at);
		g->unpaired++;
		if (h->client && h->peer)
			r = edge_count(g, h, NULL, h->peer);
	}
	w->oldest = (at + 1) % GRAPH_HALVES;
	w->n--;
	return r;
}

int service_graph_expire(struct service_graph *g, int64_t now_ns)
{
	struct graph_wait *w = g->wait;
	int r = 0;

	while (r == 0 && w->n > 0 &&
	       (!w->halves[w->oldest].waits ||
		now_ns - w->halves[w->oldest].arrived_ns >= GRAPH_WAIT_NS))
		r = drop_oldest(g);
	return r;
}

static int wait_add(struct service_graph *g, const struct half *h)
{
	struct graph_wait *w = g->wait;
	uint32_t at, *chain;
	int r = w->n == GRAPH_HALVES ? drop_oldest(g) : 0;

	if (r < 0)
		return r;
	at = (w->oldest + w->n++) % GRAPH_HALVES;
	chain = chain_of(w, &h->trace, h->call);
	w->halves[at] = *h;
	w->halves[at].waits = true;
	w->halves[at].next = *chain;
	*chain = at;
	return 0;
}

/* Whom a client says it calls. */
static struct slice peer_of(const struct batch *b, const struct event *e, bool *ret_database)
{
	static const struct slice keys[] = {{"peer.service", 12},
					    {"db.name", 7},
					    {"db.namespace", 12},
					    {"db.system", 9},
					    {"db.system.name", 14}};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct slice text = batch_attr_text(b, e->attrs, keys[i]);

		*ret_database = i > 0;
		if (text.n > 0)
			return text;
	}
	*ret_database = false;
	return slice_of(NULL, 0);
}

/* False: the span is no half of a call. */
static bool half_of(const struct event *e, struct half *ret_half)
{
	bool shared = e->format == FORMAT_ZIPKIN && e->bits & EVENT_SHARED;
	struct half h = {
		.trace = e->trace_id,
		.duration_ns = e->end_ns > e->time_ns ? e->end_ns - e->time_ns : 0,
		.end_ns = e->end_ns > INT64_MAX ? INT64_MAX : e->end_ns,
		.failed = e->status == STATUS_ERROR,
		.messaging = e->kind == KIND_PRODUCER || e->kind == KIND_CONSUMER,
	};

	if (e->kind == KIND_CLIENT || e->kind == KIND_PRODUCER) {
		h.client = true;
		h.call = e->id1;
	} else if (e->kind == KIND_SERVER || e->kind == KIND_CONSUMER) {
		h.call = shared ? e->id1 : e->id2;
	}
	*ret_half = h;
	return h.call != 0;
}

int service_graph_add(struct service_graph *g, struct event_ref ref, double weight, int64_t now_ns)
{
	struct graph_wait *w = g->wait;
	const struct event *e = event_get(ref);
	struct half h;
	uint32_t other;

	if (!half_of(e, &h))
		return 0;
	h.weight = weight;
	h.arrived_ns = now_ns;
	h.service = name_of(w, batch_service(ref.batch, e));
	if (h.service == NONE)
		return -ENOMEM;
	if (h.client) {
		struct slice peer = peer_of(ref.batch, e, &h.database);

		h.peer = peer.n ? name_of(w, peer) : 0;
		if (h.peer == NONE)
			return -ENOMEM;
	}
	other = other_of(w, &h);
	if (other == NONE)
		return wait_add(g, &h);
	chain_leave(w, other);
	g->paired += 2;
	if (h.client)
		return edge_count(g, &h, &w->halves[other], w->halves[other].service);
	return edge_count(g, &w->halves[other], &h, h.service);
}
