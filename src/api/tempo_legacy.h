/* api/tempo_legacy.h - the older form of Tempo's search as TraceQL: tags in logfmt, and bounds of
 * the trace's duration. */
#ifndef CAUSET_API_TEMPO_LEGACY_H
#define CAUSET_API_TEMPO_LEGACY_H

#include "api/api.h"
#include "base/error.h"

/* Reads tags, minDuration and maxDuration; the text lies in the request's arena.  False: it has
 * been answered that they are wrong. */
bool tempo_legacy_read(struct http_request *req, struct slice *ret_text);

/* The same where it did not come as parameters. */
#define TEMPO_LEGACY_TAGS 64

struct tempo_legacy {
	struct slice tags[TEMPO_LEGACY_TAGS]; /* entries of a map in protobuf: key = 1, value = 2 */
	size_t n;
	uint64_t min_ms, max_ms; /* of the trace; 0: no bound */
};

/* -EINVAL with the reason, -ENOMEM. */
int tempo_legacy_text(const struct tempo_legacy *legacy, struct arena *arena,
		      struct slice *ret_text, struct error *error);

#endif
