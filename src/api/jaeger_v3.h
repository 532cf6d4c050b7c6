/* api/jaeger_v3.h - Jaeger's HTTP API, version 3: OTLP's spans, and summaries of traces. */
#ifndef CAUSET_API_JAEGER_V3_H
#define CAUSET_API_JAEGER_V3_H

#include "api/api.h"

void jaeger_v3_services(struct http_request *req, struct api *api);
void jaeger_v3_operations(struct http_request *req, struct api *api);
void jaeger_v3_traces(struct http_request *req, struct api *api);
void jaeger_v3_trace(struct http_request *req, struct api *api);
void jaeger_v3_summaries(struct http_request *req, struct api *api);
void jaeger_v3_dependencies(struct http_request *req, struct api *api);
void jaeger_v3_capabilities(struct http_request *req, struct api *api);

#endif
