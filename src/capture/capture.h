/* capture/capture.h - packets to messages.
 *
 *   packets ─▶ ip ─▶ fragments ─▶ flows: streams ─▶ conversations: a parser each ─▶ order ─▶ sink
 *
 * One thread.  Memory is bounded (capture/flows.h, capture/conv.h), whatever the packets are. */
#ifndef CAUSET_CAPTURE_CAPTURE_H
#define CAUSET_CAPTURE_CAPTURE_H

#include "base/buffer.h"
#include "capture/conv.h"
#include "capture/flows.h"
#include "capture/ip_fragment.h"
#include "capture/packet_reader.h"
#include "capture/truth.h"

struct capture_options {
	struct node_rules *rules; /* NULL: addresses */
	const char *truth_header; /* NULL: no truth is looked for */
	uint16_t file;            /* put into every message */
	bool stable_ids;          /* the same call has the same id in every capture it is in */
	bool first_byte;          /* returns are the first byte of the answer instead of the last */
	size_t max_memory;        /* 0: FLOWS_MAX_MEMORY */
	size_t max_flows;         /* 0: FLOWS_MAX */
};

struct capture_stats {
	uint64_t packets, bytes; /* seen */
	uint64_t other;          /* neither TCP nor UDP over IP */
	uint64_t bad;            /* headers cut or contradictory */
	uint64_t fragments;
	bool cut; /* the file ended inside a packet */
	int64_t first_ns, last_ns;
};

struct capture {
	struct conv_shared shared;
	struct flows flows;
	struct ip_fragments fragments;
	struct capture_stats stats;
	struct truth truth;
	int64_t advanced_ns;
};

/* `nodes`, `operations`, what the options point to, and the sink must outlive it.  -ENOMEM. */
int capture_init(struct capture *c, struct names *nodes, struct names *operations,
		 struct message_sink sink, const struct capture_options *options);
void capture_done(struct capture *c);

/* One packet.  -ENOMEM, or what the sink said. */
int capture_packet(struct capture *c, const struct packet *packet);

/* All packets of a file.  A damaged file's error is returned after its good part was given. */
int capture_file(struct capture *c, struct packet_reader *reader, struct error *error);

/* No more packets: every message is given. */
int capture_finish(struct capture *c);

/* A few lines for people: packets, connections, calls by protocol, and what was lost. */
void capture_report(const struct capture *c, struct buffer *out);

#endif
