/* http/exchange_int.h - a request on its way through the server, with what its handler answers.
 *
 *   HEAD ─▶ BODY ─▶ HANDLER ─▶ REPLY ─▶ gone
 *
 * Memory: one reference is the connection's, from the head to the end of the reply or of the
 * connection; one is the handler's, from dispatch to its answer; more by http_request_ref().  The
 * last one gives the exchange back to its loop's pool, on the loop's thread. */
#ifndef CAUSET_HTTP_EXCHANGE_INT_H
#define CAUSET_HTTP_EXCHANGE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "http/grpc.h"
#include "http/server.h"

#define HTTP_MAX_HEADERS       128
#define HTTP_MAX_REPLY_HEADERS 64

struct http_conn;
struct http_loop;

enum exchange_state { EXCHANGE_HEAD, EXCHANGE_BODY, EXCHANGE_HANDLER, EXCHANGE_REPLY };

/* What other threads ask of the loop, as bits. */
enum exchange_post {
	POST_ANSWER = 1,  /* the handler has answered */
	POST_WAKE = 2,    /* http_stream_wake(), http_grpc_send() */
	POST_RECYCLE = 4, /* the last reference is gone */
};

struct reply_header {
	struct reply_header *next;
	struct slice name, value;
};

struct grpc_call; /* of a message stream */

struct http_exchange {
	struct http_request req; /* first: the handler's pointer is ours */
	struct http_loop *loop;
	struct http_conn *conn;            /* NULL once that side has ended; loop thread only */
	struct http_exchange *prev, *next; /* on the connection, or in the pool */
	struct http_exchange *post_next;   /* in the loop's queue, under its lock */
	unsigned posted;                   /* bits waiting there, under its lock */
	char peer[64];
	_Atomic int refs;
	_Atomic bool cancelled;
	bool in_callback; /* admit or dispatch runs: its answer is taken up when it returns */
	enum exchange_state state;
	void (*on_cancel)(struct http_request *req, void *context);
	void *on_cancel_context;

	/* in */
	struct http_header headers[HTTP_MAX_HEADERS];
	struct buffer head;    /* what the request's slices point into */
	struct buffer wire;    /* the body as it came */
	struct buffer decoded; /* and decompressed */
	size_t charged;        /* counted in the server's memory_bytes */
	int64_t body_deadline_ms;
	int64_t body_mark; /* wire_bytes when the deadline was set */
	int32_t stream_id; /* HTTP/2 */
	struct slice target;
	bool head_overflow; /* HTTP/2: more headers than allowed; the rest was ignored */
	bool body_ended;    /* HTTP/2: the client has sent everything */
	bool refused;       /* the HTTP layer itself has answered */
	bool reply_sent;    /* HTTP/2: the answer is out, the client still sends */

	/* out */
	bool answered;
	bool handler_ref;
	int status;
	struct slice content_type;
	struct reply_header *reply_headers;
	int reply_header_count;
	struct slice reply;        /* whole body, or the piece of a stream being sent */
	struct buffer reply_owned; /* its memory, when it is ours */
	struct http_stream stream; /* pull is NULL unless the answer is a stream */
	bool stream_ended, stream_open, stream_waits;
	bool reply_has_trailers; /* gRPC: status follows the body */
	int64_t moved_ms;        /* HTTP/2: when the reply last made progress */
	int grpc_status;
	struct slice grpc_message, grpc_details; /* encoded for the header */
	struct grpc_call *grpc;
};

static inline struct http_exchange *exchange_of(const struct http_request *req)
{
	return (struct http_exchange *)(uintptr_t)req;
}

/* A cleared exchange with the connection's reference, or NULL when out of memory. */
struct http_exchange *exchange_new(struct http_loop *loop, struct http_conn *conn);

/* The headers are complete: checks Host and Origin, asks admit.  Afterwards the exchange is either
 * answered or waits for its body (state BODY). */
void exchange_begin(struct http_exchange *x, struct slice target);

/* A body of so many bytes is announced: refuses it at once when it cannot fit. */
void exchange_expect(struct http_exchange *x, uint64_t length);

/* Room for `more` body bytes behind wire.n, within the limits; NULL when it was refused (the
 * exchange is then answered). */
char *exchange_body_room(struct http_exchange *x, size_t more);

/* Counts `total` bytes of the exchange against the server's memory; false when that is too much. */
bool exchange_charge(struct http_exchange *x, size_t total);

/* The body is complete: decompresses and dispatches.  The exchange may be answered afterwards. */
void exchange_dispatch(struct http_exchange *x);

/* The HTTP layer's own refusal: text/plain and one count. */
void exchange_refuse(struct http_exchange *x, int status, enum http_refusal cause,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A refusal with a gRPC status of its own choice. */
void exchange_refuse_grpc(struct http_exchange *x, enum grpc_status status, enum http_refusal cause,
			  const char *text);

/* Calls the stream's done(), once. */
void exchange_stream_done(struct http_exchange *x);

/* The connection's side has ended.  Cancels if there is no answer yet; the pointer is dead. */
void exchange_detach(struct http_exchange *x);

/* Tells the handler (once) that the client is gone. */
void exchange_cancel(struct http_exchange *x);

/* Makes the next piece of a streamed reply available in `reply` when that is empty. */
enum http_pull exchange_pull(struct http_exchange *x);

/* Frees what a recycled exchange holds. */
void exchange_destroy(struct http_exchange *x);

/* Back to the pool; on the loop thread, with no reference left. */
void exchange_recycle(struct http_exchange *x);

/* Compresses a whole answer when the client asks for gzip and it is worth it. */
void reply_compress(struct http_exchange *x);
bool reply_accepts_gzip(struct slice accept_encoding);

/* The answer is complete: takes it up at once or sends it to the loop's thread. */
void exchange_answered(struct http_exchange *x);

#endif
