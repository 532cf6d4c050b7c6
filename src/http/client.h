/* http/client.h - a small blocking HTTP client on libcurl, for the command line. */
#ifndef CAUSET_HTTP_CLIENT_H
#define CAUSET_HTTP_CLIENT_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/error.h"
#include "core/slice.h"

struct http_client;

struct http_client_options {
	const char *ca;          /* file of trusted certificates, or NULL for the system's */
	const char *certificate; /* client certificate and key for mutual TLS, or NULL */
	const char *key;
	int connect_ms; /* 0: 10 s */
	int stall_ms;   /* no byte either way for so long; 0: 60 s */
};

struct http_call {
	const char *method; /* "GET", "POST"; NULL: GET */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated, or NULL */
	struct slice body;          /* sent when `read` is NULL; borrowed for the call */
	/* Gives the next piece of the body (chunked upload): bytes put, 0 at the end, negative
	 * errno to give up. */
	int64_t (*read)(void *context, char *out, size_t room);
	/* Takes the next piece of a 2xx answer; negative errno to give up.  NULL: collected in
	 * http_answer.body (up to max_body). */
	int (*write)(void *context, struct slice piece);
	const _Atomic bool *cancel; /* looked at about once a second; may be NULL */
	void *context;
	size_t max_body; /* 0: 1 GiB; also the limit for the body of a failure (then 64 KiB) */
	int timeout_ms;  /* for the whole call; 0: none */
};

struct http_answer {
	int status;
	struct buffer body;    /* whole, or of a failure; empty when `write` took it */
	char content_type[96]; /* "" when there was none; cut */
	int retry_after_s;     /* Retry-After in seconds; 0 when there was none */
};

/* One thread; keeps connections alive between calls. */
int http_client_new(const struct http_client_options *options, struct http_client **ret_client,
		    struct error *error);
struct http_client *http_client_free(struct http_client *client);

/* 0 when an answer came, whatever its status (the caller frees it with http_answer_done()).
 * Otherwise a negative errno (-ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -EPROTO, what a callback
 * returned) with a sentence that names the URL. */
int http_client_call(struct http_client *client, const struct http_call *call,
		     struct http_answer *ret_answer, struct error *error);

void http_answer_done(struct http_answer *answer);

#endif
