/* api/jaeger_lists.h - services, operations and dependencies for Jaeger's UI and Grafana. */
#ifndef CAUSET_API_JAEGER_LISTS_H
#define CAUSET_API_JAEGER_LISTS_H

#include "api/api.h"

void jaeger_services(struct http_request *req, struct api *api);
void jaeger_service_operations(struct http_request *req, struct api *api);
void jaeger_operations(struct http_request *req, struct api *api);
void jaeger_dependencies(struct http_request *req, struct api *api);

#endif
