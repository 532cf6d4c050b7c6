/* api/tempo_search.h - Tempo's search: traces that TraceQL, or tags of the older form, find. */
#ifndef CAUSET_API_TEMPO_SEARCH_H
#define CAUSET_API_TEMPO_SEARCH_H

#include "api/api.h"

void tempo_search(struct http_request *req, struct api *api);

/* tempopb.StreamingQuerier/Search: in admit. */
void tempo_stream_search(struct http_request *req, struct api *api);

#endif
