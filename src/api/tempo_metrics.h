/* api/tempo_metrics.h - Tempo's metrics: TraceQL's series, over a range and as one number each. */
#ifndef CAUSET_API_TEMPO_METRICS_H
#define CAUSET_API_TEMPO_METRICS_H

#include "api/api.h"

/* /api/metrics/query_range and /api/metrics/query. */
void tempo_query_range(struct http_request *req, struct api *api);
void tempo_query_instant(struct http_request *req, struct api *api);

/* tempopb.StreamingQuerier/MetricsQueryRange and MetricsQueryInstant: in admit. */
void tempo_stream_query_range(struct http_request *req, struct api *api);
void tempo_stream_query_instant(struct http_request *req, struct api *api);

#endif
