/* api/alerts.h - standing rules and their alerts.  The form is docs/format/api.md. */
#ifndef CAUSET_API_ALERTS_H
#define CAUSET_API_ALERTS_H

#include "api/api.h"

void alerts_get(struct http_request *req, struct api *api);
void alerts_post(struct http_request *req, struct api *api);
void alert_delete(struct http_request *req, struct api *api);
void alert_test(struct http_request *req, struct api *api);

#endif
