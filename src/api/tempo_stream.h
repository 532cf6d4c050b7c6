/* api/tempo_stream.h - a method of tempopb.StreamingQuerier: asked once, answered with messages
 * that a query makes on its own thread while it runs, the last of them final.
 *
 * The thread waits while the client is slower than the query; when the client goes, the query is
 * cancelled. */
#ifndef CAUSET_API_TEMPO_STREAM_H
#define CAUSET_API_TEMPO_STREAM_H

#include "api/api.h"
#include "api/query_jobs.h"
#include "http/grpc.h"

struct tempo_stream;

struct tempo_method {
	/* Reads the question, which lies in the request's arena like what is made of it: the query,
	 * and api_request.data for `run`.  On the loop.  -EINVAL with the reason, -ENOMEM. */
	int (*read)(struct http_request *req, struct slice question, struct query_request *query,
		    bool second, struct error *error);
	/* Answers with tempo_stream_send() and, once, tempo_stream_end(): api/tempo_query.h. */
	void (*run)(struct query_job *job);
	bool second; /* of two methods that read alike: the second version, or one number */
};

/* In admit. */
void tempo_stream_open(struct http_request *req, struct api *api,
		       const struct tempo_method *method);

/* The stream of a job that one of these methods started; NULL for others. */
struct tempo_stream *tempo_stream_of(struct query_job *job);

/* Sends a message, waiting until there is room for it.  -ECANCELED: the client has gone;
 * -ETIMEDOUT: it reads so slowly that the query's time is over; -ENOMEM. The job's thread. */
int tempo_stream_send(struct tempo_stream *s, struct slice message);

/* The end; neither the stream nor the request is the job's any more. */
void tempo_stream_end(struct tempo_stream *s, enum grpc_status status, const char *message);

#endif
