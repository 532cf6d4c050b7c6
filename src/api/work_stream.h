/* api/work_stream.h - an answer of any length, made by workers a piece at a time.
 *
 * A piece is made while the one before it is sent; when the client is slower than we are, nobody
 * waits for it: the next piece is begun when the last has gone. */
#ifndef CAUSET_API_WORK_STREAM_H
#define CAUSET_API_WORK_STREAM_H

#include "api/api.h"

struct work_pieces {
	/* Appends the next piece, some KiB to some MiB.  1: there may be more; 0: that was all;
	 * negative errno: the client is to see that the answer is not whole.  On a worker. */
	int (*next)(void *state, struct buffer *out);
	/* Once, any thread. */
	void (*done)(void *state);
	void *state;
};

/* Answers the request with 200 and what `pieces` makes; they are taken over in any case. */
void work_stream_send(struct http_request *req, struct api *api, const char *content_type,
		      const struct work_pieces *pieces);

#endif
