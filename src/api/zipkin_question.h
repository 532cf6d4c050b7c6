/* api/zipkin_question.h - what Zipkin's /api/v2/traces asks for, and which traces answer. */
#ifndef CAUSET_API_ZIPKIN_QUESTION_H
#define CAUSET_API_ZIPKIN_QUESTION_H

#include "api/trace_pick.h"
#include "base/error.h"
#include "http/request.h"

#define ZIPKIN_LIMIT          10 /* traces, when not said */
#define ZIPKIN_LIMIT_MOST     10000
#define ZIPKIN_LOOKBACK_MS    86400000 /* when not said: a day */
#define ZIPKIN_ANNOTATIONS    32       /* parts of one annotationQuery */
#define ZIPKIN_TRACE_IDS_MOST 1000     /* of one traceMany */

struct zipkin_question {
	struct slice service, remote, name; /* empty: any */
	struct zipkin_wanted {
		struct slice key;
		struct slice value; /* empty: a tag with this key, or this annotation */
	} wanted[ZIPKIN_ANNOTATIONS];
	size_t wanted_n;
	uint64_t min_us, max_us; /* 0: no bound */
	uint64_t from_us, to_us; /* when the trace's root begins */
	size_t limit;
	struct store_tag pushed; /* what of it the store is asked for */
};

/* Reads the query of the request; texts lie in its arena.  -EINVAL with the reason, -ENOMEM. */
int zipkin_question_parse(struct http_request *req, int64_t now_ns,
			  struct zipkin_question *ret_question, struct error *error);

/* endTs and lookback alone (milliseconds, as the window [from, to] in microseconds). */
int zipkin_window_parse(struct http_request *req, int64_t now_ns, bool required,
			uint64_t *ret_from_us, uint64_t *ret_to_us, struct error *error);

/* Zipkin knows names in lower case alone, here they are kept as they came: the service of this
 * name, else the first whose name is the same but for the case of ASCII letters, or NULL. */
const struct service_summary *zipkin_service(const struct service_list *list, struct slice asked);

/* For a question that has found nothing: 1 and the service and name as they are spelled in the
 * store, in the arena; 0 when they are, or are not known at all; negative errno. */
int zipkin_question_respell(struct zipkin_question *q, struct store *store, struct arena *arena);

/* What the store may rule out; borrows from the question. */
struct store_query zipkin_question_query(struct zipkin_question *q);

/* Zipkin's own rules: each thing that is wanted stands on some span of the service. */
bool zipkin_question_fits(const struct zipkin_question *q, const struct event_ref *refs, size_t n);

#endif
