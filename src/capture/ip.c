/* capture/ip.c - link layers, IPv4 and IPv6 headers. */
#include "capture/ip.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define MAX_TAGS       4 /* VLAN tags on one frame */
#define MAX_EXTENSIONS 8 /* IPv6 headers before the payload */

enum {
	ETHER_IPV4 = 0x0800,
	ETHER_VLAN = 0x8100,
	ETHER_QINQ = 0x88a8,
	ETHER_QINQ_OLD = 0x9100,
	ETHER_IPV6 = 0x86dd,
	ETHER_PPPOE = 0x8864,
};

/* A run of bytes that is eaten from the front. */
struct bytes {
	const uint8_t *p;
	uint32_t n, wire_n;
};

static bool eat(struct bytes *b, uint32_t n)
{
	if (b->n < n)
		return false;
	b->p += n;
	b->n -= n;
	b->wire_n -= n;
	return true;
}

/* Behind an EtherType: tags, then IP. */
static bool ether_strip(struct bytes *b, uint16_t type)
{
	for (int i = 0; i < MAX_TAGS; i++) {
		if (type != ETHER_VLAN && type != ETHER_QINQ && type != ETHER_QINQ_OLD)
			break;
		if (b->n < 4)
			return false;
		type = load_be16(b->p + 2);
		eat(b, 4);
	}
	if (type == ETHER_PPPOE && b->n >= 8) {
		uint16_t ppp = load_be16(b->p + 6);

		eat(b, 8);
		return ppp == 0x0021 || ppp == 0x0057;
	}
	return type == ETHER_IPV4 || type == ETHER_IPV6;
}

static bool link_strip(const struct packet *packet, struct bytes *b)
{
	uint16_t type;

	switch (packet->link) {
	case LINK_ETHERNET:
		if (b->n < 14)
			return false;
		type = load_be16(b->p + 12);
		eat(b, 14);
		return ether_strip(b, type);
	case LINK_LINUX_SLL:
		if (b->n < 16)
			return false;
		type = load_be16(b->p + 14);
		eat(b, 16);
		return ether_strip(b, type);
	case LINK_LINUX_SLL2:
		if (b->n < 20)
			return false;
		type = load_be16(b->p);
		eat(b, 20);
		return ether_strip(b, type);
	case LINK_NULL:
	case LINK_LOOP:
		return eat(b, 4); /* systems number the families differently; the version decides */
	case LINK_RAW:
	case LINK_RAW_BSD:
	case LINK_RAW_OPENBSD:
	case LINK_IPV4:
	case LINK_IPV6:
		return true;
	default:
		return false;
	}
}

/* Frames are padded to 60 bytes: what is behind the IP packet's own length is not its own. */
static void trim(struct bytes *b, uint32_t length)
{
	if (b->wire_n > length)
		b->wire_n = length;
	if (b->n > length)
		b->n = length;
}

static enum ip_verdict decode_v4(struct bytes b, struct ip_packet *ret)
{
	uint32_t head, total;
	uint16_t flags;

	if (b.n < 20)
		return IP_BAD;
	head = (uint32_t)(b.p[0] & 15) * 4;
	total = load_be16(b.p + 2);
	if (head < 20 || b.n < head)
		return IP_BAD;
	if (total >= head) /* 0 with segmentation offload: the frame's length holds */
		trim(&b, total);
	else if (total != 0)
		return IP_BAD;
	flags = load_be16(b.p + 6);
	ret->from = (struct ip_address){0, 0};
	ret->to = (struct ip_address){0, 0};
	memcpy((char *)&ret->from.low + 2, "\xff\xff", 2);
	memcpy((char *)&ret->to.low + 2, "\xff\xff", 2);
	memcpy((char *)&ret->from.low + 4, b.p + 12, 4);
	memcpy((char *)&ret->to.low + 4, b.p + 16, 4);
	ret->protocol = b.p[9];
	ret->fragment_id = load_be16(b.p + 4);
	ret->fragment_offset = (uint16_t)((flags & 0x1fff) * 8);
	ret->fragment_more = flags & 0x2000;
	eat(&b, head);
	ret->p = b.p;
	ret->n = b.n;
	ret->wire_n = b.wire_n;
	if (ret->protocol != IP_TCP && ret->protocol != IP_UDP)
		return IP_OTHER;
	return ret->fragment_offset || ret->fragment_more ? IP_FRAGMENT : IP_OK;
}

