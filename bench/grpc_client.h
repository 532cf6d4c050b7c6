/* bench/grpc_client.h - the smallest gRPC client: one blocking connection, one unary call at a
 * time. */
#ifndef CAUSET_BENCH_GRPC_CLIENT_H
#define CAUSET_BENCH_GRPC_CLIENT_H

#include "core/slice.h"

struct grpc_client;

/* To 127.0.0.1; NULL when nobody listens there. */
struct grpc_client *grpc_client_open(int port);
void grpc_client_close(struct grpc_client *c);

/* Sends one framed message (five bytes of prefix included); returns the gRPC status, or -1 when the
 * connection broke. */
int grpc_client_call(struct grpc_client *c, const char *path, struct slice message);

#endif
