/* capture/proto_dns.c - DNS over UDP, and over TCP behind a length of two bytes.
 *
 *   id u16 · flags u16 (QR is the top bit) · questions u16 · answers · authorities · additional
 *
 * A query and its answer share the id and the name asked for; on one pair of ports both together
 * are the key.  A query sent again while the first is open is the same call. */
#include <ctype.h>
#include <errno.h>

#include "capture/conv.h"
#include "capture/packet.h"
#include "core/hash.h"

#define DNS_HEAD   12
#define MAX_LABELS 128
#define MAX_NAME   255

static uint8_t lower(uint8_t ch)
{
	return (uint8_t)tolower(ch);
}

/* Reads the first question's name; hashes it without case.  0 when it is no name. */
static size_t question(struct slice s, uint64_t *ret_hash)
{
	const uint8_t *p = (const uint8_t *)s.p;
	uint64_t hash = 0x9e3779b97f4a7c15ULL;
	size_t at = DNS_HEAD;

	for (int i = 0; i < MAX_LABELS; i++) {
		uint8_t length;

		if (at >= s.n || at - DNS_HEAD > MAX_NAME)
			return 0;
		length = p[at++];
		if (length == 0) {
			*ret_hash = hash;
			return at + 4 <= s.n ? at : 0;
		}
		if (length > 63 || at + length > s.n) /* no compression in the first name */
			return 0;
		for (uint8_t k = 0; k < length; k++)
			hash = hash_u64(lower(p[at + k]), hash);
		at += length;
	}
	return 0;
}

/* Is this a whole, sane message of this side? */
static bool sane(struct slice s, enum side side, uint64_t *ret_key)
{
	const uint8_t *p = (const uint8_t *)s.p;
	bool answer = side == SIDE_SERVER;
	uint64_t name;

	if (s.n < DNS_HEAD || (p[2] >> 7) != answer)
		return false;
	if ((p[2] >> 3 & 15) > 6 || load_be16(p + 4) != 1) /* opcode; one question, as always */
		return false;
	if (!answer && (load_be16(p + 6) > 1 || (p[3] & 15) != 0))
		return false;
	if (load_be16(p + 6) > 1000 || load_be16(p + 8) > 1000 || load_be16(p + 10) > 1000)
		return false;
	if (!question(s, &name))
		return false;
	*ret_key = (name << 16 | load_be16(p)) & ~(UINT64_C(1) << 63);
	return true;
}

static enum detect detect(struct slice s, enum side side)
{
	uint64_t key;

	return sane(s, side, &key) ? DETECT_MAYBE : DETECT_NO;
}

static struct slice type_of(struct slice s)
{
	uint64_t hash;
	size_t at = question(s, &hash);

	switch (at ? load_be16((const uint8_t *)s.p + at) : 0) {
	case 1:
		return SLICE("A");
	case 2:
		return SLICE("NS");
	case 5:
		return SLICE("CNAME");
	case 12:
		return SLICE("PTR");
	case 15:
		return SLICE("MX");
	case 16:
		return SLICE("TXT");
	case 28:
		return SLICE("AAAA");
	case 33:
		return SLICE("SRV");
	case 65:
		return SLICE("HTTPS");
	default:
		return SLICE("QUERY");
	}
}

static ssize_t message(struct conv *c, enum side side, struct slice s)
{
	struct open_call *call;
	uint64_t key;

	if (!sane(s, side, &key))
		return -EBADMSG;
	call = conv_find(c, key);
	if (side == SIDE_CLIENT) {
		if (!call)
			conv_call(c, key, conv_operation(c, type_of(s), slice_of(NULL, 0)), s);
	} else if (call) {
		conv_reply(c, call);
		conv_return(c, call);
	} else {
		conv_orphan(c);
	}
	return (ssize_t)s.n;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	return bytes.n ? message(c, side, bytes) : 0;
}

/* Over TCP. */
static enum detect detect_tcp(struct slice s, enum side side)
{
	size_t length;

	if (s.n < 2 + DNS_HEAD + 5)
		return DETECT_NO;
	length = load_be16((const uint8_t *)s.p);
	if (length < DNS_HEAD || length > s.n - 2)
		return DETECT_NO;
	return detect(slice_of(s.p + 2, length), side);
}

static ssize_t parse_tcp(struct conv *c, enum side side, struct slice bytes)
{
	size_t length;
	ssize_t r;

	if (bytes.n < 2)
		return 0;
	length = load_be16((const uint8_t *)bytes.p);
	if (bytes.n < 2 + length)
		return 0;
	r = message(c, side, slice_of(bytes.p + 2, length));
	return r < 0 ? r : r + 2;
}

const struct protocol proto_dns = {
	.name = "dns",
	.ports = {53, 5353, 5355},
	.udp = true,
	.detect = detect,
	.parse = parse,
};

const struct protocol proto_dns_tcp = {
	.name = "dns-tcp",
	.ports = {53},
	.detect = detect_tcp,
	.parse = parse_tcp,
};
