/* capture/ip.h - from a captured packet to what TCP and UDP see: addresses, protocol, payload. */
#ifndef CAUSET_CAPTURE_IP_H
#define CAUSET_CAPTURE_IP_H

#include "capture/packet.h"

/* IPv4 addresses are kept as IPv6 ones (::ffff:a.b.c.d), so that one key serves both. */
struct ip_address {
	uint64_t high, low; /* as the 16 bytes lie on the wire */
};

enum { IP_TCP = 6, IP_UDP = 17 };

enum ip_verdict {
	IP_OK,
	IP_OTHER,    /* ARP, ICMP, a link type nobody knows …: none of our business */
	IP_FRAGMENT, /* needs ip_fragments_add() */
	IP_BAD,      /* cut or contradictory before the payload */
};

struct ip_packet {
	struct ip_address from, to;
	uint8_t protocol; /* IP_TCP or IP_UDP, what is behind the extension headers */
	const uint8_t *p; /* its header and payload */
	uint32_t n;       /* captured */
	uint32_t wire_n;  /* there were; more than n when the capture cut it */
	/* Fragments: */
	uint32_t fragment_id;
	uint16_t fragment_offset; /* bytes */
	bool fragment_more;
};

/* Finds the IP packet inside a captured one: Ethernet with up to four VLAN tags and PPPoE, Linux
 * cooked (both versions), loopback, raw. */
enum ip_verdict ip_decode(const struct packet *packet, struct ip_packet *ret);

/* "10.0.0.1" or "2001:db8::1", with a NUL. */
#define IP_TEXT_BYTES 46
const char *ip_format(struct ip_address a, char out[IP_TEXT_BYTES]);

/* IPv4 or IPv6 text; -EINVAL. */
int ip_parse(const char *text, struct ip_address *ret_address);

static inline bool ip_equal(struct ip_address a, struct ip_address b)
{
	return a.high == b.high && a.low == b.low;
}

#endif
