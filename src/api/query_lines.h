/* api/query_lines.h - an answer that leaves line by line while it is made.
 *
 * The query's thread adds lines and waits while the client is behind; the network's thread takes
 * them.  Freed when both have let go. */
#ifndef CAUSET_API_QUERY_LINES_H
#define CAUSET_API_QUERY_LINES_H

#include <stdatomic.h>

#include "http/request.h"

struct query_lines;

/* Answers the request with a stream.  From here on the request is answered.  `cancel` is set when
 * the client goes away; it and the request must outlive query_lines_end().  NULL: out of memory,
 * nothing is answered.  From end_ns on, by the monotonic clock, no client is waited for. */
struct query_lines *query_lines_begin(struct http_request *req, _Atomic bool *cancel,
				      int64_t end_ns);

/* Adds a line (its newline is added) when there is room for it.  -ECANCELED: the client has gone,
 * or somebody has cancelled; -ETIMEDOUT: it has not read what came before by end_ns; -ENOMEM. */
int query_lines_add(struct query_lines *l, struct slice line);

/* The last line, in any case; nothing may be added behind it.  An empty one is none. */
void query_lines_end(struct query_lines *l, struct slice line);

#endif
