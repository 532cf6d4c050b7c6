/* api/tracepoints.h - the catalogue's tracepoints.  The form is docs/format/query.md. */
#ifndef CAUSET_API_TRACEPOINTS_H
#define CAUSET_API_TRACEPOINTS_H

#include "api/api.h"
#include "catalog/tracepoint.h"
#include "wire/json_writer.h"

void tracepoints_get(struct http_request *req, struct api *api);
void tracepoints_post(struct http_request *req, struct api *api);
void tracepoint_delete(struct http_request *req, struct api *api);

/* One of them as an object. */
void tracepoint_write(struct json_writer *w, const struct tracepoint_row *row);

#endif
