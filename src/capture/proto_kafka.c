/* capture/proto_kafka.c - Kafka.
 *
 *   request  length u32 · api key u16 · version u16 · correlation u32 · client id (i16 length) …
 *   answer   length u32 · correlation u32 …
 *
 * The correlation id pairs them.  A Produce with acks = 0 has no answer and is no call. */
#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define REQUEST_HEAD 14
#define WANTED       600 /* bytes of a Produce in which acks must stand */
#define MAX_LENGTH   (256 << 20)
#define MAX_API      100
#define MAX_VERSION  20
#define MAX_CLIENT   256
#define PRODUCE      0

struct kafka {
	uint64_t ending; /* correlation + 1 */
};

static const char *const apis[] = {
	[0] = "Produce",           [1] = "Fetch",
	[2] = "ListOffsets",       [3] = "Metadata",
	[8] = "OffsetCommit",      [9] = "OffsetFetch",
	[10] = "FindCoordinator",  [11] = "JoinGroup",
	[12] = "Heartbeat",        [13] = "LeaveGroup",
	[14] = "SyncGroup",        [17] = "SaslHandshake",
	[18] = "ApiVersions",      [19] = "CreateTopics",
	[20] = "DeleteTopics",     [22] = "InitProducerId",
	[36] = "SaslAuthenticate",
};

/* A client id of printable characters behind a sane head: nobody else's bytes look like this. */
static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	uint32_t length;
	int16_t client;

	if (s.n < REQUEST_HEAD)
		return s.n && p[0] == 0 && side == SIDE_CLIENT ? DETECT_MORE : DETECT_NO;
	length = load_be32(p);
	if (length < 4 || length > MAX_LENGTH)
		return DETECT_NO;
	if (side == SIDE_SERVER) /* nothing to be sure of but the length */
		return length + 4 == s.n ? DETECT_MAYBE : DETECT_NO;
	client = (int16_t)load_be16(p + 12);
	if (load_be16(p + 4) > MAX_API || load_be16(p + 6) > MAX_VERSION || client < -1 ||
	    client > MAX_CLIENT || length < 10 + (uint32_t)MAX(client, (int16_t)0))
		return DETECT_NO;
	for (int i = 0; i < client && REQUEST_HEAD + (size_t)i < s.n; i++)
		if (!isgraph(p[REQUEST_HEAD + i]))
			return DETECT_NO;
	return client >= 3 && length + 4 == s.n ? DETECT_YES : DETECT_MAYBE;
}

/* Produce's acks: behind the client id, from version 3 on a transactional id, from 9 on in the
 * compact form behind tagged fields. */
static int acks_of(const uint8_t *p, size_t n, uint16_t version)
{
	int16_t client = (int16_t)load_be16(p + 12);
	size_t at = REQUEST_HEAD + (client > 0 ? (size_t)client : 0);

	if (version >= 9) {
		if (at + 2 > n || p[at] != 0 || p[at + 1] > 0x7f)
			return -1;
		at += 1 + (p[at + 1] ? (size_t)p[at + 1] : 1);
	} else if (version >= 3) {
		if (at + 2 > n)
			return -1;
		at += 2 + ((int16_t)load_be16(p + at) > 0 ? (size_t)load_be16(p + at) : 0);
	}
	return at + 2 <= n ? (int16_t)load_be16(p + at) : -1;
}

static ssize_t request(struct conv *c, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	uint16_t api, version;
	struct slice name;
	uint32_t length;

	if (bytes.n < REQUEST_HEAD)
		return 0;
	length = load_be32(p);
	api = load_be16(p + 4);
	version = load_be16(p + 6);
	if (length < 10 || length > MAX_LENGTH || api > MAX_API || version > MAX_VERSION)
		return -EBADMSG;
	if (api == PRODUCE && bytes.n < MIN((size_t)length + 4, (size_t)WANTED))
		return 0;
	name = slice_cstr(api < ARRAY_SIZE(apis) && apis[api] ? apis[api] : "Request");
	if (api != PRODUCE || acks_of(p, MIN(bytes.n, (size_t)length + 4), version) != 0)
		conv_call(c, load_be32(p + 8), conv_operation(c, name, slice_of(NULL, 0)),
			  slice_first(bytes, (size_t)length + 4));
	return (ssize_t)length + 4;
}

static ssize_t answer(struct conv *c, struct kafka *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct open_call *call;
	uint32_t length;

	if (bytes.n < 8)
		return 0;
	length = load_be32(p);
	if (length < 4 || length > MAX_LENGTH)
		return -EBADMSG;
	call = conv_find(c, load_be32(p + 4));
	if (call) {
		conv_reply(c, call);
		s->ending = (uint64_t)load_be32(p + 4) + 1;
	} else {
		conv_orphan(c);
	}
	return (ssize_t)length + 4;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct kafka *s = c->state;

	if (side == SIDE_SERVER && s->ending) {
		struct open_call *call = conv_find(c, s->ending - 1);

		s->ending = 0;
		if (call)
			conv_return(c, call);
	}
	if (bytes.n == 0)
		return 0;
	return side == SIDE_CLIENT ? request(c, bytes) : answer(c, s, bytes);
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct kafka *s = c->state;

	if (side == SIDE_SERVER)
		s->ending = 0;
}

const struct protocol proto_kafka = {
	.name = "kafka",
	.ports = {9092, 9093, 9094, 29092},
	.state_bytes = sizeof(struct kafka),
	.detect = detect,
	.parse = parse,
	.gap = gap,
};
