/* infer/convolution_stream.h - the convolution algorithm on a stream, in memory that does not grow
 * with it.
 *
 * Messages are collected; when there are enough of them (or enough time has passed) the paths of
 * the roots' messages before a cut are looked for, with what came a while after the cut to see how
 * they go on, and everything before the cut is forgotten.  Each message of a root counts once.
 *
 *   collected   ██████████████████████░░░░░░░░   █ paths that begin here are counted
 *                                    cut         ░ how they go on; the next begin here
 *
 * The trees of all windows are added up: a vertex is the same where its way from the root is and
 * the shifts are alike.  A trace that fits is one window.  One thread. */
#ifndef CAUSET_INFER_CONVOLUTION_STREAM_H
#define CAUSET_INFER_CONVOLUTION_STREAM_H

#include "infer/convolution.h"

#define CONVOLUTION_MAX_MESSAGES 8000000 /* a window when nobody says; some 500 MB */

struct convolution_window {
	const struct convolution *found; /* in this window alone */
	int64_t until_ns;                /* INT64_MAX at the end */
	uint64_t number;                 /* from 1 */
};

struct convolution_stream_options {
	struct convolution_options
		infer;             /* what is left to the data is taken from the first window */
	const struct names *nodes; /* of the messages; outlives the stream */
	struct slice root;         /* a name; empty: as infer.root says */
	size_t max_messages;       /* 0: CONVOLUTION_MAX_MESSAGES */
	int64_t window_ns;         /* 0: only when there are max_messages */
	int (*window)(void *context, const struct convolution_window *w); /* may be NULL */
	void *context;
};

struct convolution_stream;

int convolution_stream_new(const struct convolution_stream_options *options,
			   struct convolution_stream **ret_stream);
struct convolution_stream *convolution_stream_free(struct convolution_stream *s);

struct message_sink convolution_stream_sink(struct convolution_stream *s);

/* The stream has ended.  -ENOMEM; -ENOENT, -EINVAL, -E2BIG with a sentence; or what the window
 * said. */
int convolution_stream_finish(struct convolution_stream *s, struct convolution *ret,
			      struct error *error);

#endif
