/* http/post_int.h - what other threads have for a loop, and waking it. */
#ifndef CAUSET_HTTP_POST_INT_H
#define CAUSET_HTTP_POST_INT_H

#include "http/loop_int.h"

/* Before the loop runs.  It then takes what is posted each time before it sleeps.  Negative errno.
 */
int post_open(struct http_loop *loop);

/* On the loop's thread, or when none runs: nothing is taken any more. */
void post_close(struct http_loop *loop);

/* After the loop has run its last and `uv_ready` is false. */
void post_done(struct http_loop *loop);

/* Asks the loop to end its connections and itself.  Any thread. */
void post_stop(struct http_loop *loop);

#endif
