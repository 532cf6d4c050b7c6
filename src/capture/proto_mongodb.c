/* capture/proto_mongodb.c - MongoDB's wire protocol, all little endian.
 *
 *   length u32 · request id u32 · response to u32 · opcode u32 · body
 *
 * An answer names the request it answers.  OP_MSG (2013) with moreToCome from the client wants no
 * answer; its first section begins with a document whose first key is the command.  Old opcodes:
 * OP_QUERY (2004) and OP_GET_MORE (2005) are answered by OP_REPLY (1); inserts and the like are not
 * answered.  OP_COMPRESSED (2012) is paired without a name. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define HEAD       16
#define MAX_LENGTH (48 << 20)
#define WANTED     96
#define MAX_NAME   40

enum {
	OP_REPLY = 1,
	OP_UPDATE = 2001,
	OP_QUERY = 2004,
	OP_GET_MORE = 2005,
	OP_KILL_CURSORS = 2007,
	OP_COMPRESSED = 2012,
	OP_MSG = 2013,
	MORE_TO_COME = 2,
};

struct mongodb {
	uint64_t ending; /* request id + 1 */
};

static bool is_op(uint32_t op)
{
	return op == OP_REPLY || (op >= OP_UPDATE && op <= OP_KILL_CURSORS && op != 2003) ||
	       op == OP_COMPRESSED || op == OP_MSG;
}

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	uint32_t length, op;

	if (s.n < HEAD)
		return DETECT_NO;
	length = load_le32(p);
	op = load_le32(p + 12);
	if (length < HEAD + 1 || length > MAX_LENGTH || !is_op(op))
		return DETECT_NO;
	/* Requests answer nothing, answers answer something. */
	if ((load_le32(p + 8) != 0) != (side == SIDE_SERVER) || (op == OP_REPLY) != 0) {
		if (!(op == OP_REPLY && side == SIDE_SERVER))
			return DETECT_NO;
	}
	return DETECT_YES;
}

/* The first key of the document at `at`. */
static struct slice first_key(struct slice s, size_t at)
{
	struct slice key = slice_of(NULL, 0);
	size_t n = 0;

	if (at + 5 >= s.n)
		return key;
	at += 5; /* the document's length and the first element's type */
	while (at + n < s.n && n < MAX_NAME && isalnum((unsigned char)s.p[at + n]))
		n++;
	return at + n < s.n && s.p[at + n] == 0 ? slice_of(s.p + at, n) : key;
}

static struct slice name_of(uint32_t op, struct slice s)
{
	struct slice name = slice_of(NULL, 0);

	if (op == OP_MSG && s.n > HEAD + 5 && s.p[HEAD + 4] == 0)
		name = first_key(s, HEAD + 5);
	if (op == OP_QUERY) { /* flags · collection · skip · return · document */
		const char *end = s.n > HEAD + 4 ? memchr(s.p + HEAD + 4, 0, s.n - HEAD - 4) : NULL;

		if (end)
			name = first_key(s, (size_t)(end + 9 - s.p));
		if (name.n == 0)
			name = SLICE("query");
	}
	return op == OP_GET_MORE ? SLICE("getMore") : name;
}

static ssize_t request(struct conv *c, struct slice bytes, uint32_t length)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct slice message = slice_first(bytes, length);
	uint32_t op = load_le32(p + 12);
	bool answered = op == OP_MSG || op == OP_QUERY || op == OP_GET_MORE || op == OP_COMPRESSED;

	if (bytes.n < MIN((size_t)length, (size_t)WANTED))
		return 0;
	if (op == OP_MSG && message.n >= HEAD + 4 && load_le32(p + HEAD) & MORE_TO_COME)
		answered = false;
	if (answered)
		conv_call(c, load_le32(p + 4),
			  conv_operation(c, name_of(op, message), slice_of(NULL, 0)), message);
	return (ssize_t)length;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct mongodb *s = c->state;
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct open_call *call;
	uint32_t length;

	if (side == SIDE_SERVER && s->ending) {
		call = conv_find(c, s->ending - 1);
		s->ending = 0;
		if (call)
			conv_return(c, call);
	}
	if (bytes.n < HEAD)
		return 0;
	length = load_le32(p);
	if (length < HEAD || length > MAX_LENGTH || !is_op(load_le32(p + 12)))
		return -EBADMSG;
	if (side == SIDE_CLIENT)
		return request(c, bytes, length);
	call = conv_find(c, load_le32(p + 8));
	if (call) {
		conv_reply(c, call);
		s->ending = (uint64_t)load_le32(p + 8) + 1;
	} else {
		conv_orphan(c);
	}
	return (ssize_t)length;
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct mongodb *s = c->state;

	if (side == SIDE_SERVER)
		s->ending = 0;
}

const struct protocol proto_mongodb = {
	.name = "mongodb",
	.ports = {27017, 27018, 27019},
	.state_bytes = sizeof(struct mongodb),
	.detect = detect,
	.parse = parse,
	.gap = gap,
};
