/* capture/packet_reader_int.h - what the two formats share. */
#ifndef CAUSET_CAPTURE_PACKET_READER_INT_H
#define CAUSET_CAPTURE_PACKET_READER_INT_H

#include "capture/packet_reader.h"

#define PACKET_WINDOW_BYTES ((size_t)1 << 20)

/* Makes `need` (at most PACKET_WINDOW_BYTES) unread bytes available: 1, 0 when the file ends
 * before, or a negative errno. */
int packet_reader_fill(struct packet_reader *r, size_t need, struct error *error);

static inline int packet_reader_need(struct packet_reader *r, size_t need, struct error *error)
{
	return r->n - r->at >= need ? 1 : packet_reader_fill(r, need, error);
}

static inline const uint8_t *packet_reader_here(const struct packet_reader *r)
{
	return r->window + r->at;
}

static inline uint32_t packet_reader_u32(const struct packet_reader *r, const uint8_t *p)
{
	return r->swapped ? load_be32(p) : load_le32(p);
}

static inline uint16_t packet_reader_u16(const struct packet_reader *r, const uint8_t *p)
{
	return r->swapped ? load_be16(p) : (uint16_t)(p[1] << 8 | p[0]);
}

/* -EBADMSG, with the offset of the unread byte. */
int packet_reader_damaged(const struct packet_reader *r, struct error *error, const char *what);

/* The end of the file where something whole was expected. */
static inline int packet_reader_cut(struct packet_reader *r)
{
	r->cut = true;
	return 0;
}

int pcap_open(struct packet_reader *r, struct error *error);
int pcap_next(struct packet_reader *r, struct packet *ret_packet, struct error *error);
int pcapng_open(struct packet_reader *r, struct error *error);
int pcapng_next(struct packet_reader *r, struct packet *ret_packet, struct error *error);

#endif
