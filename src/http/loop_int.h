/* http/loop_int.h - one thread with its connections, and the server they belong to. */
#ifndef CAUSET_HTTP_LOOP_INT_H
#define CAUSET_HTTP_LOOP_INT_H

#include "http/conn_int.h"

typedef struct ssl_ctx_st SSL_CTX;

struct http_endpoint { /* a bound listener */
	int fd;
	int port;
	int tag;
	size_t listener; /* its number in the options */
	bool is_tls;
	bool loopback;
	bool poll_ready;
	uv_poll_t poll; /* on loop 0 */
	struct http_server *server;
};

struct accepted { /* a connection on its way to its loop */
	int fd;
	const struct http_endpoint *endpoint;
	char peer[64];
};

struct http_loop {
	struct http_server *server;
	pthread_t self;   /* the thread that runs it */
	pthread_t thread; /* the same, for who starts and joins it */
	bool thread_ready;
	uv_loop_t uv;
	uv_timer_t timer;
	uv_poll_t wake;       /* for wake_fd */
	uv_prepare_t prepare; /* before it sleeps, */
	uv_check_t check;     /* and behind it */
	bool uv_ready;
	int64_t now_ms;
	struct http_conn *conns;
	int conn_count;
	_Atomic int load; /* connections, including those on their way here */
	struct coder *coder;
	char *scratch; /* CONN_SCRATCH bytes */
	char date[40]; /* "Sun, 06 Nov 1994 08:49:37 GMT" */
	int64_t date_s;

	struct http_exchange *pool;
	int pool_count;
	int live; /* exchanges not in the pool */

	pthread_mutex_t lock; /* the next five */
	struct http_exchange *post_head, **post_tail;
	struct accepted *incoming;
	size_t incoming_count, incoming_capacity;
	bool stop;
	_Atomic bool asleep; /* or about to be: whoever queues something wakes it by wake_fd */
	_Atomic int wakers;  /* threads that are about to */
	int wake_fd;

	unsigned tidied; /* the server's `tidy` when this was last done */
	bool draining;
	int64_t drain_deadline_ms;
};

struct http_server {
	struct http_limits limits;
	char **cors_origins, **hosts; /* NULL-terminated, or NULL */
	bool cors_any;
	void (*admit)(struct http_request *req, void *context);
	void (*dispatch)(struct http_request *req, void *context);
	void *context;
	struct http_counters counters;
	struct http_endpoint *endpoints;
	size_t endpoint_count;
	struct http_loop *loops;
	int loop_count;
	int spare_fd; /* given up when descriptors run out */
	int64_t drain_ms;
	int tick_ms;
	_Atomic unsigned tidy;    /* how often it was asked for */
	pthread_mutex_t tls_lock; /* for tls_context */
	SSL_CTX *tls_context;
	char *certificate, *key, *client_ca;
};

static inline void http_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Queues the exchange for its loop.  Any thread. */
void loop_post(struct http_exchange *x, unsigned bits);

/* After anything has happened to a connection: sends, closes, or waits for the right thing. */
void loop_run(struct http_conn *c);

/* Begins to end all connections, and then the loop.  On its thread. */
void loop_drain(struct http_loop *loop);

/* Everything of a loop that does not need the event loop; for the server and for fuzzers. */
int loop_init(struct http_loop *loop, struct http_server *server);
void loop_done(struct http_loop *loop);

/* The Date header's value for now. */
const char *loop_date(struct http_loop *loop);

/* The event side: loop_open() before loop_start(); the thread runs until it is told to stop and
 * nothing is left. */
int loop_open(struct http_loop *loop);
int loop_start(struct http_loop *loop);
void loop_stop(struct http_loop *loop);

/* Fills zero fields with the defaults. */
void limits_default(struct http_limits *limits);

/* Host and Origin: 0 fine, else the exchange is answered. */
int guard_check(struct http_exchange *x);

#endif
