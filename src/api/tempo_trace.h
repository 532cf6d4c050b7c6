/* api/tempo_trace.h - what of Tempo's API needs no language: is it there, and traces by id. */
#ifndef CAUSET_API_TEMPO_TRACE_H
#define CAUSET_API_TEMPO_TRACE_H

#include "api/api.h"

void tempo_echo(struct http_request *req, struct api *api);
void tempo_buildinfo(struct http_request *req, struct api *api);
/* /api/traces/{id} and /api/v2/traces/{id}, in protobuf where the client asks for it. */
void tempo_trace_v1(struct http_request *req, struct api *api);
void tempo_trace_v2(struct http_request *req, struct api *api);

#endif
