/* api/jaeger_metrics.h - the numbers behind Jaeger UI's Monitor tab. */
#ifndef CAUSET_API_JAEGER_METRICS_H
#define CAUSET_API_JAEGER_METRICS_H

#include "api/api.h"

void jaeger_metrics_latencies(struct http_request *req, struct api *api);
void jaeger_metrics_calls(struct http_request *req, struct api *api);
void jaeger_metrics_errors(struct http_request *req, struct api *api);
void jaeger_metrics_min_step(struct http_request *req, struct api *api);

#endif
