/* api/zipkin_lists.h - the small lists Zipkin's UI and Grafana ask for. */
#ifndef CAUSET_API_ZIPKIN_LISTS_H
#define CAUSET_API_ZIPKIN_LISTS_H

#include "api/api.h"

void zipkin_services(struct http_request *req, struct api *api);
void zipkin_span_names(struct http_request *req, struct api *api);
void zipkin_remote_services(struct http_request *req, struct api *api);
void zipkin_dependencies(struct http_request *req, struct api *api);
void zipkin_autocomplete_keys(struct http_request *req, struct api *api);
void zipkin_autocomplete_values(struct http_request *req, struct api *api);
void zipkin_config(struct http_request *req, struct api *api);
void zipkin_info(struct http_request *req, struct api *api);
void zipkin_health(struct http_request *req, struct api *api);

#endif
