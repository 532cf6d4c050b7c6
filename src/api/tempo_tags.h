/* api/tempo_tags.h - which tags there are, for whoever is typing a question. */
#ifndef CAUSET_API_TEMPO_TAGS_H
#define CAUSET_API_TEMPO_TAGS_H

#include "api/api.h"

/* /api/search/tags and /api/v2/search/tags. */
void tempo_tags_v1(struct http_request *req, struct api *api);
void tempo_tags_v2(struct http_request *req, struct api *api);

/* tempopb.StreamingQuerier/SearchTags and SearchTagsV2: in admit. */
void tempo_stream_tags_v1(struct http_request *req, struct api *api);
void tempo_stream_tags_v2(struct http_request *req, struct api *api);

#endif
