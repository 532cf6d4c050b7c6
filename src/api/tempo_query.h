/* api/tempo_query.h - what Tempo's search, tags and metrics have in common: a window of seconds, a
 * text of TraceQL, and a run of it with the limits of every query.
 *
 * Over HTTP a query has one answer, and failures are plain text; over gRPC it may tell what it has
 * found so far (api/tempo_stream.h).  Answers are the same: api/tempo_message.h. */
#ifndef CAUSET_API_TEMPO_QUERY_H
#define CAUSET_API_TEMPO_QUERY_H

#include "api/api.h"
#include "api/query_jobs.h"
#include "api/tempo_message.h"
#include "api/tempo_stream.h"
#include "exec/query.h"
#include "exec/tracepoint_names.h"

#define TEMPO_TEXT_MOST 65536 /* bytes of `q` */

/* A query being answered, on its thread. */
struct tempo_query {
	struct query_job *job;
	struct query *query;
	struct arena arena; /* diagnostics, and what the answer needs */
	struct diags diags;
	struct tracepoint_names names;
	struct tempo_stream *stream; /* NULL: over HTTP */
	struct snapshot snapshot;    /* what all runs are about, once one was begun */
	bool snapped;
};

void tempo_query_init(struct tempo_query *t, struct query_job *job);
void tempo_query_done(struct tempo_query *t);

/* Reads TraceQL, in place of what was read before.  -EINVAL: t->diags say what is wrong. */
int tempo_query_prepare(struct tempo_query *t, struct slice text);

/* What all runs are about: the store when this was first asked for.  -EOPNOTSUPP: it has no such
 * thing; -ENOMEM. */
int tempo_query_snapshot(struct tempo_query *t, const struct snapshot **ret_snapshot);

/* Runs it; the callbacks of `run` and what they need are the caller's, and the range if it is other
 * than the request's; the rest is filled in.  All runs together have the time of one query. */
int tempo_query_run(struct tempo_query *t, struct query_run *run, struct query_stats *ret_stats,
		    struct error *error);

/* Each of these is the one answer to the request. */

/* A failure, with the status that HTTP has for it. */
void tempo_query_say(struct tempo_query *t, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* 400 with the first diagnostic, or 503. */
void tempo_query_refuse(struct tempo_query *t, int r, struct slice text);
/* What a run came to that ended with r. */
void tempo_query_fail(struct tempo_query *t, int r, const struct error *error);
/* The message, as tempo_message() wrote it for this query, or 503 when there was no memory for it.
 * The buffer is emptied. */
void tempo_query_reply(struct tempo_query *t, struct buffer *out);

/* Sends a message before the last, and empties the buffer; only where there is a stream.  -ENOMEM,
 * -ECANCELED, -ETIMEDOUT. */
int tempo_query_part(struct tempo_query *t, struct buffer *out);

/* A window of seconds, or of nanoseconds as Grafana's newest sends it.  -EINVAL. */
int tempo_window(uint64_t from, uint64_t to, struct plan_range *ret_range, struct error *error);

/* Makes a query of TraceQL of it, whose text and range are there.  -EINVAL with the reason. */
int tempo_query_check(struct query_request *q, struct error *error);

/* Reads `start`, `end` and `q`, and starts run(job).  Answers itself when that cannot be. */
void tempo_query_start(struct http_request *req, struct api *api, struct query_request *q,
		       void (*run)(struct query_job *job));

/* A number among the parameters; absent or empty: as it was.  False: answered with 400. */
bool tempo_number(struct http_request *req, const char *name, uint64_t *value);

/* The text without `with(…)` behind its last stage, so that a stage can be added. */
struct slice tempo_without_hints(struct slice text);

/* How far an answer has come. */
struct tempo_progress {
	uint64_t traces;    /* looked at */
	uint64_t done, all; /* parts of the work */
};

/* SearchMetrics, under "metrics". */
void tempo_put_metrics(struct tempo_message *m, const struct tempo_progress *progress);
/* The same as MetadataMetrics: of tags and values. */
void tempo_put_metadata_metrics(struct tempo_message *m, const struct tempo_progress *progress);

#endif
