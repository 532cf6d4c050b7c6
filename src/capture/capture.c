/* capture/capture.c - packets to messages: the parts put together. */
#include "capture/capture.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"

#define ADVANCE_NS 50000000 /* how often waiting messages are looked at, in the packets' time */

static void keep_truth(void *context, const struct captured_call *call)
{
	struct capture *c = context;

	truth_add(&c->truth, call);
}

int capture_init(struct capture *c, struct names *nodes, struct names *operations,
		 struct message_sink sink, const struct capture_options *options)
{
	int r;

	*c = (struct capture){.advanced_ns = INT64_MIN};
	r = conv_shared_init(&c->shared, nodes, operations, sink);
	if (r < 0)
		return r;
	c->shared.rules = options->rules;
	c->shared.file = options->file;
	c->shared.stable = options->stable_ids;
	c->shared.first_byte = options->first_byte;
	if (options->truth_header) {
		c->shared.tag_header = slice_cstr(options->truth_header);
		c->shared.on_call = keep_truth;
		c->shared.on_call_context = c;
	}
	r = flows_init(&c->flows, &c->shared);
	if (r < 0) {
		conv_shared_done(&c->shared);
		return r;
	}
	if (options->max_memory)
		c->flows.max_memory = options->max_memory;
	if (options->max_flows)
		c->flows.max_flows = options->max_flows;
	return 0;
}

void capture_done(struct capture *c)
{
	flows_done(&c->flows);
	conv_shared_done(&c->shared);
	ip_fragments_done(&c->fragments);
	truth_done(&c->truth);
}

int capture_packet(struct capture *c, const struct packet *packet)
{
	struct ip_packet ip, whole;
	enum ip_verdict verdict = ip_decode(packet, &ip);
	int r;

	c->stats.packets++;
	c->stats.bytes += packet->n;
	if (c->stats.packets == 1)
		c->stats.first_ns = packet->time_ns;
	c->stats.last_ns = packet->time_ns;
	if (verdict == IP_FRAGMENT) {
		c->stats.fragments++;
		r = ip_fragments_add(&c->fragments, &ip, packet->time_ns, &whole);
		if (r <= 0)
			return r;
		ip = whole;
	} else if (verdict != IP_OK) {
		c->stats.other += verdict == IP_OTHER;
		c->stats.bad += verdict == IP_BAD;
		return 0;
	}
	r = flows_packet(&c->flows, &ip, packet->time_ns);
	if (r == 0 && packet->time_ns - ADVANCE_NS > c->advanced_ns) {
		c->advanced_ns = packet->time_ns;
		r = conv_shared_advance(&c->shared, packet->time_ns);
	}
	return r;
}

int capture_file(struct capture *c, struct packet_reader *reader, struct error *error)
{
	struct packet packet;
	int r;

	while ((r = packet_reader_next(reader, &packet, error)) == 1) {
		r = capture_packet(c, &packet);
		if (r == -ENOMEM)
			return error_set(error, r, "out of memory");
		if (r < 0)
			return error_set(error, r, "the messages could not be taken");
	}
	c->stats.cut |= reader->cut;
	return r;
}

int capture_finish(struct capture *c)
{
	int r = flows_finish(&c->flows, c->stats.last_ns);

	return r < 0 ? r : conv_shared_advance(&c->shared, INT64_MAX);
}

static void line(struct buffer *out, const char *what, uint64_t n)
{
	if (n)
		buffer_printf(out, "  %-34s %12" PRIu64 "\n", what, n);
}

void capture_report(const struct capture *c, struct buffer *out)
{
	const struct conv_stats *v = &c->shared.stats;
	const struct flow_stats *f = &c->flows.stats;

	buffer_printf(out,
		      "packets %" PRIu64 ", %" PRIu64 " bytes; connections %" PRIu64
		      "; calls %" PRIu64 ", returns %" PRIu64 "\n",
		      c->stats.packets, c->stats.bytes, f->opened, v->calls, v->returns);
	for (size_t i = 0; protocols[i]; i++)
		line(out, protocols[i]->name, c->shared.by_protocol[i]);
	line(out, "unknown, by direction", c->shared.by_protocol[31]);
	line(out, "not TCP or UDP", c->stats.other);
	line(out, "malformed packets", c->stats.bad + f->bad);
	line(out, "datagrams of no known protocol", f->ignored_udp);
	line(out, "connections begun before", f->midstream);
	line(out, "connections given up", f->evicted);
	line(out, "segments seen before", f->repeated);
	line(out, "segments out of order", f->reordered);
	line(out, "holes", v->gaps);
	line(out, "bytes in holes", v->gap_bytes);
	line(out, "holes in what is passed over", v->passed_gaps);
	line(out, "unexpected bytes met", v->lost_threads);
	line(out, "bytes ignored after that", v->ignored_bytes);
	line(out, "ends guessed after a hole", v->guessed_ends);
	line(out, "calls without an answer", v->unanswered + v->abandoned);
	line(out, "answers without a call", v->orphan_answers);
	line(out, "messages given on early", c->shared.order.early);
	line(out, "messages found too late", c->shared.order.late);
	if (c->stats.cut)
		buffer_printf(out, "the capture ends inside a packet\n");
}
