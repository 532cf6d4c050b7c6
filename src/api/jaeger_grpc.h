/* api/jaeger_grpc.h - jaeger.api_v3.QueryService. */
#ifndef CAUSET_API_JAEGER_GRPC_H
#define CAUSET_API_JAEGER_GRPC_H

#include "api/api.h"

void jaeger_grpc_services(struct http_request *req, struct api *api);
void jaeger_grpc_operations(struct http_request *req, struct api *api);
void jaeger_grpc_dependencies(struct http_request *req, struct api *api);
void jaeger_grpc_capabilities(struct http_request *req, struct api *api);

/* Streams: in admit. */
void jaeger_grpc_trace(struct http_request *req, struct api *api);
void jaeger_grpc_traces(struct http_request *req, struct api *api);
void jaeger_grpc_summaries(struct http_request *req, struct api *api);

#endif
