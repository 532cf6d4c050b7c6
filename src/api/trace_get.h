/* api/trace_get.h - GET /api/v1/traces/{id} and GET /api/v1/export: whole traces, streamed. */
#ifndef CAUSET_API_TRACE_GET_H
#define CAUSET_API_TRACE_GET_H

#include "api/api.h"

void trace_get(struct http_request *req, struct api *api);
void export_get(struct http_request *req, struct api *api);

/* A trace id as people have it at hand: 1 to 32 hex digits, or a traceparent header's value.
 * -EINVAL. */
int trace_id_read(struct slice text, struct trace_id *ret_id);

#endif