/* Walks the extension headers; `ret->protocol` is the first header's type. */
static enum ip_verdict v6_extensions(struct bytes *b, struct ip_packet *ret, bool *ret_fragment)
{
	enum { HOP = 0, ROUTING = 43, FRAGMENT = 44, AUTHENTICATION = 51, DESTINATION = 60 };

	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		uint8_t type = ret->protocol;
		uint32_t length;

		if (type != HOP && type != ROUTING && type != FRAGMENT && type != DESTINATION &&
		    type != AUTHENTICATION)
			return IP_OK;
		if (b->n < 8)
			return IP_BAD;
		ret->protocol = b->p[0];
		length = 8 + (uint32_t)b->p[1] * 8;
		if (type == AUTHENTICATION)
			length = ((uint32_t)b->p[1] + 2) * 4;
		if (type == FRAGMENT) {
			length = 8;
			ret->fragment_offset = load_be16(b->p + 2) & 0xfff8;
			ret->fragment_more = b->p[3] & 1;
			ret->fragment_id = load_be32(b->p + 4);
			*ret_fragment = ret->fragment_offset || ret->fragment_more;
		}
		if (!eat(b, length))
			return IP_BAD;
		if (*ret_fragment)
			return IP_OK; /* what follows is only whole after reassembly */
	}
	return IP_OTHER;
}

static enum ip_verdict decode_v6(struct bytes b, struct ip_packet *ret)
{
	enum ip_verdict verdict;
	bool fragment = false;
	uint32_t length;

	if (b.n < 40)
		return IP_BAD;
	length = load_be16(b.p + 4);
	memcpy(&ret->from, b.p + 8, 16);
	memcpy(&ret->to, b.p + 24, 16);
	ret->protocol = b.p[6];
	eat(&b, 40);
	if (length) /* 0: a jumbogram, or segmentation offload */
		trim(&b, length);
	ret->fragment_offset = 0;
	ret->fragment_more = false;
	verdict = v6_extensions(&b, ret, &fragment);
	if (verdict != IP_OK)
		return verdict;
	ret->p = b.p;
	ret->n = b.n;
	ret->wire_n = b.wire_n;
	if (ret->protocol != IP_TCP && ret->protocol != IP_UDP)
		return IP_OTHER;
	return fragment ? IP_FRAGMENT : IP_OK;
}

enum ip_verdict ip_decode(const struct packet *packet, struct ip_packet *ret)
{
	struct bytes b = {packet->p, packet->n, packet->wire_n};

	if (!link_strip(packet, &b))
		return IP_OTHER;
	if (b.n == 0)
		return IP_BAD;
	switch (b.p[0] >> 4) {
	case 4:
		return decode_v4(b, ret);
	case 6:
		return decode_v6(b, ret);
	default:
		return IP_BAD;
	}
}

static bool is_v4(struct ip_address a)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(&a, prefix, sizeof(prefix)) == 0;
}

const char *ip_format(struct ip_address a, char out[IP_TEXT_BYTES])
{
	if (is_v4(a))
		inet_ntop(AF_INET, (const char *)&a + 12, out, IP_TEXT_BYTES);
	else
		inet_ntop(AF_INET6, &a, out, IP_TEXT_BYTES);
	return out;
}

int ip_parse(const char *text, struct ip_address *ret_address)
{
	struct ip_address a = {0, 0};

	if (inet_pton(AF_INET6, text, &a) == 1) {
		*ret_address = a;
		return 0;
	}
	memcpy((char *)&a + 10, "\xff\xff", 2);
	if (inet_pton(AF_INET, text, (char *)&a + 12) != 1)
		return -EINVAL;
	*ret_address = a;
	return 0;
}
