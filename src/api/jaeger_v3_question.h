/* api/jaeger_v3_question.h - a search through Jaeger's version 3, however it is written down.
 *
 *   in a URL    query.serviceName or query.service_name, …  with times that nobody has escaped
 *   in JSON     {"query":{"serviceName":…}}, posted
 *   in protobuf TraceQueryParameters, over gRPC */
#ifndef CAUSET_API_JAEGER_V3_QUESTION_H
#define CAUSET_API_JAEGER_V3_QUESTION_H

#include "api/jaeger_question.h"

/* All: -EINVAL with the reason, -ENOMEM.  Texts lie in the request's arena, or in its body. */
int jaeger_v3_from_url(struct http_request *req, struct jaeger_question *ret_question,
		       struct error *error);
int jaeger_v3_from_json(struct http_request *req, struct jaeger_question *ret_question,
			struct error *error);
/* A FindTracesRequest or FindTraceSummariesRequest. */
int jaeger_v3_from_proto(struct slice message, struct jaeger_question *ret_question,
			 struct error *error);

/* RFC 3339, or a number; a '+' that a URL has turned into a blank is one again.  -EINVAL. */
int jaeger_v3_moment(struct slice text, int64_t *ret_ns);

/* google.protobuf.Timestamp or Duration { int64 seconds = 1; int32 nanos = 2; }, in nanoseconds
 * and within an int64_t.  -EBADMSG. */
int jaeger_v3_proto_time(struct slice message, int64_t *ret_ns);

#endif
