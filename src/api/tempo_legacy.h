/* api/tempo_legacy.h - the older form of Tempo's search as TraceQL: tags in logfmt, and bounds of
 * the trace's duration. */
#ifndef CAUSET_API_TEMPO_LEGACY_H
#define CAUSET_API_TEMPO_LEGACY_H

#include "api/api.h"

/* Reads tags, minDuration and maxDuration; the text lies in the request's arena.  False: it has
 * been answered that they are wrong. */
bool tempo_legacy_read(struct http_request *req, struct slice *ret_text);

#endif
