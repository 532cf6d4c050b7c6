/* api/receive.h - what programs post: the routes into ingest. */
#ifndef CAUSET_API_RECEIVE_H
#define CAUSET_API_RECEIVE_H

#include "api/api.h"

void receive_traces(struct http_request *req, struct api *api);
void receive_logs(struct http_request *req, struct api *api);
void receive_metrics(struct http_request *req, struct api *api);
void receive_events(struct http_request *req, struct api *api);
void receive_zipkin(struct http_request *req, struct api *api);

#endif
