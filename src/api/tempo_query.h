/* api/tempo_query.h - what Tempo's search, tags and metrics have in common: a window of seconds, a
 * text of TraceQL, and a run of it with the limits of every query.
 *
 * Tempo's failures are plain text. */
#ifndef CAUSET_API_TEMPO_QUERY_H
#define CAUSET_API_TEMPO_QUERY_H

#include "api/api.h"
#include "api/query_jobs.h"
#include "exec/query.h"
#include "exec/tracepoint_names.h"
#include "wire/json_writer.h"

#define TEMPO_TEXT_MOST 65536 /* bytes of `q` */

/* A query being answered, on its thread. */
struct tempo_query {
	struct query_job *job;
	struct query *query;
	struct arena arena; /* diagnostics, and what the answer needs */
	struct diags diags;
	struct tracepoint_names names;
};

void tempo_query_init(struct tempo_query *t, struct query_job *job);
void tempo_query_done(struct tempo_query *t);

/* Reads TraceQL, in place of what was read before.  -EINVAL: t->diags say what is wrong. */
int tempo_query_prepare(struct tempo_query *t, struct slice text);

/* Runs it; the callbacks of `run` and what they need are the caller's, the rest is filled in. */
int tempo_query_run(struct tempo_query *t, struct query_run *run, struct query_stats *ret_stats,
		    struct error *error);

/* Answers 400 with the first diagnostic, or 503. */
void tempo_query_refuse(struct tempo_query *t, int r, struct slice text);
/* Answers what a run came to that ended with r. */
void tempo_query_fail(struct tempo_query *t, int r, const struct error *error);
/* Sends the JSON, or 503 when there was no memory for it. */
void tempo_query_reply(struct tempo_query *t, struct buffer *out);

/* Reads `start`, `end` (seconds, or nanoseconds as Grafana's newest sends) and `q`, and starts
 * run(job).  Answers itself when that cannot be. */
void tempo_query_start(struct http_request *req, struct api *api, struct query_request *q,
		       void (*run)(struct query_job *job));

/* A number among the parameters; absent or empty: as it was.  False: answered with 400. */
bool tempo_number(struct http_request *req, const char *name, uint64_t *value);

/* The text without `with(…)` behind its last stage, so that a stage can be added. */
struct slice tempo_without_hints(struct slice text);

/* A value as OTLP's AnyValue in protobuf's JSON. */
void tempo_put_any(struct json_writer *w, struct value v, struct arena *arena);

/* {"inspectedTraces":…}, as far as causet has such figures, under "metrics". */
void tempo_put_metrics(struct json_writer *w, const struct query_stats *stats);

#endif
