/* api/jaeger_traces.h - traces for Jaeger's UI and Grafana: /api/traces, by question or by id. */
#ifndef CAUSET_API_JAEGER_TRACES_H
#define CAUSET_API_JAEGER_TRACES_H

#include "api/api.h"

void jaeger_traces(struct http_request *req, struct api *api);
void jaeger_trace(struct http_request *req, struct api *api);
/* Spans in OTLP's JSON become Jaeger's: what the UI does with a file that is dropped on it. */
void jaeger_transform(struct http_request *req, struct api *api);

/* POST /api/archive/{id}: says that there is no archive. */
void jaeger_archive(struct http_request *req, struct api *api);

#endif
