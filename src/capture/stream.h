/* capture/stream.h - one direction of a TCP connection: segments in any order, bytes in order.
 *
 * Sequence numbers are compared modulo 2^32.  What comes twice (sent again, or seen at two capture
 * points) is given once.  A hole is waited for until the receiver has acknowledged it (then only
 * the capture lost it), too much is waiting, or too long; then it is said.  One thread. */
#ifndef CAUSET_CAPTURE_STREAM_H
#define CAUSET_CAPTURE_STREAM_H

#include "core/slice.h"

#define STREAM_MAX_HELD    (1 << 20) /* bytes waiting behind a hole */
#define STREAM_MAX_PIECES  1024      /* and in how many segments */
#define STREAM_MAX_WAIT_NS 3000000000

struct stream_piece;

struct stream {
	bool started;
	bool finished; /* the FIN has been reached */
	bool has_fin;
	uint32_t next;  /* the next byte wanted */
	uint32_t acked; /* by the other side */
	bool has_ack;
	uint32_t fin;              /* sequence number of the FIN */
	struct stream_piece *held; /* in order of sequence */
	uint32_t held_n;
	uint32_t held_bytes;
};

struct stream_segment {
	uint32_t seq;
	struct slice bytes; /* captured */
	uint32_t wire_n;    /* sent; more when the capture cut the packet */
	int64_t time_ns;
	bool fin;
};

/* What a stream gives: bytes, or the length of a hole (bytes.p == NULL). */
struct stream_out {
	int (*data)(void *context, struct slice bytes, int64_t time_ns);
	int (*gap)(void *context, uint64_t n, int64_t time_ns);
	void *context;
	size_t *memory;     /* bytes held, of all streams */
	uint64_t *repeated; /* segments that brought nothing new */
	uint64_t *reordered;
};

void stream_done(struct stream *s, const struct stream_out *out);

/* The sequence number after a SYN. */
void stream_start(struct stream *s, uint32_t first);

/* -ENOMEM, or what the output said. */
int stream_segment(struct stream *s, const struct stream_segment *g, const struct stream_out *out);

/* The other side has received everything before `ack`. */
int stream_ack(struct stream *s, uint32_t ack, int64_t time_ns, const struct stream_out *out);

/* Gives what is held, holes said: nothing more will come. */
int stream_flush(struct stream *s, int64_t time_ns, const struct stream_out *out);

#endif
