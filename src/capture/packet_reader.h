/* capture/packet_reader.h - the packets of a pcap or pcapng file, in bounded memory.
 *
 * Both formats, both byte orders, microseconds and nanoseconds (and whatever if_tsresol says).  A
 * file that ends in the middle of a packet gives every whole packet before; `cut` is then set.
 * One thread. */
#ifndef CAUSET_CAPTURE_PACKET_READER_H
#define CAUSET_CAPTURE_PACKET_READER_H

#include <sys/types.h>

#include "base/error.h"
#include "capture/packet.h"
#include "core/slice.h"

/* Gives the next bytes of the file: how many, 0 at its end, or a negative errno. */
typedef ssize_t packet_read(void *context, char *out, size_t room, struct error *error);

/* How one interface of a pcapng section counts time. */
struct packet_interface {
	uint32_t link;
	uint32_t snap;          /* 0: no limit */
	uint64_t units;         /* per second */
	int64_t offset_seconds; /* if_tsoffset */
};

enum packet_format { PACKET_PCAP, PACKET_PCAPNG };

struct packet_reader {
	packet_read *read; /* NULL: the bytes are all there */
	void *context;
	char *memory; /* the window, when it is ours */
	const uint8_t *window;
	size_t at, n;    /* unread bytes are [at, n) */
	uint64_t offset; /* of window[0] in the file */
	bool at_end;
	bool cut; /* the file ended inside a packet */
	enum packet_format format;
	bool swapped; /* the file's byte order is not little endian */
	struct packet_interface pcap;
	struct packet_interface *interfaces; /* of this pcapng section */
	size_t interface_n, interface_capacity;
	uint64_t packets, bytes; /* given out */
	uint64_t skipped;        /* pcapng blocks that hold no packet */
	int64_t last_ns;         /* for blocks without a time */
};

/* Whether the first bytes of a file are those of a capture (8 bytes suffice). */
bool packet_reader_knows(struct slice first);

/* Reads the file's head.  -ENOTSUP when it is no capture, -EBADMSG, -ENOMEM. */
int packet_reader_open(struct packet_reader *r, packet_read *read, void *context,
		       struct error *error);

/* The same over bytes in memory (a mapped file), which must outlive the reader. */
int packet_reader_open_bytes(struct packet_reader *r, struct slice bytes, struct error *error);

void packet_reader_done(struct packet_reader *r);

/* 1 and the next packet, 0 at the end, -EBADMSG with the place where the file is damaged, or what
 * `read` returned. */
int packet_reader_next(struct packet_reader *r, struct packet *ret_packet, struct error *error);

#endif
