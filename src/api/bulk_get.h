/* api/bulk_get.h - /api/v1/bulk: every modelled trace of a window, for programs that want them all.
 */
#ifndef CAUSET_API_BULK_GET_H
#define CAUSET_API_BULK_GET_H

#include "api/api.h"

void bulk_get(struct http_request *req, struct api *api);

#endif
