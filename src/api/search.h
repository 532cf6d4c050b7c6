/* api/search.h - GET /api/v1/services and GET /api/v1/traces. */
#ifndef CAUSET_API_SEARCH_H
#define CAUSET_API_SEARCH_H

#include "api/api.h"
#include "wire/json_writer.h"

void services_get(struct http_request *req, struct api *api);
void traces_get(struct http_request *req, struct api *api);

/* One row of either answer, as the API and the command line give it. */
void service_summary_write(const struct service_summary *row, struct json_writer *w);
void trace_summary_write(const struct trace_summary *row, struct json_writer *w);

#endif
