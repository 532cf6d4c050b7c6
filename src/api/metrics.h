/* api/metrics.h - the server's own numbers, for Prometheus. */
#ifndef CAUSET_API_METRICS_H
#define CAUSET_API_METRICS_H

#include "api/api.h"

/* GET /metrics: OpenMetrics when the client asks for it, else Prometheus' text. */
void metrics_get(struct http_request *req, struct api *api);

/* Writes them.  `openmetrics` differs in the names of counters' families and in its last line. */
void metrics_write(struct api *api, bool openmetrics, struct buffer *out);

#endif
