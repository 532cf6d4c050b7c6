/* http/grpc_call_int.h - a gRPC stream of messages on its exchange. */
#ifndef CAUSET_HTTP_GRPC_CALL_INT_H
#define CAUSET_HTTP_GRPC_CALL_INT_H

#include "http/coding.h"
#include "http/exchange_int.h"

struct grpc_call {
	struct http_grpc_stream handler;
	struct buffer in;     /* the message being received, with its head */
	struct buffer held;   /* what came while the handler paused */
	bool half_closed;     /* the client has ended its side */
	bool half_close_told; /* and the handler knows */
	bool paused;
	bool opened;   /* response headers are on their way; loop thread */
	size_t unread; /* bytes not yet given back to the client's window while paused */

	pthread_mutex_t lock; /* the rest */
	struct buffer out;    /* framed messages to send; [out_at, n) */
	size_t out_at;
	bool writable_due, finished, gone;
	enum grpc_status status; /* once finished */
	struct slice message, details;
};

/* NULL is fine. */
struct grpc_call *grpc_call_free(struct grpc_call *call);

/* The client is gone. */
void grpc_call_cancelled(struct http_exchange *x);

/* Bytes of the client's stream; may answer the exchange (malformed, too large). */
void grpc_call_input(struct http_exchange *x, struct slice bytes);
void grpc_call_half_close(struct http_exchange *x);

/* The handler goes on reading: delivers what was held.  Returns the bytes to give back to the
 * client's window. */
size_t grpc_call_resume(struct http_exchange *x);

/* Moves up to `room` bytes to `to`.  Returns how many; 0: nothing now; -1: finished and empty. */
int64_t grpc_call_output(struct http_exchange *x, char *to, size_t room);

/* Copies what http_grpc_finish() said to the exchange. */
void grpc_call_take_status(struct http_exchange *x);

/* Nothing waits to be sent. */
bool grpc_call_is_empty(struct http_exchange *x);

#endif
