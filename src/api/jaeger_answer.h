/* api/jaeger_answer.h - the envelope of Jaeger's HTTP API, version 1.
 *
 *   {"data":…,"total":0,"limit":0,"offset":0,"errors":null|[{"code":404,"msg":"…"}]} */
#ifndef CAUSET_API_JAEGER_ANSWER_H
#define CAUSET_API_JAEGER_ANSWER_H

#include "api/api.h"
#include "wire/json_writer.h"

#define JAEGER_ANSWER_BYTES ((size_t)512 << 20) /* of one answer with traces */

/* Begins the object; what is written next is the data. */
void jaeger_begin(struct json_writer *w);
/* Ends it. */
void jaeger_end(struct json_writer *w, size_t total);
/* Ends it up to the list of errors, which the caller fills and ends with two calls of
 * json_end_…. */
void jaeger_end_with_errors(struct json_writer *w);
void jaeger_put_error(struct json_writer *w, int code, struct slice message, struct slice trace_id);

void jaeger_reply(struct http_request *req, struct buffer *out);

/* A failure in the envelope. */
void jaeger_fail(struct http_request *req, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* -E2BIG: 413; the rest as api_fail_errno() has it. */
void jaeger_fail_errno(struct http_request *req, int error);

/* Rows of one trace, as one object; native events joined first.  -ENOMEM, -E2BIG. */
int jaeger_put_trace(struct json_writer *w, const struct event_set *set);

#endif
