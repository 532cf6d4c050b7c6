/* capture/proto_memcached_binary.c - memcached's binary protocol.
 *
 *   magic u8 (80 request, 81 answer) · opcode u8 · key length u16 · extras u8 · type u8 ·
 *   vbucket or status u16 · body length u32 · opaque u32 · cas u64 · body
 *
 * The opaque of a request comes back with its answer.  Quiet operations are answered only when
 * something is unusual: no calls.  STAT has many answers, the last one without a key. */
#include <errno.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define HEAD     24
#define MAX_BODY (128 << 20)
#define STAT     0x10

struct memcached_binary {
	uint64_t ending; /* opaque + 1 of the call that ends with what is passed over; 0: none */
};

static const char *const names[] = {"get",  "set",   "add",    "replace", "delete", "incr",
				    "decr", "quit",  "flush",  "getq",    "noop",   "version",
				    "getk", "getkq", "append", "prepend", "stat"};

static bool is_quiet(uint8_t op)
{
	return op == 0x09 || op == 0x0d || (op >= 0x11 && op <= 0x1a) || op == 0x1e || op == 0x24;
}

static bool plausible(const uint8_t *p, enum side side)
{
	uint32_t body = load_be32(p + 8);

	return p[0] == (side == SIDE_CLIENT ? 0x80 : 0x81) && p[1] <= 0x60 && p[5] == 0 &&
	       body <= MAX_BODY && (uint32_t)load_be16(p + 2) + p[4] <= body;
}

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;

	if (s.n == 0 || p[0] != (side == SIDE_CLIENT ? 0x80 : 0x81))
		return DETECT_NO;
	if (s.n < HEAD)
		return DETECT_MORE;
	if (!plausible(p, side))
		return DETECT_NO;
	return HEAD + (size_t)load_be32(p + 8) <= s.n && load_be16(p + 6) < 0x100 ? DETECT_YES
										  : DETECT_MAYBE;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct memcached_binary *s = c->state;
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct open_call *call;
	uint32_t opaque;
	uint8_t op;

	if (side == SIDE_SERVER && s->ending) {
		call = conv_find(c, s->ending - 1);
		s->ending = 0;
		if (call)
			conv_return(c, call);
	}
	if (bytes.n < HEAD)
		return 0;
	if (!plausible(p, side))
		return -EBADMSG;
	op = p[1];
	opaque = load_be32(p + 12);
	call = conv_find(c, opaque);
	if (side == SIDE_CLIENT) {
		struct slice name = slice_cstr(op < ARRAY_SIZE(names) ? names[op] : "command");

		if (!is_quiet(op) && op != 0x17)
			conv_call(c, opaque, conv_operation(c, name, slice_of(NULL, 0)),
				  slice_first(bytes, HEAD + (size_t)load_be32(p + 8)));
	} else if (call) {
		conv_reply(c, call);
		if (op != STAT || load_be16(p + 2) == 0)
			s->ending = (uint64_t)opaque + 1;
	} else if (!is_quiet(op)) {
		conv_orphan(c);
	}
	return (ssize_t)(HEAD + (size_t)load_be32(p + 8));
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct memcached_binary *s = c->state;

	if (side == SIDE_SERVER)
		s->ending = 0;
}

const struct protocol proto_memcached_binary = {
	.name = "memcached-binary",
	.ports = {11211, 11212, 11210},
	.state_bytes = sizeof(struct memcached_binary),
	.detect = detect,
	.parse = parse,
	.gap = gap,
};
