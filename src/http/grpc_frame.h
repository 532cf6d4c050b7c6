/* http/grpc_frame.h - gRPC's own small formats: the message frame, the timeout, the status text.
 * Pure. */
#ifndef CAUSET_HTTP_GRPC_FRAME_H
#define CAUSET_HTTP_GRPC_FRAME_H

#include "base/arena.h"
#include "base/buffer.h"

/*  0      1            5
 *  ┌──────┬────────────┬───────── ─ ─
 *  │ 0/1  │ length, BE │ message
 *  └──────┴────────────┴───────── ─ ─   1: compressed as grpc-encoding says */
#define GRPC_FRAME_HEAD 5

struct grpc_frame {
	bool compressed;
	size_t length; /* of the message */
};

/* 1 the head is there, 0 more bytes are needed, -EBADMSG the first byte is neither 0 nor 1. */
int grpc_frame_head(struct slice in, struct grpc_frame *ret_frame);

/* Appends head and message, not compressed. */
void grpc_frame_append(struct buffer *out, struct slice message);

/* "100m" and the like into nanoseconds; -EINVAL.  Values beyond 292 years are cut. */
int grpc_timeout_parse(struct slice text, int64_t *ret_ns);

/* The text for grpc-message: percent-encoded, in the arena; cut at 4 KiB.  p is NULL when out of
 * memory. */
struct slice grpc_message_encode(struct arena *arena, struct slice text);

/* Base64 without padding, for headers that end in -bin. */
struct slice grpc_binary_encode(struct arena *arena, struct slice bytes);

/* The gRPC status that says what an HTTP status says. */
int grpc_status_of_http(int http_status);

#endif
