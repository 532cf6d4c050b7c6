/* api/zipkin_traces.h - whole traces for Zipkin's UI and Grafana. */
#ifndef CAUSET_API_ZIPKIN_TRACES_H
#define CAUSET_API_ZIPKIN_TRACES_H

#include "api/api.h"

void zipkin_traces(struct http_request *req, struct api *api);
void zipkin_trace(struct http_request *req, struct api *api);
void zipkin_trace_many(struct http_request *req, struct api *api);

#endif
