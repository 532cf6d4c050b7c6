/* api/span_metrics_get.h - /metrics/spans: calls, latencies and the service graph for Prometheus.
 */
#ifndef CAUSET_API_SPAN_METRICS_GET_H
#define CAUSET_API_SPAN_METRICS_GET_H

#include "api/api.h"

void span_metrics_get(struct http_request *req, struct api *api);

#endif
