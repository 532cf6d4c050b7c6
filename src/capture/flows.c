/* capture/flows.c - the table of connections.
 *
 * Chained hash of 5-tuples, the lower endpoint first so that both directions meet; a list by last
 * packet for ageing.  Direction 0 is from the lower endpoint.  The conversation is told sides
 * relative to the first guess of who is the client: the sender of a SYN, else who talks to a port
 * that looks like a server's. */
#include "capture/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "capture/stream.h"
#include "core/hash.h"

#define FIRST_BUCKETS 1024
#define TCP_HEAD      20
#define UDP_HEAD      8
#define EXPIRE_BATCH  4 /* old flows looked at per packet */

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

struct flow_key {
	struct ip_address low, high;
	uint16_t low_port, high_port;
	uint32_t protocol;
};

struct flow {
	struct flow *chain;
	struct flow *newer, *older;
	struct flow_key key;
	uint64_t hash;
	int64_t last_ns;
	bool closed;
	uint8_t client; /* the direction taken for the client's when the conversation began */
	bool begun;     /* the conversation has been told who is who */
	uint32_t isn[2];
	bool has_isn[2];
	struct stream stream[2];
	struct conv conv;
};

int flows_init(struct flows *f, struct conv_shared *shared)
{
	*f = (struct flows){.shared = shared,
			    .bucket_n = FIRST_BUCKETS,
			    .seed = rng_process_seed(),
			    .max_flows = FLOWS_MAX,
			    .max_memory = FLOWS_MAX_MEMORY};
	f->buckets = calloc(f->bucket_n, sizeof(*f->buckets));
	return f->buckets ? 0 : -ENOMEM;
}

/* --- what a stream gives goes to the conversation --- */

struct toward {
	struct flow *flow;
	enum side side;
};

static int give_data(void *context, struct slice bytes, int64_t time_ns)
{
	struct toward *t = context;

	return conv_data(&t->flow->conv, t->side, bytes, time_ns);
}

static int give_gap(void *context, uint64_t n, int64_t time_ns)
{
	struct toward *t = context;

	return conv_gap(&t->flow->conv, t->side, n, time_ns);
}

static struct stream_out out_of(struct flows *f, struct toward *t)
{
	return (struct stream_out){give_data,          give_gap,           t,
				   &f->shared->memory, &f->stats.repeated, &f->stats.reordered};
}

static struct toward toward_of(struct flow *flow, int direction)
{
	return (struct toward){flow, direction == flow->client ? SIDE_CLIENT : SIDE_SERVER};
}

/* --- the table --- */

static void list_remove(struct flows *f, struct flow *flow)
{
	if (flow->newer)
		flow->newer->older = flow->older;
	else
		f->newest = flow->older;
	if (flow->older)
		flow->older->newer = flow->newer;
	else
		f->oldest = flow->newer;
}

static void list_push(struct flows *f, struct flow *flow)
{
	flow->newer = NULL;
	flow->older = f->newest;
	if (f->newest)
		f->newest->newer = flow;
	else
		f->oldest = flow;
	f->newest = flow;
}

static struct flow **find(struct flows *f, const struct flow_key *key, uint64_t hash)
{
	struct flow **at = &f->buckets[hash & (f->bucket_n - 1)];

	while (*at && ((*at)->hash != hash || memcmp(&(*at)->key, key, sizeof(*key)) != 0))
		at = &(*at)->chain;
	return at;
}

static void flow_free(struct flows *f, struct flow *flow)
{
	struct flow **at = find(f, &flow->key, flow->hash);

	*at = flow->chain;
	list_remove(f, flow);
	f->n--;
	for (int i = 0; i < 2; i++) {
		struct toward t = toward_of(flow, i);
		struct stream_out out = out_of(f, &t);

		stream_done(&flow->stream[i], &out);
	}
	conv_done(&flow->conv);
	f->shared->memory -= sizeof(*flow);
	free(flow);
}

