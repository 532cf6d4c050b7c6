/* tests/fuzz/fuzz_http_conn.c - any bytes from a client, cut anywhere, through a whole connection:
 * HTTP/1 or HTTP/2 as the bytes say, with handlers that answer at once, later, in pieces and as
 * gRPC streams.  Afterwards nothing may be left over.
 *
 * The first byte says how the rest is cut and whether time passes. */
#include "fuzz.h"

#include <stdlib.h>

#include "http/grpc.h"
#include "http/unplugged.h"

static enum http_pull pull(void *context, struct buffer *out)
{
	size_t *left = context;

	buffer_text(out, "some text");
	return --*left > 0 ? HTTP_PULL_MORE : HTTP_PULL_END;
}

static void on_message(struct http_request *req, void *context, struct slice message)
{
	http_grpc_send(req, message);
}

static void on_half_close(struct http_request *req, void *context)
{
	http_grpc_finish(req, GRPC_OK, "", slice_of(NULL, 0));
}

static void on_cancel(struct http_request *req, void *context)
{
	http_grpc_finish(req, GRPC_CANCELLED, "", slice_of(NULL, 0));
}

static void admit(struct http_request *req, void *context)
{
	static const struct http_grpc_stream echo = {on_message, on_half_close, NULL, on_cancel,
						     NULL};

	if (slice_starts(req->path, SLICE("/n")))
		http_reply_text(req, 404, "no");
	else if (req->is_grpc && slice_starts(req->path, SLICE("/b")))
		http_grpc_open(req, &echo);
}

static void dispatch(struct http_request *req, void *context)
{
	struct unplugged *u = context;
	struct slice value;
	size_t *left;

	http_query_get(req, "a", &value);
	if (req->is_grpc) {
		http_reply_grpc(req, GRPC_OK, NULL, req->body, slice_of(NULL, 0));
	} else if (slice_starts(req->path, SLICE("/l")) && !u->later) {
		u->later = req;
	} else if (slice_starts(req->path, SLICE("/s"))) {
		left = arena_alloc(&req->arena, sizeof(*left));
		if (!left)
			abort();
		*left = 3;
		http_reply_stream(req, 200, "text/plain", &(struct http_stream){pull, NULL, left});
	} else {
		http_reply(req, 200, "text/plain", req->body);
	}
}

static void answer_later(struct unplugged *u)
{
	if (u->later)
		http_reply(u->later, 200, NULL, SLICE("late"));
	u->later = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	unsigned how;
	struct unplugged u;

	if (size < 1)
		return 0;
	how = data[0];
	in = slice_from(in, 1);
	unplugged_init(&u, admit, dispatch);
	u.server.limits.body_bytes = 100000;
	u.server.limits.decoded_bytes = 200000;
	unplugged_connect(&u);
	for (int turn = 0; turn < 64 && in.n && !u.conn.broken; turn++) {
		in = slice_from(in, in.n - unplugged_feed(&u, in, 1 + (how & 63) * (how & 63)));
		if (how & 64)
			unplugged_tick(&u, 5000);
		answer_later(&u);
		unplugged_pump(&u);
		if (conn_wants_close(&u.conn))
			break;
	}
	if ((how & 128) && !u.conn.broken)
		conn_eof(&u.conn);
	unplugged_pump(&u);
	unplugged_disconnect(&u);
	answer_later(&u);
	unplugged_done(&u);
	return 0;
}
