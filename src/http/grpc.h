/* http/grpc.h - gRPC on HTTP/2: unary answers and streams of messages.
 *
 * A unary call arrives in `dispatch` with the one message, deframed and decompressed, as its body.
 * A route that wants a stream says so in `admit` with http_grpc_open(). */
#ifndef CAUSET_HTTP_GRPC_H
#define CAUSET_HTTP_GRPC_H

#include "http/request.h"

enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

/* Answers a unary call.  With GRPC_OK `body` (copied) is the message; otherwise body is ignored and
 * `message` (may be NULL) and `details` (a serialized google.rpc.Status, or empty) are sent as
 * trailers.  Extra headers of http_reply_header() go before. */
void http_reply_grpc(struct http_request *req, enum grpc_status status, const char *message,
		     struct slice body, struct slice details);

/* A stream of messages in either or both directions.  All callbacks run on the loop thread; any
 * may be NULL. */
struct http_grpc_stream {
	/* One message from the client; borrowed for the call. */
	void (*on_message)(struct http_request *req, void *context, struct slice message);
	/* The client has sent its last message. */
	void (*on_half_close)(struct http_request *req, void *context);
	/* After http_grpc_send() said -EAGAIN: there is room again. */
	void (*on_writable)(struct http_request *req, void *context);
	/* The client is gone.  http_grpc_finish() must still be called, once. */
	void (*on_cancel)(struct http_request *req, void *context);
	void *context;
};

/* In admit: this call is a stream; dispatch will not be called.  The handler owns the request until
 * http_grpc_finish(). */
void http_grpc_open(struct http_request *req, const struct http_grpc_stream *stream);

/* Queues one message (copied).  Any thread, one at a time.  0, or -EAGAIN when more than 1 MiB is
 * waiting (nothing was queued; on_writable follows), -EPIPE when the client is gone, -ENOMEM. */
int http_grpc_send(struct http_request *req, struct slice message);

/* Ends the stream with a status, after everything queued; the request is then not the caller's any
 * more.  Any thread. */
void http_grpc_finish(struct http_request *req, enum grpc_status status, const char *message,
		      struct slice details);

/* Stops reading from the client (it fills its window and waits) and goes on.  Loop thread. */
void http_grpc_pause(struct http_request *req);
void http_grpc_resume(struct http_request *req);

#endif
