/* api/openapi.h - the description of the query API that the server hands out. */
#ifndef CAUSET_API_OPENAPI_H
#define CAUSET_API_OPENAPI_H

#include "api/api.h"

void openapi_get(struct http_request *req, struct api *api);

#endif
