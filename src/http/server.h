/* http/server.h - the HTTP server: HTTP/1.1, HTTP/2 and gRPC on any number of ports, in clear or
 * with TLS, on N threads.  Knows nothing of what it serves. */
#ifndef CAUSET_HTTP_SERVER_H
#define CAUSET_HTTP_SERVER_H

#include <stdatomic.h>

#include "base/error.h"
#include "http/request.h"

struct http_server;

struct http_listener {
	const char *host; /* address, "localhost", or "" for every interface */
	int port;         /* 0: the kernel chooses, ask http_server_port() */
	int tag;          /* given to every request: which service this port is */
	bool clear;       /* no TLS here although a certificate is configured */
	bool use_fd;      /* `fd` is bound and listening already (socket activation) */
	int fd;           /* taken: closed by the server, also when the start fails */
};

/* Everything a client can make the server spend.  A field of 0 means the default. */
struct http_limits {
	size_t header_bytes;  /* 32 KiB: request line and headers */
	size_t header_count;  /* 128, which is also the most */
	size_t body_bytes;    /* 64 MiB on the wire; admit may change it per route */
	size_t decoded_bytes; /* 256 MiB after decompression */
	size_t memory_bytes;  /* 1 GiB of bodies at once, all connections together */
	int connections;      /* 4096 */
	int streams;          /* 128 per HTTP/2 connection */
	int resets;           /* 1000 streams reset by the client per connection and 10 s */
	int tls_ms;           /* 10 s for the handshake */
	int header_ms;        /* 10 s from the first byte to the end of the headers */
	int body_ms;          /* 30 s in which at least body_rate × 30 bytes must come */
	int body_rate;        /* 256 bytes a second */
	int idle_ms;          /* 120 s between requests */
	int write_ms;         /* 60 s without the client reading anything */
	int linger_ms;        /* 2 s for the client to notice that its body is refused */
};

struct http_tls {
	const char *certificate; /* file with the chain, PEM; NULL: no TLS */
	const char *key;         /* file, PEM */
	const char *client_ca;   /* file: clients must show a certificate signed by it; or NULL */
};

struct http_server_options {
	const struct http_listener *listeners;
	size_t listener_count;
	int loops; /* threads; 0: one per processor */
	struct http_limits limits;
	struct http_tls tls;
	const char *const
		*cors_origins;    /* "https://example.org" or "*"; NULL-terminated; or NULL */
	const char *const *hosts; /* further names under which loopback may be asked; or NULL */
	/* Sees method, path and headers before the body is read; may answer, set max_body, or open
	 * a stream.  On the loop thread; may be NULL. */
	void (*admit)(struct http_request *req, void *context);
	/* Has the whole request and must answer it once; see http/request.h.  On the loop thread:
	 * must not block. */
	void (*dispatch)(struct http_request *req, void *context);
	void *context;
};

/* Why something was refused, for http_counters.refused. */
enum http_refusal {
	HTTP_REFUSED_MALFORMED,
	HTTP_REFUSED_HEADER_SIZE,
	HTTP_REFUSED_BODY_SIZE,
	HTTP_REFUSED_DECODED_SIZE,
	HTTP_REFUSED_ENCODING,
	HTTP_REFUSED_MEMORY,
	HTTP_REFUSED_CONNECTIONS,
	HTTP_REFUSED_HOST,
	HTTP_REFUSED_ORIGIN,
	HTTP_REFUSED_HEADER_TIME,
	HTTP_REFUSED_BODY_TIME,
	HTTP_REFUSED_WRITE_TIME,
	HTTP_REFUSED_FLOOD,
	HTTP_REFUSALS,
};

/* Only ever added to (connections_open and memory_bytes go both ways).  Any thread. */
struct http_counters {
	_Atomic uint64_t connections_total;
	_Atomic uint64_t connections_open;
	_Atomic uint64_t requests[21];        /* by HTTP version: [10], [11], [20] */
	_Atomic uint64_t responses[6];        /* by class: [2] is 2xx */
	_Atomic uint64_t grpc_errors;         /* gRPC answers with a status other than OK */
	_Atomic uint64_t cancelled;           /* client went away before the answer */
	_Atomic uint64_t bytes_in, bytes_out; /* on the sockets */
	_Atomic uint64_t memory_bytes;        /* of bodies, now */
	_Atomic uint64_t tls_failures;
	_Atomic uint64_t refused[HTTP_REFUSALS];
};

/* "body_size", for a metric's label. */
const char *http_refusal_name(enum http_refusal cause);

/* Binds everything, then starts the threads.  On failure nothing runs and nothing stays bound; the
 * error names the address.  The options' arrays and texts are copied. */
int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
		      struct error *error);

/* The real port of listener i. */
int http_server_port(const struct http_server *server, size_t i);

/* Reads certificate, key and CA again, for connections from now on.  When they are bad the old ones
 * stay in use and the error says why.  Any thread. */
int http_server_reload_tls(struct http_server *server, struct error *error);

/* Has each loop give back, soon, what its heap has left over.  Any thread. */
void http_server_tidy(struct http_server *server);

const struct http_counters *http_server_counters(const struct http_server *server);

/* Stops accepting, lets requests in flight finish for up to drain_ms, then closes what is left and
 * waits until every handler has given its answer.  Frees the server.  NULL is fine.  Not from a
 * loop thread. */
struct http_server *http_server_stop(struct http_server *server, int drain_ms);

#endif
