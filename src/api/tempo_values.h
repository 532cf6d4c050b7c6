/* api/tempo_values.h - the values of a tag, for whoever is typing a question. */
#ifndef CAUSET_API_TEMPO_VALUES_H
#define CAUSET_API_TEMPO_VALUES_H

#include "api/api.h"

/* /api/search/tag/{tag}/values and /api/v2/search/tag/{tag}/values. */
void tempo_values_v1(struct http_request *req, struct api *api);
void tempo_values_v2(struct http_request *req, struct api *api);

/* tempopb.StreamingQuerier/SearchTagValues and SearchTagValuesV2: in admit. */
void tempo_stream_values_v1(struct http_request *req, struct api *api);
void tempo_stream_values_v2(struct http_request *req, struct api *api);

#endif