void flows_done(struct flows *f)
{
	while (f->oldest)
		flow_free(f, f->oldest);
	free(f->buckets);
	f->buckets = NULL;
	f->bucket_n = 0;
}

static void grow(struct flows *f)
{
	size_t n = f->bucket_n * 4;
	struct flow **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return; /* slower, not wrong */
	for (struct flow *flow = f->oldest; flow; flow = flow->newer) {
		struct flow **at = &buckets[flow->hash & (n - 1)];

		flow->chain = *at;
		*at = flow;
	}
	free(f->buckets);
	f->buckets = buckets;
	f->bucket_n = n;
}

/* Everything that can be known of a connection is known: end what ends now. */
static int flow_end(struct flows *f, struct flow *flow, int64_t time_ns)
{
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		struct toward t = toward_of(flow, i);
		struct stream_out out = out_of(f, &t);

		r = stream_flush(&flow->stream[i], time_ns, &out);
	}
	for (int i = 0; i < 2 && r == 0; i++)
		r = conv_closed(&flow->conv, toward_of(flow, i).side);
	flow->closed = true;
	return r;
}

static int evict(struct flows *f, int64_t time_ns)
{
	struct flow *flow = f->oldest;
	int r = flow->closed ? 0 : flow_end(f, flow, time_ns);

	flow_free(f, flow);
	return r;
}

/* Forgets what has been silent for too long, a few at a time, and what there is no room for. */
static int expire(struct flows *f, int64_t time_ns)
{
	int r = 0;

	for (int i = 0; i < EXPIRE_BATCH && r == 0 && f->oldest; i++) {
		struct flow *flow = f->oldest;
		int64_t age = time_ns - flow->last_ns;

		if (age < (flow->closed                   ? FLOWS_CLOSED_NS
			   : flow->key.protocol == IP_UDP ? FLOWS_DATAGRAM_NS
							  : FLOWS_IDLE_NS))
			break;
		r = evict(f, time_ns);
	}
	while (r == 0 && f->oldest && f->oldest != f->newest &&
	       (f->n > f->max_flows || f->shared->memory > f->max_memory)) {
		f->stats.evicted++;
		r = evict(f, time_ns);
	}
	return r;
}

static struct flow *flow_new(struct flows *f, const struct flow_key *key, uint64_t hash)
{
	struct flow *flow = calloc(1, sizeof(*flow));

	if (!flow)
		return NULL;
	if (f->n >= f->bucket_n)
		grow(f);
	flow->key = *key;
	flow->hash = hash;
	flow->chain = f->buckets[hash & (f->bucket_n - 1)];
	f->buckets[hash & (f->bucket_n - 1)] = flow;
	conv_init(&flow->conv, f->shared);
	list_push(f, flow);
	f->n++;
	f->stats.opened++;
	f->shared->memory += sizeof(*flow);
	return flow;
}

/* Which port looks like a server's: a known one, else the lower one. */
static int server_rank(uint16_t port)
{
	for (size_t i = 0; protocols[i]; i++)
		if (protocol_has_port(protocols[i], port))
			return 3;
	return port < 1024 ? 2 : port < 32768 ? 1 : 0;
}

/* Tells the conversation who is who; `client` is a direction, or -1 for a guess. */
static void begin(struct flow *flow, int client)
{
	const struct flow_key *k = &flow->key;
	bool low_is_client;

	if (client < 0) {
		int low = server_rank(k->low_port), high = server_rank(k->high_port);

		low_is_client = low != high ? low < high : k->low_port > k->high_port;
	} else {
		low_is_client = client == 0;
		flow->conv.client_known = true;
	}
	flow->client = low_is_client ? 0 : 1;
	flow->conv.client = low_is_client ? k->low : k->high;
	flow->conv.server = low_is_client ? k->high : k->low;
	flow->conv.client_port = low_is_client ? k->low_port : k->high_port;
	flow->conv.server_port = low_is_client ? k->high_port : k->low_port;
	flow->begun = true;
}

