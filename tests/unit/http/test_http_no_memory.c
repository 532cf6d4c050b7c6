/* Every allocation of a conversation fails once: each time the connection ends or answers, and
 * nothing is lost or touched after its end (the sanitizers watch). */
#include "t.h"

#include <stdlib.h>

#include "http/grpc.h"
#include "http/unplugged.h"
#include "no_memory.h"

static void on_message(struct http_request *req, void *context, struct slice message)
{
	http_grpc_send(req, message);
}

static void on_end(struct http_request *req, void *context)
{
	http_grpc_finish(req, GRPC_OK, "well", SLICE("details"));
}

static void admit(struct http_request *req, void *context)
{
	static const struct http_grpc_stream echo = {
		.on_message = on_message, .on_half_close = on_end, .on_cancel = on_end};

	if (slice_eq(req->path, SLICE("/bidi")))
		http_grpc_open(req, &echo);
}

static enum http_pull pull(void *context, struct buffer *out)
{
	buffer_text(out, "one piece");
	return HTTP_PULL_END;
}

static void dispatch(struct http_request *req, void *context)
{
	struct unplugged *u = context;
	struct slice value;

	if (req->is_grpc) {
		http_reply_grpc(req, GRPC_OK, "text", req->body, SLICE("details"));
	} else if (slice_eq(req->path, SLICE("/later"))) {
		u->later = req;
	} else if (slice_eq(req->path, SLICE("/stream"))) {
		http_reply_stream(req, 200, "text/plain", &(struct http_stream){.pull = pull});
	} else {
		http_query_get(req, "q", &value);
		http_reply_header(req, "X-A", SLICE("b"));
		http_reply(req, 200, "text/plain", req->body);
	}
}

#define FRAME(length, type, flags, stream) "\0\0" length type flags "\0\0\0" stream
#define REQUEST                                                                                    \
	"\x83\x86\x41\x09"                                                                         \
	"localhost"
#define GRPC                                                                                       \
	"\x5f\x10"                                                                                 \
	"application/grpc"
#define PATH(n, path) "\x44" n path

static const struct slice conversations[] = {
	SLICE("POST /x?q=a%20b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
	      "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
	      "5\r\nhello\r\n0\r\n\r\nGET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
	      "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	SLICE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" FRAME("\0", "\4", "\0", "\0")
	      /* a unary call */
	      FRAME("\x29", "\1", "\4", "\1") REQUEST PATH("\x08", "/unary/x")
		      GRPC FRAME("\x08", "\0", "\1", "\1") "\0\0\0\0\3abc"
	      /* a stream */
	      FRAME("\x26", "\1", "\4", "\3") REQUEST PATH("\x05", "/bidi") GRPC FRAME(
		      "\x06", "\0", "\0", "\3") "\0\0\0\0\3a" FRAME("\x02", "\0", "\1", "\3") "bc"),
};

static void converse(struct unplugged *u, struct slice text, size_t step)
{
	unplugged_connect(u);
	unplugged_feed(u, text, step);
	if (u->later)
		http_reply_text(u->later, 200, "late");
	u->later = NULL;
	unplugged_pump(u);
	unplugged_disconnect(u);
}

static void every_failed_allocation_is_survived(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(conversations); i++) {
		bool failed = true;
		long n;

		for (n = 0; failed; n++) {
			struct unplugged u;

			unplugged_init(&u, admit, dispatch);
			no_memory_after = n;
			converse(&u, conversations[i], 7);
			failed = no_memory_after < 0;
			no_memory_after = -1;
			buffer_clear(&u.sent);
			/* and the next client is served */
			converse(&u, SLICE("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"), 100);
			assert_non_null(strstr(buffer_cstr(&u.sent), "200 OK"));
			unplugged_done(&u);
			assert_true(n < 1000);
		}
		assert_true(n > 5);
	}
}

/* The conversation above is what it claims to be. */
static void without_failures_all_is_answered(void **state)
{
	struct unplugged u;

	unplugged_init(&u, admit, dispatch);
	converse(&u, conversations[0], 1000);
	assert_int_equal(u.server.counters.responses[2], 4);
	converse(&u, conversations[1], 1000);
	assert_int_equal(u.server.counters.responses[2], 6);
	assert_int_equal(u.server.counters.grpc_errors, 0);
	unplugged_done(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_failures_all_is_answered),
		cmocka_unit_test(every_failed_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
