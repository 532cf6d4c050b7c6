/* capture/flows.h - all connections of a capture: packets in, conversations fed.
 *
 * Bounded: at most `max_flows` connections and `max_memory` bytes held for all of them; beyond, the
 * connection that was silent for longest is given up and counted.  One thread. */
#ifndef CAUSET_CAPTURE_FLOWS_H
#define CAUSET_CAPTURE_FLOWS_H

#include "capture/conv.h"
#include "capture/ip.h"

#define FLOWS_MAX         (1 << 20)
#define FLOWS_MAX_MEMORY  ((size_t)512 << 20)
#define FLOWS_IDLE_NS     INT64_C(300000000000) /* connections silent for longer are forgotten */
#define FLOWS_CLOSED_NS   INT64_C(10000000000)  /* closed ones are remembered, for late segments */
#define FLOWS_DATAGRAM_NS INT64_C(30000000000)  /* what waits for an answer by UDP */

struct flow;

struct flow_stats {
	uint64_t tcp, udp;    /* packets */
	uint64_t bad;         /* headers that contradict themselves, or are cut */
	uint64_t opened;      /* connections */
	uint64_t midstream;   /* of which the beginning was not seen */
	uint64_t evicted;     /* given up for want of room */
	uint64_t repeated;    /* segments seen before */
	uint64_t reordered;   /* segments that had to wait */
	uint64_t ignored_udp; /* datagrams of no known protocol */
	uint64_t payload;     /* bytes */
};

struct flows {
	struct conv_shared *shared;
	struct flow **buckets;
	size_t bucket_n; /* a power of two */
	size_t n;
	uint64_t seed;
	struct flow *newest, *oldest; /* by last packet */
	size_t max_flows, max_memory;
	struct flow_stats stats;
};

int flows_init(struct flows *f, struct conv_shared *shared);
void flows_done(struct flows *f);

/* A packet whose protocol is IP_TCP or IP_UDP.  -ENOMEM, or what the sink said. */
int flows_packet(struct flows *f, const struct ip_packet *ip, int64_t time_ns);

/* No more packets: what is held is given, ends that are certain are made. */
int flows_finish(struct flows *f, int64_t time_ns);

#endif