/* The flow of a packet, made if there is none.  *ret_direction: 0 from the lower endpoint. */
static struct flow *flow_get(struct flows *f, const struct ip_packet *ip, int *ret_direction)
{
	uint16_t from = load_be16(ip->p), to = load_be16(ip->p + 2);
	int order = memcmp(&ip->from, &ip->to, sizeof(ip->from));
	bool forward = order != 0 ? order < 0 : from <= to;
	struct flow_key key = {
		.low = forward ? ip->from : ip->to,
		.high = forward ? ip->to : ip->from,
		.low_port = forward ? from : to,
		.high_port = forward ? to : from,
		.protocol = ip->protocol,
	};
	uint64_t hash = hash_bytes(&key, sizeof(key), f->seed);
	struct flow *flow = *find(f, &key, hash);

	*ret_direction = forward ? 0 : 1;
	return flow ? flow : flow_new(f, &key, hash);
}

static void touch(struct flows *f, struct flow *flow, int64_t time_ns)
{
	flow->last_ns = time_ns;
	if (f->newest != flow) {
		list_remove(f, flow);
		list_push(f, flow);
	}
}

/* --- TCP --- */

/* The first byte's number is known.  Ids of calls are made of it, too. */
static void start(struct flow *flow, int direction, uint32_t seq)
{
	enum side side = toward_of(flow, direction).side;

	stream_start(&flow->stream[direction], seq);
	flow->conv.half[conv_side(&flow->conv, side)].next_seq = seq;
}

/* A SYN: the beginning, or (with another number) the ports are used again. */
static int tcp_syn(struct flows *f, struct flow **flow, int direction, uint32_t seq, bool ack,
		   int64_t time_ns)
{
	struct flow *old = *flow;

	if (old->has_isn[direction] && old->isn[direction] == seq)
		return 0; /* sent again */
	if (old->has_isn[direction] || old->closed ||
	    (old->stream[direction].started && !old->has_isn[direction])) {
		struct flow_key key = old->key;
		uint64_t hash = old->hash;
		int r = old->closed ? 0 : flow_end(f, old, time_ns);

		flow_free(f, old);
		if (r < 0)
			return r;
		*flow = flow_new(f, &key, hash);
		if (!*flow)
			return -ENOMEM;
		old = *flow;
	}
	old->isn[direction] = seq;
	old->has_isn[direction] = true;
	if (!old->begun)
		begin(old, ack ? 1 - direction : direction);
	start(old, direction, seq + 1);
	return 0;
}

static int tcp_close(struct flows *f, struct flow *flow, uint8_t flags, int direction,
		     int64_t time_ns)
{
	int r = 0;

	if (flow->closed)
		return 0;
	if (flags & RST)
		return flow_end(f, flow, time_ns);
	if (flow->stream[direction].finished)
		r = conv_closed(&flow->conv, toward_of(flow, direction).side);
	if (r == 0 && flow->stream[0].finished && flow->stream[1].finished)
		r = flow_end(f, flow, time_ns);
	return r;
}

