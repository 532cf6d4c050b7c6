/* api/params.h - what a search asks for, from the query of its URL. */
#ifndef CAUSET_API_PARAMS_H
#define CAUSET_API_PARAMS_H

#include "base/error.h"
#include "http/request.h"
#include "store/store.h"

#define PARAMS_MAX_TAGS   63 /* as store/span_match.h */
#define PARAMS_MAX_LIMIT  10000
#define PARAMS_MAX_EXPORT 1000000 /* traces of one export: it is streamed */
#define PARAMS_MAX_PARTS  4096

/* A search, read. */
struct params {
	struct store_query query; /* texts and tags lie in the request's arena */
	bool filtered;            /* anything but limit, cursor and format was asked */
	struct slice format;      /* empty: not said */
	uint64_t offset;          /* rows of one trace to leave out */
};

/* Reads service, operation, tag, minDuration, maxDuration, start, end, errors, order, limit,
 * cursor, format and partition.  -EINVAL with a sentence naming the parameter and what would be
 * right; unknown names are refused, too, with the nearest known one.  -ENOMEM. */
int params_parse(struct http_request *req, int64_t now_ns, struct params *ret_params,
		 struct error *error);

/* The same for an export, whose limit is another. */
int params_parse_export(struct http_request *req, int64_t now_ns, struct params *ret_params,
			struct error *error);

/* The cursor that goes on behind this row, for "next". */
#define CURSOR_TEXT_BYTES 80
void cursor_format(const struct trace_summary *row, char out[CURSOR_TEXT_BYTES]);

#endif
