/* api/api.h - what the routes answer from, and what is known about one request on its way.
 *
 * A request comes twice: api_admit() sees its headers, finds the route and asks who is there;
 * api_dispatch() has its body and calls the route's handler. */
#ifndef CAUSET_API_API_H
#define CAUSET_API_API_H

#include <stdatomic.h>

#include "base/pool.h"
#include "catalog/token.h"
#include "http/server.h"
#include "store/store.h"

struct alert_consumer;
struct ingest;
struct mcp_door;
struct query_jobs;
struct span_consumer;
struct route;
struct tempo_stream;

/* Which port a request came in on: the tag of its listener. */
enum service {
	SERVICE_OTLP_GRPC = 1 << 0,
	SERVICE_OTLP_HTTP = 1 << 1,
	SERVICE_ZIPKIN = 1 << 2,
	SERVICE_HTTP = 1 << 3,
	SERVICE_JAEGER_GRPC = 1 << 4,
	SERVICE_TEMPO = 1 << 5,
};
#define SERVICE_COUNT 6
#define SERVICE_ANY   ((1 << SERVICE_COUNT) - 1)

/* Everything is borrowed.  Set up before the server starts, read only afterwards. */
struct api {
	struct store *store;
	struct ingest *ingest;
	struct catalog *catalog;
	const char *data;    /* the server's folder */
	struct pool *pool;   /* does what walks through the store */
	struct share *share; /* of the processors, that questions have; may be NULL */
	struct query_jobs *queries;
	struct span_consumer *spans; /* NULL: no span metrics */
	struct mcp_door *mcp;        /* NULL: off */
	struct alert_consumer *alerts;
	bool auth; /* tokens are asked for; otherwise everybody is OWNER_LOCAL */
	int64_t started_ns;
	/* Real ones, by bit number of enum service; 0: off, or not known yet.  The first requests
	 * may come while the server notes them. */
	_Atomic int ports[SERVICE_COUNT];
	bool tls;
	/* Set when the server runs; cleared when it drains. */
	_Atomic(const struct http_counters *) counters;
	_Atomic bool ready;
};

/* What is known about a request besides: http_request.user. */
struct api_request {
	struct api *api;
	const struct route *route;
	struct slice parameter; /* what stands for {…} in the route's path, as sent */
	struct token_identity who;
	void *data;                  /* the handler's */
	struct tempo_stream *stream; /* of a method of tempopb.StreamingQuerier */
};

static inline struct api_request *api_request(struct http_request *req)
{
	return req->user;
}

/* For http_server_options; the context is the struct api. */
void api_admit(struct http_request *req, void *context);
void api_dispatch(struct http_request *req, void *context);

/* Answers a failure in the form the client reads: gRPC status, OTLP's Status in protobuf or JSON on
 * OTLP's port, otherwise {"error":{"code":…,"message":…}}. */
void api_fail(struct http_request *req, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct leash;

/* The leash of a request that is being answered, which the calling thread holds until leash_end():
 * it is stopped when the client goes or a query's time is over. */
void api_leash_begin(struct leash *l, struct http_request *req);

/* Runs `work` on a thread of the pool, on such a leash, or answers 503 when too much is waiting. */
void api_work(struct http_request *req, void (*work)(struct http_request *req, struct api *api));

/* Likewise for what may take longer than a query: it is stopped only when the client goes. */
void api_work_any_time(struct http_request *req,
		       void (*work)(struct http_request *req, struct api *api));

/* 503 for a lack of memory, or of time, or when the client has gone; 500 for the rest. */
void api_fail_errno(struct http_request *req, int error);

#endif
