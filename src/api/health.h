/* api/health.h - is the server up, and is it ready for work? */
#ifndef CAUSET_API_HEALTH_H
#define CAUSET_API_HEALTH_H

#include "api/api.h"

void health_live(struct http_request *req, struct api *api);
void health_ready(struct http_request *req, struct api *api);

#endif
