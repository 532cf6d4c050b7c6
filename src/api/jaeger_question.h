/* api/jaeger_question.h - what a search through one of Jaeger's APIs asks for, and which traces
 * answer: those with one span that has all of it. */
#ifndef CAUSET_API_JAEGER_QUESTION_H
#define CAUSET_API_JAEGER_QUESTION_H

#include "api/trace_pick.h"
#include "base/error.h"

#define JAEGER_LIMIT      100 /* traces, when not said */
#define JAEGER_LIMIT_MOST 10000
#define JAEGER_TAGS_MOST  32
#define JAEGER_TEXT_MOST  4096 /* bytes of one tag's key or value */

/* Without a start, so far back. */
#define JAEGER_LOOKBACK_NS (2 * 86400 * (int64_t)1000000000)

/* Texts are borrowed, as a rule from the request's arena. */
struct jaeger_question {
	struct slice service, operation; /* empty: any */
	struct store_tag tags[JAEGER_TAGS_MOST];
	size_t tag_n;
	int64_t min_ns, max_ns; /* of the span; 0: no bound */
	int64_t from_ns, to_ns; /* the span begins in [from, to] */
	size_t limit;

	/* For the store: jaeger_question_pick(). */
	struct store_tag pushed[JAEGER_TAGS_MOST];
};

/* {"key":"value",…} into the question's tags; texts are copied into the arena.  -EINVAL with the
 * reason, -ENOMEM. */
int jaeger_tags_parse(struct jaeger_question *q, struct slice json, struct arena *arena,
		      struct error *error);
/* One more.  -EINVAL when there are too many. */
int jaeger_tag_add(struct jaeger_question *q, struct slice key, struct slice value,
		   struct error *error);

/* What one field cannot say.  -EINVAL with the reason. */
int jaeger_question_check(const struct jaeger_question *q, struct error *error);

/* Fills in what the store is asked, the limit, and `fits`, whose context is the question unless the
 * caller replaces both. */
void jaeger_question_pick(struct jaeger_question *q, struct trace_pick *pick);

bool jaeger_question_fits(const struct jaeger_question *q, const struct event_ref *refs, size_t n);

/* A trace id as Jaeger's clients write it: 1 to 32 hex digits, or 8 or 16 bytes in base64.
 * -EINVAL. */
int jaeger_trace_id_parse(struct slice text, struct trace_id *ret_id);

/* Is it true or false, as Go writes them? */
bool jaeger_is_flag(struct slice text);

/* "server", … for a kind; "" where none was said. */
const char *jaeger_kind_name(int32_t kind);
/* The same the other way, in any case, with or without "SPAN_KIND_" in front; -EINVAL. */
int jaeger_kind_parse(struct slice text, int32_t *ret_kind);

#endif