static int tcp_packet(struct flows *f, const struct ip_packet *ip, int64_t time_ns)
{
	uint32_t head, seq, ack;
	struct stream_out out, back;
	struct stream_segment g;
	struct toward to, from;
	struct flow *flow;
	int direction, r;
	uint8_t flags;

	f->stats.tcp++;
	if (ip->n < TCP_HEAD || (head = (uint32_t)(ip->p[12] >> 4) * 4) < TCP_HEAD ||
	    head > ip->wire_n) {
		f->stats.bad++;
		return 0;
	}
	flags = ip->p[13];
	seq = load_be32(ip->p + 4);
	ack = load_be32(ip->p + 8);
	flow = flow_get(f, ip, &direction);
	if (!flow)
		return -ENOMEM;
	if (flags & SYN) {
		r = tcp_syn(f, &flow, direction, seq, flags & ACK, time_ns);
		if (r < 0)
			return r;
		seq++; /* data may come with it */
	}
	touch(f, flow, time_ns);
	if (flow->closed)
		return 0;
	if (!flow->begun) {
		f->stats.midstream++;
		begin(flow, -1);
	}
	g = (struct stream_segment){
		.seq = seq,
		.bytes = ip->n > head ? slice_of(ip->p + head, ip->n - head) : slice_of("", 0),
		.wire_n = ip->wire_n - head,
		.time_ns = time_ns,
		.fin = flags & FIN,
	};
	f->stats.payload += g.wire_n;
	to = toward_of(flow, direction);
	if (!flow->stream[direction].started && (g.wire_n > 0 || g.fin))
		start(flow, direction, seq);
	out = out_of(f, &to);
	from = toward_of(flow, 1 - direction);
	back = out_of(f, &from);
	r = 0;
	if (flags & ACK) {
		struct conv_half *h = &flow->conv.half[conv_side(&flow->conv, to.side)];

		h->ack = ack;
		h->has_ack = true;
		r = stream_ack(&flow->stream[1 - direction], ack, time_ns, &back);
	}
	/* A stream begins with its first byte; an acknowledgement alone says nothing of it. */
	if (r == 0 && (g.wire_n > 0 || g.fin || flow->stream[direction].started))
		r = stream_segment(&flow->stream[direction], &g, &out);
	if (r == 0 && flags & (FIN | RST | ACK))
		r = tcp_close(f, flow, flags, direction, time_ns);
	return r;
}

/* --- UDP --- */

static const struct protocol *datagram_protocol(struct slice bytes, uint16_t from, uint16_t to,
						int *ret_client)
{
	for (size_t i = 0; protocols[i]; i++) {
		const struct protocol *p = protocols[i];

		if (!p->udp)
			continue;
		/* A client asks a known port; the same port may be on both ends. */
		if (protocol_has_port(p, to) && p->detect(bytes, SIDE_CLIENT) >= DETECT_MAYBE) {
			*ret_client = 0;
			return p;
		}
		if (protocol_has_port(p, from) && p->detect(bytes, SIDE_SERVER) >= DETECT_MAYBE) {
			*ret_client = 1;
			return p;
		}
	}
	return NULL;
}

static int udp_packet(struct flows *f, const struct ip_packet *ip, int64_t time_ns)
{
	const struct protocol *protocol;
	struct slice bytes;
	struct flow *flow;
	int direction, other;

	f->stats.udp++;
	if (ip->n < UDP_HEAD || load_be16(ip->p + 4) < UDP_HEAD) {
		f->stats.bad++;
		return 0;
	}
	bytes = slice_of(ip->p + UDP_HEAD, MIN(ip->n, (uint32_t)load_be16(ip->p + 4)) - UDP_HEAD);
	f->stats.payload += bytes.n;
	protocol = datagram_protocol(bytes, load_be16(ip->p), load_be16(ip->p + 2), &other);
	if (!protocol) {
		f->stats.ignored_udp++;
		return 0;
	}
	flow = flow_get(f, ip, &direction);
	if (!flow)
		return -ENOMEM;
	touch(f, flow, time_ns);
	if (!flow->begun) {
		begin(flow, other ? 1 - direction : direction);
		flow->conv.protocol = protocol;
	}
	return conv_datagram(&flow->conv, toward_of(flow, direction).side, bytes, time_ns);
}

int flows_packet(struct flows *f, const struct ip_packet *ip, int64_t time_ns)
{
	int r = ip->protocol == IP_TCP ? tcp_packet(f, ip, time_ns) : udp_packet(f, ip, time_ns);

	return r < 0 ? r : expire(f, time_ns);
}

int flows_finish(struct flows *f, int64_t time_ns)
{
	int r = 0;

	for (struct flow *flow = f->oldest; flow && r == 0; flow = flow->newer)
		for (int i = 0; i < 2 && r == 0 && !flow->closed; i++) {
			struct toward t = toward_of(flow, i);
			struct stream_out out = out_of(f, &t);

			r = stream_flush(&flow->stream[i], time_ns, &out);
		}
	return r;
}
