/* api/query_post.h - questions in the query language.  The form is docs/format/query.md. */
#ifndef CAUSET_API_QUERY_POST_H
#define CAUSET_API_QUERY_POST_H

#include "api/api.h"

void query_post(struct http_request *req, struct api *api);   /* asks, pages, explains */
void query_delete(struct http_request *req, struct api *api); /* cancels */
void queries_get(struct http_request *req, struct api *api);  /* what runs */

#endif
