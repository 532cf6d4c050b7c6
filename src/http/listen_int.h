/* http/listen_int.h - sockets that listen, and the spreading of connections over the loops. */
#ifndef CAUSET_HTTP_LISTEN_INT_H
#define CAUSET_HTTP_LISTEN_INT_H

#include "http/loop_int.h"

/* Binds one listener ("localhost" may take two sockets) and appends to server->endpoints. */
int listen_bind(struct http_server *server, const struct http_listener *listener, size_t index,
		struct error *error);

/* Begins accepting, on loop 0 and before its thread runs. */
int listen_start(struct http_server *server);

/* Ends accepting; on loop 0's thread, or when none runs. */
void listen_close(struct http_server *server);

/* A connection for this loop: on its own thread, or handed over from another. */
void loop_adopt(struct http_loop *loop, const struct accepted *a);
int loop_give(struct http_loop *loop, const struct accepted *a);
void loop_take_posts(struct http_loop *loop);

#endif
