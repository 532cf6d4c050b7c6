/* capture/proto_unknown.c - protocols nobody knows: a call is what the client sends until the
 * server speaks, its answer what the server sends until the client speaks again or nothing comes
 * for a while.  Right for everything that asks and waits; pipelines look like one call. */
#include "capture/conv.h"

static enum detect detect(struct slice bytes, enum side side)
{
	return DETECT_MAYBE;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct open_call *call = conv_oldest(c);

	if (bytes.n == 0)
		return 0;
	if (side == SIDE_CLIENT) {
		if (call && call->reply_ns) {
			conv_return(c, call);
			call = NULL;
		}
		if (!call)
			conv_call(c, CONV_NO_KEY, NAMES_NONE, bytes);
	} else if (call) {
		conv_reply(c, call);
		conv_quiet(c);
	}
	return (ssize_t)bytes.n;
}

static void closed(struct conv *c, enum side side)
{
	struct open_call *call = conv_oldest(c);

	if (side == SIDE_SERVER && call && call->reply_ns)
		conv_return(c, call);
}

const struct protocol proto_unknown = {
	.name = "unknown",
	.detect = detect,
	.parse = parse,
	.closed = closed,
};
