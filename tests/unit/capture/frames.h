/* tests/unit/capture/frames.h - packets made by hand. */
#ifndef CAUSET_TESTS_UNIT_CAPTURE_FRAMES_H
#define CAUSET_TESTS_UNIT_CAPTURE_FRAMES_H

#include "base/buffer.h"
#include "capture/packet.h"
#include "t.h"

struct tcp_frame {
	uint8_t from, to; /* 10.0.0.x */
	uint16_t from_port, to_port;
	uint32_t seq, ack;
	uint8_t flags; /* 1 FIN, 2 SYN, 4 RST, 16 ACK */
	const char *text;
	bool v6;
};

static inline void frame_be(struct buffer *b, uint64_t v, int n)
{
	for (int i = n - 1; i >= 0; i--)
		buffer_byte(b, (char)(v >> 8 * i));
}

static inline void frame_tcp(struct buffer *b, const struct tcp_frame *f)
{
	frame_be(b, f->from_port, 2);
	frame_be(b, f->to_port, 2);
	frame_be(b, f->seq, 4);
	frame_be(b, f->ack, 4);
	frame_be(b, 0x50, 1);
	frame_be(b, f->flags, 1);
	frame_be(b, 0, 6);
	buffer_text(b, f->text ? f->text : "");
}

static inline void frame_ipv4(struct buffer *b, uint8_t protocol, uint8_t from, uint8_t to,
			      size_t n, uint16_t id, uint16_t fragment)
{
	frame_be(b, 0x4500, 2);
	frame_be(b, 20 + n, 2);
	frame_be(b, id, 2);
	frame_be(b, fragment, 2);
	frame_be(b, 64, 1);
	frame_be(b, protocol, 1);
	frame_be(b, 0, 2);
	frame_be(b, 0x0a000000 | from, 4);
	frame_be(b, 0x0a000000 | to, 4);
}

/* fd00::x */
static inline void frame_ipv6(struct buffer *b, uint8_t protocol, uint8_t from, uint8_t to,
			      size_t n)
{
	frame_be(b, 0x60000000, 4);
	frame_be(b, n, 2);
	frame_be(b, protocol, 1);
	frame_be(b, 64, 1);
	frame_be(b, UINT64_C(0xfd00000000000000), 8);
	frame_be(b, from, 8);
	frame_be(b, UINT64_C(0xfd00000000000000), 8);
	frame_be(b, to, 8);
}

/* Raw IP. */
static inline void frame_make(struct buffer *b, const struct tcp_frame *f)
{
	size_t n = 20 + strlen(f->text ? f->text : "");

	if (f->v6)
		frame_ipv6(b, 6, f->from, f->to, n);
	else
		frame_ipv4(b, 6, f->from, f->to, n, 1, 0);
	frame_tcp(b, f);
}

static inline struct packet frame_packet(const struct buffer *b, uint32_t link, int64_t time_ns)
{
	return (struct packet){time_ns, (const uint8_t *)b->p, (uint32_t)b->n, (uint32_t)b->n,
			       link};
}

#endif
