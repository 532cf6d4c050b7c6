/* capture/proto_thrift.c - Thrift, with the strict binary or the compact protocol, framed or not.
 *
 *   length u32 · 80 01 00 type · name (u32 length) · sequence i32 · …          binary
 *   length u32 · 82 · type << 5 | 1 · sequence varint · name (varint length) … compact
 *
 * Without frames (TBufferedTransport) only the head is read, and an answer ends when the client
 * speaks again or by silence: where a message ends would take parsing all of its fields.
 *
 * Types: 1 call, 2 reply, 3 exception, 4 one way (no answer).  The sequence pairs them; where every
 * call has the same one, the oldest is answered first. */
#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define MAX_LENGTH (256 << 20)
#define MAX_NAME   128
#define WANTED     (4 + 4 + 4 + MAX_NAME + 4)

enum { CALL = 1, REPLY = 2, EXCEPTION = 3, ONEWAY = 4 };

struct thrift {
	uint64_t ending; /* sequence + 1 */
	bool unframed;
};

struct envelope {
	uint8_t type;
	uint32_t sequence;
	struct slice name;
};

static bool varint(struct slice s, size_t *at, uint32_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 35 && *at < s.n; shift += 7) {
		uint8_t byte = (uint8_t)s.p[(*at)++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = (uint32_t)value;
			return true;
		}
	}
	return false;
}

/* The head of a message behind the frame's length.  False when it is none, or not all there. */
static bool decode(struct slice s, struct envelope *ret)
{
	const uint8_t *p = (const uint8_t *)s.p;
	uint32_t name = 0;
	size_t at = 2;

	if (s.n < 4)
		return false;
	if (p[0] == 0x80 && p[1] == 1 && p[2] == 0) {
		if (s.n < 8)
			return false;
		ret->type = p[3];
		name = load_be32(p + 4);
		at = 8;
		if (name > MAX_NAME || s.n < at + name + 4)
			return false;
		ret->sequence = load_be32(p + at + name);
	} else if (p[0] == 0x82 && (p[1] & 0x1f) == 1) {
		ret->type = p[1] >> 5;
		if (!varint(s, &at, &ret->sequence) || !varint(s, &at, &name) || name > MAX_NAME ||
		    s.n < at + name)
			return false;
	} else {
		return false;
	}
	ret->name = slice_of(s.p + at, name);
	for (uint32_t i = 0; i < name; i++)
		if (!isgraph(p[at + i]))
			return false;
	return ret->type >= CALL && ret->type <= ONEWAY && name > 0;
}

static bool is_unframed(struct slice s)
{
	const uint8_t *p = (const uint8_t *)s.p;

	return s.n >= 2 && ((p[0] == 0x80 && p[1] == 1) || (p[0] == 0x82 && (p[1] & 0x1f) == 1));
}

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	struct envelope m;
	uint32_t length;

	if (s.n < 4)
		return s.n && p[0] == 0 ? DETECT_MORE : DETECT_NO;
	if (is_unframed(s)) {
		if (!decode(s, &m))
			return DETECT_NO;
		return (m.type == CALL || m.type == ONEWAY) == (side == SIDE_CLIENT) ? DETECT_YES
										     : DETECT_NO;
	}
	length = load_be32(p);
	if (length < 6 || length > MAX_LENGTH)
		return DETECT_NO;
	if (s.n < 6)
		return DETECT_MORE;
	if (!decode(slice_from(s, 4), &m))
		return DETECT_NO;
	return (m.type == CALL || m.type == ONEWAY) == (side == SIDE_CLIENT) ? DETECT_YES
									     : DETECT_NO;
}

/* Everything there is: the head of a message and its fields, or more of them. */
static ssize_t unframed(struct conv *c, enum side side, struct slice bytes)
{
	struct open_call *call = conv_oldest(c);
	struct envelope m;

	if (side == SIDE_CLIENT && decode(bytes, &m)) {
		if (call && call->reply_ns) {
			conv_return(c, call);
			call = NULL;
		}
		if (!call && m.type == CALL)
			conv_call(c, m.sequence, conv_operation(c, m.name, slice_of(NULL, 0)),
				  bytes);
	} else if (side == SIDE_SERVER && call) {
		conv_reply(c, call);
		conv_quiet(c);
	}
	return (ssize_t)bytes.n;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct thrift *s = c->state;
	struct open_call *call;
	struct envelope m;
	uint32_t length;

	if (side == SIDE_SERVER && s->ending) {
		call = conv_find(c, s->ending - 1);
		s->ending = 0;
		if (call)
			conv_return(c, call);
	}
	if (bytes.n < 4)
		return s->unframed ? (ssize_t)bytes.n : 0;
	if (is_unframed(bytes))
		s->unframed = true;
	if (s->unframed)
		return unframed(c, side, bytes);
	length = load_be32((const uint8_t *)bytes.p);
	if (length < 6 || length > MAX_LENGTH)
		return -EBADMSG;
	if (bytes.n < MIN((size_t)length + 4, (size_t)WANTED))
		return 0;
	if (!decode(slice_first(slice_from(bytes, 4), length), &m))
		return -EBADMSG;
	if (side == SIDE_CLIENT) {
		if (m.type != CALL && m.type != ONEWAY)
			return -EBADMSG;
		if (m.type == CALL)
			conv_call(c, m.sequence, conv_operation(c, m.name, slice_of(NULL, 0)),
				  slice_first(bytes, (size_t)length + 4));
		return (ssize_t)length + 4;
	}
	call = conv_find(c, m.sequence);
	if (call) {
		conv_reply(c, call);
		s->ending = (uint64_t)m.sequence + 1;
	} else {
		conv_orphan(c);
	}
	return (ssize_t)length + 4;
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct thrift *s = c->state;

	if (side == SIDE_SERVER)
		s->ending = 0;
}

static void closed(struct conv *c, enum side side)
{
	struct thrift *s = c->state;
	struct open_call *call = conv_oldest(c);

	if (s->unframed && side == SIDE_SERVER && call && call->reply_ns)
		conv_return(c, call);
}

const struct protocol proto_thrift = {
	.name = "thrift",
	.ports = {9090, 9091},
	.state_bytes = sizeof(struct thrift),
	.detect = detect,
	.parse = parse,
	.gap = gap,
	.closed = closed,
};
