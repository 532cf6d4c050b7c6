/* server/listeners.h - which addresses are listened on: those of the settings, or sockets that the
 * service manager opened for us. */
#ifndef CAUSET_SERVER_LISTENERS_H
#define CAUSET_SERVER_LISTENERS_H

#include "http/server.h"
#include "server/config.h"
#include "server/notify.h"

struct listeners {
	struct http_listener rows[ACTIVATION_MAX];
	size_t n;
};

/* -EPERM when a socket can be reached from elsewhere without authentication, -EINVAL when a passed
 * socket has no name that says what it is for. */
int listeners_init(struct listeners *l, const struct config *config, struct error *error);

/* The descriptors belong to somebody else from now on. */
void listeners_taken(struct listeners *l);

/* Closes what still is ours. */
void listeners_done(struct listeners *l);

/* "otlp-grpc", "otlp-http", "zipkin", "http", "jaeger-grpc", "tempo", by bit number of enum
 * service. */
const char *listener_name(unsigned bit);

/* Writes {"pid":…,"host":"…","otlp_grpc_port":4317,…} in one step (a new file is moved into place).
 * Services that are off are left out. */
int ports_write(const char *path, const char *host, const int *ports, struct error *error);

#endif
