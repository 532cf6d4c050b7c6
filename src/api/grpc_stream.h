/* api/grpc_stream.h - a gRPC method that is asked once and answers with many messages.
 *
 * The question comes in on the loop; a worker makes one message after the other and stops when the
 * client is slower than it is, to go on when there is room: no thread waits for a client. */
#ifndef CAUSET_API_GRPC_STREAM_H
#define CAUSET_API_GRPC_STREAM_H

#include "api/api.h"
#include "http/grpc.h"

/* How a stream ends. */
struct grpc_end {
	enum grpc_status status;
	char message[256]; /* where the status is not OK */
};

struct grpc_method {
	/* Makes the answer's state from the question (which lives as long as the state).  On a
	 * worker.  False: *end says why. */
	bool (*begin)(struct http_request *req, struct api *api, struct slice question,
		      void **ret_state, struct grpc_end *end);
	/* Appends the next message; false behind the last (then *end says how it ended, OK unless
	 * changed).  On a worker. */
	bool (*next)(void *state, struct buffer *out, struct grpc_end *end);
	/* Any thread, once, if begin said true. */
	void (*done)(void *state);
};

/* In admit. */
void grpc_stream_open(struct http_request *req, struct api *api, const struct grpc_method *method);

/* The end for an error of the store. */
void grpc_end_errno(struct grpc_end *end, int error);

#endif
