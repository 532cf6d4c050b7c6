/* http/request.h - one request as a handler sees it, and the ways to answer it.
 *
 * A request is made by the server and given to `admit` (headers only) and then to `dispatch`
 * (everything).  From dispatch on it belongs to the handler until it is answered: exactly one
 * http_reply*() or http_grpc_*() answer, at once or later, from any thread, whether or not the
 * client is still there.  After the answer the request must not be touched any more (except
 * through a reference taken with http_request_ref()).  Between dispatch and the answer only one
 * thread at a time may use the request; handing it from thread to thread needs the usual ordering
 * (a queue with a lock gives it). */
#ifndef CAUSET_HTTP_REQUEST_H
#define CAUSET_HTTP_REQUEST_H

#include "base/arena.h"
#include "base/buffer.h"
#include "core/slice.h"

struct http_header {
	struct slice name; /* as sent; HTTP/2: lower case */
	struct slice value;
};

/* Read only for handlers, except max_body (in admit) and user.  All slices live as long as the
 * request. */
struct http_request {
	struct slice method;    /* "GET" */
	struct slice path;      /* "/v1/traces", as sent: percent-encoded, without the query */
	struct slice query;     /* behind the '?', as sent; empty when there is none */
	struct slice authority; /* Host or :authority, as sent */
	struct slice body;      /* decompressed; gRPC unary: the one message */
	const struct http_header *headers;
	size_t header_count;
	int version;                 /* 10, 11 or 20 */
	int tag;                     /* the listener's */
	bool is_grpc;                /* HTTP/2 and content-type application/grpc[+…] */
	bool is_tls;                 /* came encrypted */
	struct slice client_subject; /* verified client certificate's name (RFC 2253), or empty */
	const char *peer;            /* "127.0.0.1:53422" */
	int64_t received_ns;         /* wall clock, when the headers were complete */
	int64_t wire_bytes;          /* of the body as it came */
	int64_t timeout_ns;          /* grpc-timeout; 0: none given */
	size_t max_body;             /* wire bytes; admit may lower or raise it for this route */
	size_t max_decoded;          /* after decompression; admit may change it, too */
	struct arena arena;          /* for the handler's own use; freed with the request */
	void *user;                  /* the handler's */
};

/* The first header of that name (any case), or a slice with p == NULL. */
struct slice http_header_get(const struct http_request *req, const char *name);

/* The percent-decoded value of the first `name` in the query, in the request's arena ('+' is a
 * blank).  1 found, 0 not there, -EINVAL bad percent encoding, -ENOMEM. */
int http_query_get(struct http_request *req, const char *name, struct slice *ret_value);

/* Walks all pairs of the query, decoded, in order: start with *at = 0.  1 one pair, 0 the end,
 * -EINVAL, -ENOMEM. */
int http_query_next(struct http_request *req, size_t *at, struct slice *ret_name,
		    struct slice *ret_value);

/* A part of the path, percent-decoded, in the request's arena.  -EINVAL, -ENOMEM. */
int http_path_decode(struct http_request *req, struct slice part, struct slice *ret_text);

/* Has the client gone away?  Any thread; true means the answer will be dropped. */
bool http_request_cancelled(const struct http_request *req);

/* The same to be looked at again and again, until the request is answered. */
const _Atomic bool *http_request_cancel_flag(const struct http_request *req);

/* Calls on_cancel(req, context) on the loop thread when the client goes away before the answer was
 * given; at most once.  Set in admit or dispatch, on the loop thread.  The request must still be
 * answered. */
void http_request_on_cancel(struct http_request *req,
			    void (*on_cancel)(struct http_request *req, void *context),
			    void *context);

/* Keeps the memory of the request (not the connection) for the caller.  Any thread. */
struct http_request *http_request_ref(struct http_request *req);
void http_request_unref(struct http_request *req);

/* Hands the body's memory to the caller (body stays readable through *ret_body only); the content
 * is ret_body->p[*ret_offset … ret_body->n). */
void http_request_take_body(struct http_request *req, struct buffer *ret_body, size_t *ret_offset);

/* Adds a header to the answer that is given next; copied.  Names and values with CR, LF or NUL are
 * refused with -EINVAL; -ENOMEM, -E2BIG beyond 64 headers.  Not for Content-Length,
 * Transfer-Encoding, Connection and Date, which are the server's. */
int http_reply_header(struct http_request *req, const char *name, struct slice value);

/* Whole answers of text or JSON are compressed when the client accepts gzip, unless the handler has
 * set Content-Encoding itself; streams are not.
 *
 * Answers with a copy of `body`.  content_type may be NULL (none).  On a gRPC request a status of
 * 400 and above becomes a gRPC status with the body as its message. */
void http_reply(struct http_request *req, int status, const char *content_type, struct slice body);

/* The same, the buffer's memory is taken (the caller's is left empty).  A failed buffer (out of
 * memory) becomes a 503. */
void http_reply_buffer(struct http_request *req, int status, const char *content_type,
		       struct buffer *body);

/* The same for bytes that outlive the server, such as what is built into the program: no copy. */
void http_reply_static(struct http_request *req, int status, const char *content_type,
		       struct slice body);

/* text/plain from printf. */
void http_reply_text(struct http_request *req, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What a stream's pull says. */
enum http_pull {
	HTTP_PULL_ABORT = -1, /* end the connection or stream so that the client sees a failure */
	HTTP_PULL_END = 0,
	HTTP_PULL_MORE = 1,
	HTTP_PULL_LATER = 2, /* nothing now; http_stream_wake() will tell */
};

struct http_stream {
	/* Appends the next piece (some KiB to some hundred KiB) to `out`.  Called on the loop
	 * thread and only when what came before has left for the socket. */
	enum http_pull (*pull)(void *context, struct buffer *out);
	/* Called once, on the loop thread, when no further pull will come; may be NULL. */
	void (*done)(void *context);
	void *context;
};

/* Answers with a body made piece by piece, of unknown length (chunked in HTTP/1.1). */
void http_reply_stream(struct http_request *req, int status, const char *content_type,
		       const struct http_stream *stream);

/* After HTTP_PULL_LATER: pull again.  Any thread that holds a reference; harmless when the stream
 * has ended. */
void http_stream_wake(struct http_request *req);

/* "Not Found"; "" for a status without a name. */
const char *http_status_text(int status);

#endif
