/* capture/packet.h - one captured packet, and the link types it may come in. */
#ifndef CAUSET_CAPTURE_PACKET_H
#define CAUSET_CAPTURE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_MAX_BYTES (256 << 10) /* what tcpdump calls MAXIMUM_SNAPLEN */

/* Values of the "network" field of a file (LINKTYPE_*, tcpdump.org/linktypes.html). */
enum link_type {
	LINK_NULL = 0, /* BSD loopback: family in the writer's byte order */
	LINK_ETHERNET = 1,
	LINK_RAW_BSD = 12, /* raw IP, as some systems number it */
	LINK_RAW_OPENBSD = 14,
	LINK_RAW = 101,
	LINK_LOOP = 108, /* OpenBSD loopback: family in network byte order */
	LINK_LINUX_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_LINUX_SLL2 = 276,
};

struct packet {
	int64_t time_ns;  /* since 1970 */
	const uint8_t *p; /* borrowed until the next packet is asked for */
	uint32_t n;       /* bytes captured */
	uint32_t wire_n;  /* bytes there were; more than n when the capture cut it */
	uint32_t link;    /* enum link_type, or a type nobody here knows */
};

static inline uint16_t load_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t load_be64(const uint8_t *p)
{
	return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

static inline uint32_t load_le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint32_t load_le24(const uint8_t *p)
{
	return (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

#endif
