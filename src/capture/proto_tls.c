/* capture/proto_tls.c - what can be told of encrypted connections: records of application data by
 * change of direction, as in proto_unknown.c, the handshake left out.
 *
 *   type u8 (20 change cipher, 21 alert, 22 handshake, 23 data) · version u16 · length u16 · body
 *
 * In TLS 1.3 the client's last message of the handshake travels as data: its first short record is
 * taken for that. */
#include <errno.h>

#include "capture/conv.h"
#include "capture/packet.h"

#define RECORD_HEAD  5
#define MAX_RECORD   (16384 + 2048)
#define MAX_FINISHED 80 /* an encrypted Finished of TLS 1.3: 53 or 69 bytes */

enum { HANDSHAKE = 22, APPLICATION = 23 };

struct tls {
	bool hello;    /* the handshake was seen */
	bool finished; /* and is over */
};

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	size_t length;

	if (s.n == 0 || p[0] < 20 || p[0] > 23)
		return DETECT_NO;
	if (s.n < RECORD_HEAD + 1)
		return DETECT_MORE;
	length = load_be16(p + 3);
	if (p[1] != 3 || p[2] > 4 || length == 0 || length > MAX_RECORD)
		return DETECT_NO;
	if (p[0] == HANDSHAKE)
		return p[5] == (side == SIDE_CLIENT ? 1 : 2) || p[5] >= 4 ? DETECT_YES : DETECT_NO;
	return DETECT_MAYBE;
}

static void data(struct conv *c, struct tls *s, enum side side, size_t length)
{
	struct open_call *call = conv_oldest(c);

	if (side == SIDE_CLIENT) {
		if (s->hello && !s->finished && length <= MAX_FINISHED) {
			s->finished = true;
			return;
		}
		s->finished = true;
		if (call && call->reply_ns) {
			conv_return(c, call);
			call = NULL;
		}
		if (!call)
			conv_call(c, CONV_NO_KEY, NAMES_NONE, slice_of(NULL, 0));
	} else if (call) {
		conv_reply(c, call);
		conv_quiet(c);
	}
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct tls *s = c->state;
	size_t length;

	if (bytes.n < RECORD_HEAD)
		return 0;
	length = load_be16(p + 3);
	if (p[0] < 20 || p[0] > 24 || p[1] != 3 || length > MAX_RECORD)
		return -EBADMSG;
	if (p[0] == HANDSHAKE)
		s->hello = true;
	else if (p[0] == APPLICATION)
		data(c, s, side, length);
	return (ssize_t)(RECORD_HEAD + length);
}

static void closed(struct conv *c, enum side side)
{
	struct open_call *call = conv_oldest(c);

	if (side == SIDE_SERVER && call && call->reply_ns)
		conv_return(c, call);
}

const struct protocol proto_tls = {
	.name = "tls",
	.ports = {443, 8443, 6443, 993, 995, 853},
	.state_bytes = sizeof(struct tls),
	.detect = detect,
	.parse = parse,
	.closed = closed,
};
