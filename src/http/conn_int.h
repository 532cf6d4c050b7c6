/* http/conn_int.h - a connection without its socket: bytes in, bytes out, time.
 *
 * The transport (loop.c, or a fuzzer) reads where conn_read_target() says, reports with
 * conn_input(), sends what conn_output() shows and reports with conn_sent().  After any call it
 * looks at conn_output(), conn_wants_read() and conn_wants_close() again.  One thread: the loop's.
 */
#ifndef CAUSET_HTTP_CONN_INT_H
#define CAUSET_HTTP_CONN_INT_H

#include <nghttp2/nghttp2.h>
#include <sys/uio.h>
#include <uv.h>

#include "http/chunked.h"
#include "http/coding.h"
#include "http/exchange_int.h"
#include "http/h1_parse.h"

#define CONN_OUT_HIGH ((size_t)256 << 10) /* more waiting output than this stops making more */
#define CONN_SCRATCH  ((size_t)64 << 10)  /* one read at most, unless straight into a body */

enum conn_protocol { CONN_DETECT, CONN_H1, CONN_H2 };

enum h1_state { H1_HEAD, H1_LENGTH, H1_CHUNKED, H1_HANDLER, H1_REPLY };

struct h1 {
	enum h1_state state;
	struct http_exchange *x; /* NULL in H1_HEAD */
	struct h1_scan scan;
	struct chunked chunked;
	uint64_t body_left; /* H1_LENGTH */
	bool keep_alive;    /* as the request says */
	bool chunked_reply;
	bool continue_due; /* 100 Continue is expected and not sent yet */
	bool tail_sent;    /* the body is in the output */
	bool eof;          /* the client will send no more */
};

struct h2 {
	nghttp2_session *session;
	bool goaway_sent, flooded;
	int resets, controls; /* since flood_since_ms */
	int64_t flood_since_ms;
};

struct tls_conn;

struct http_conn {
	struct http_loop *loop;
	struct http_conn *prev, *next;
	int tag;
	bool check_host; /* came over loopback */
	bool is_tls;
	char peer[64];
	struct slice client_subject; /* malloc'ed */
	enum conn_protocol protocol;

	struct buffer in; /* read, not understood yet; [in_at, n) */
	size_t in_at;
	struct buffer out; /* to send; [out_at, n) */
	size_t out_at;
	struct slice tail; /* to send behind `out`; borrowed from h1.x */

	struct h1 h1;
	struct h2 h2;
	struct http_exchange *exchanges; /* all of this connection */
	int exchange_count;
	uint64_t served;

	bool closing;        /* no further request; close when output is sent */
	bool broken;         /* close now */
	bool linger;         /* input is thrown away until the client closes */
	bool head_begun;     /* header_ms runs */
	int64_t deadline_ms; /* of the head, of idleness or of lingering */

	/* the transport's */
	uv_poll_t poll;
	int fd;
	int poll_events;
	bool poll_ready;
	bool shut; /* SHUT_WR done */
	bool hung_up;
	bool early; /* something came that is not wanted yet */
	bool closed;
	int64_t write_deadline_ms;
	struct tls_conn *tls;
};

/* Sets up what is not the transport's.  `peer` is copied. */
void conn_init(struct http_conn *c, struct http_loop *loop, int tag, bool check_host,
	       const char *peer);

/* Ends every exchange and frees what conn_init() and its use took. */
void conn_done(struct http_conn *c);

/* Where the next bytes shall go, at least one. */
struct iovec conn_read_target(struct http_conn *c);
bool conn_wants_read(const struct http_conn *c);

/* n bytes have come, at p (which may or may not be the target). */
void conn_input(struct http_conn *c, char *p, size_t n);

/* The client will not send any more. */
void conn_eof(struct http_conn *c);

/* The client has closed at least its sending side; what it sent before may still be unread. */
void conn_hangup(struct http_conn *c);

/* Fills at most two pieces to send; 0 when there is nothing. */
int conn_output(struct http_conn *c, struct iovec iov[2]);
void conn_sent(struct http_conn *c, size_t n);

/* True when the socket shall be closed now. */
bool conn_wants_close(const struct http_conn *c);

/* True when nothing more will be sent. */
bool conn_is_silent(const struct http_conn *c);

static inline size_t conn_pending(const struct http_conn *c)
{
	return c->out.n - c->out_at + c->tail.n;
}

/* Time passes: enforces the limits. */
void conn_tick(struct http_conn *c, int64_t now_ms);

/* The server stops: finish what has begun. */
void conn_drain(struct http_conn *c);

/* An answer, or more of a stream, is there. */
void conn_answer(struct http_conn *c, struct http_exchange *x);
void conn_wake(struct http_conn *c, struct http_exchange *x);

/* The protocols; called by conn.c only. */
void h1_input(struct http_conn *c, char *p, size_t n);
void h1_advance(struct http_conn *c);
void h1_answer(struct http_conn *c, struct http_exchange *x);
void h1_eof(struct http_conn *c);
void h1_tick(struct http_conn *c, int64_t now_ms);
void h1_drain(struct http_conn *c);
bool h1_wants_read(const struct http_conn *c);
struct iovec h1_read_target(struct http_conn *c);
int h2_start(struct http_conn *c);
void h2_stop(struct http_conn *c);
void h2_input(struct http_conn *c, const char *p, size_t n);
void h2_output(struct http_conn *c);
void h2_answer(struct http_conn *c, struct http_exchange *x);
void h2_wake(struct http_conn *c, struct http_exchange *x);
void h2_tick(struct http_conn *c, int64_t now_ms);
void h2_drain(struct http_conn *c);
bool h2_wants_read(const struct http_conn *c);

/* Has the body of x come too slowly?  Then it is refused, and answered by the caller. */
bool conn_body_late(struct http_exchange *x, int64_t now_ms);

#endif
