/* api/zipkin_question.c - what Zipkin's /api/v2/traces asks for, and which traces answer. */
#include "api/zipkin_question.h"

#include <errno.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "wire/zipkin.h"

#define US_PER_MS 1000

/* A trace may have begun before its root says so (clocks differ): the store is asked for so much
 * more. */
#define SLACK_US (600 * (uint64_t)1000000)

static int number_get(struct http_request *req, const char *name, uint64_t *ret_value,
		      struct error *error)
{
	struct slice text;
	int r = http_query_get(req, name, &text);

	if (r < 0)
		return r == -EINVAL ? error_set(error, r, "%s is not percent-encoded", name) : r;
	if (r == 0 || text.n == 0)
		return 0;
	if (slice_parse_u64(text, ret_value) < 0)
		return error_set(error, -EINVAL, "%s: '%.*s' is not a number above 0", name,
				 SLICE_ARG(slice_first(text, 60)));
	return 1;
}

static int text_get(struct http_request *req, const char *name, struct slice *ret_text,
		    struct error *error)
{
	struct slice text;
	int r = http_query_get(req, name, &text);

	if (r == -EINVAL)
		return error_set(error, r, "%s is not percent-encoded", name);
	if (r > 0)
		*ret_text = text;
	return r < 0 ? r : 0;
}

int zipkin_window_parse(struct http_request *req, int64_t now_ns, bool required,
			uint64_t *ret_from_us, uint64_t *ret_to_us, struct error *error)
{
	uint64_t end_ms = (uint64_t)(now_ns / NS_PER_MS), lookback_ms = ZIPKIN_LOOKBACK_MS;
	int r = number_get(req, "endTs", &end_ms, error);

	if (r == 0 && required)
		return error_set(error, -EINVAL,
				 "endTs is missing: milliseconds since 1970 up to which");
	if (r >= 0)
		r = number_get(req, "lookback", &lookback_ms, error);
	if (r < 0)
		return r;
	if (end_ms == 0 || lookback_ms == 0)
		return error_set(error, -EINVAL, "%s <= 0", end_ms ? "lookback" : "endTs");
	end_ms = MIN(end_ms, (uint64_t)(INT64_MAX / NS_PER_MS - 1));
	*ret_to_us = end_ms * US_PER_MS;
	*ret_from_us = (end_ms - MIN(lookback_ms, end_ms)) * US_PER_MS;
	return 0;
}

/* The text up to the next " and ", which `rest` is moved behind. */
static struct slice cut_and(struct slice *rest)
{
	const struct slice word = SLICE(" and ");
	const char *at = rest->n ? memmem(rest->p, rest->n, word.p, word.n) : NULL;
	struct slice part = *rest;

	if (!at) {
		*rest = slice_of(NULL, 0);
		return part;
	}
	part.n = (size_t)(at - rest->p);
	*rest = slice_from(*rest, part.n + word.n);
	return part;
}

/* "http.path=/ and error": tags with a value; a tag's key or an annotation.  A key is asked for
 * once, the last value counts and a word never replaces one. */
static int wanted_parse(struct zipkin_question *q, struct slice text, struct error *error)
{
	while (text.p && text.n > 0) {
		struct slice value = cut_and(&text), key = slice_cut(&value, '=');
		size_t i = 0;

		if (key.n == 0)
			continue;
		while (i < q->wanted_n && !slice_eq(q->wanted[i].key, key))
			i++;
		if (i == ZIPKIN_ANNOTATIONS)
			return error_set(error, -EINVAL, "annotationQuery: more than %d parts",
					 ZIPKIN_ANNOTATIONS);
		if (i < q->wanted_n && value.n == 0)
			continue;
		q->wanted[i] = (struct zipkin_wanted){key, value};
		q->wanted_n += i == q->wanted_n;
	}
	return 0;
}

static int limits_parse(struct http_request *req, struct zipkin_question *q, struct error *error)
{
	uint64_t limit = ZIPKIN_LIMIT;
	int r, min, max;

	if ((r = number_get(req, "limit", &limit, error)) < 0)
		return r;
	if (limit == 0 || limit > INT32_MAX)
		return error_set(error, -EINVAL,
				 limit ? "limit: more than there can be" : "limit <= 0");
	q->limit = (size_t)MIN(limit, (uint64_t)ZIPKIN_LIMIT_MOST);
	if ((min = number_get(req, "minDuration", &q->min_us, error)) < 0)
		return min;
	if ((max = number_get(req, "maxDuration", &q->max_us, error)) < 0)
		return max;
	if ((min && q->min_us == 0) || (max && q->max_us == 0))
		return error_set(error, -EINVAL, "%s <= 0",
				 min && q->min_us == 0 ? "minDuration" : "maxDuration");
	if (max && !min)
		return error_set(error, -EINVAL, "maxDuration is only valid with minDuration");
	if (max && q->max_us < q->min_us)
		return error_set(error, -EINVAL, "maxDuration < minDuration");
	return 0;
}

int zipkin_question_parse(struct http_request *req, int64_t now_ns,
			  struct zipkin_question *ret_question, struct error *error)
{
	struct zipkin_question q = {0};
	struct slice annotations = {0};
	int r;

	if ((r = text_get(req, "serviceName", &q.service, error)) < 0 ||
	    (r = text_get(req, "remoteServiceName", &q.remote, error)) < 0 ||
	    (r = text_get(req, "spanName", &q.name, error)) < 0 ||
	    (r = text_get(req, "annotationQuery", &annotations, error)) < 0 ||
	    (r = wanted_parse(&q, annotations, error)) < 0 ||
	    (r = limits_parse(req, &q, error)) < 0 ||
	    (r = zipkin_window_parse(req, now_ns, false, &q.from_us, &q.to_us, error)) < 0)
		return r;
	if (slice_eq(q.name, SLICE("all"))) /* what Zipkin's first UI said for none */
		q.name = slice_of(NULL, 0);
	*ret_question = q;
	return 0;
}

/* --- names in another case --- */

/* The first name that is the asked one but for case, the same one if it is among them. */
static struct slice spelling_find(const struct slice *names, size_t n, struct slice asked)
{
	struct slice found = {0};

	for (size_t i = 0; i < n; i++) {
		if (slice_eq(names[i], asked))
			return names[i];
		if (found.n == 0 && slice_eq_nocase(names[i], asked))
			found = names[i];
	}
	return found;
}

const struct service_summary *zipkin_service(const struct service_list *list, struct slice asked)
{
	const struct service_summary *found = NULL;

	for (size_t i = 0; i < list->n && asked.n > 0; i++) {
		if (slice_eq(list->rows[i].name, asked))
			return &list->rows[i];
		if (!found && slice_eq_nocase(list->rows[i].name, asked))
			found = &list->rows[i];
	}
	return found;
}

/* 1 when it is spelled otherwise, which is put in its place. */
static int respell(struct slice *name, struct slice found, struct arena *arena)
{
	if (found.n == 0 || slice_eq(*name, found))
		return 0;
	found = arena_dup(arena, found);
	if (!found.p)
		return -ENOMEM;
	*name = found;
	return 1;
}

static struct slice operation_find(const struct service_list *list,
				   const struct service_summary *service, struct slice asked)
{
	struct slice found = {0};

	if (service)
		return spelling_find(service->operations, service->operation_n, asked);
	for (size_t i = 0; i < list->n && !slice_eq(found, asked); i++) {
		struct slice here =
			spelling_find(list->rows[i].operations, list->rows[i].operation_n, asked);

		if (found.n == 0 || slice_eq(here, asked))
			found = here;
	}
	return found;
}

int zipkin_question_respell(struct zipkin_question *q, struct store *store, struct arena *arena)
{
	const struct service_summary *service;
	struct service_list list;
	int changed = 0, r = 0;

	if (q->service.n == 0 && q->name.n == 0)
		return 0;
	r = store_services(store, &list);
	if (r < 0)
		return r;
	service = zipkin_service(&list, q->service);
	if (service)
		r = changed = respell(&q->service, service->name, arena);
	if (r >= 0 && q->name.n > 0 && (service || q->service.n == 0))
		r = respell(&q->name, operation_find(&list, service, q->name), arena);
	service_list_done(&list);
	return r < 0 ? r : r | changed;
}

/* --- which traces --- */

/* Tags that spans born elsewhere have in Zipkin's eyes only. */
static bool is_made(struct slice key)
{
	return slice_eq(key, SLICE("error")) || slice_eq(key, SLICE("w3c.tracestate")) ||
	       slice_starts(key, SLICE("otel.")) || slice_starts(key, SLICE("otlp."));
}

static int64_t clamp_ns(uint64_t us)
{
	return us > INT64_MAX / NS_PER_US ? INT64_MAX : (int64_t)us * NS_PER_US;
}

struct store_query zipkin_question_query(struct zipkin_question *q)
{
	struct store_query query = {
		.service = q->service,
		/* What takes less than a microsecond counts as one. */
		.min_duration_ns = q->min_us == 1 ? 1 : clamp_ns(q->min_us),
		.from_ns = clamp_ns(q->from_us - MIN(q->from_us, SLACK_US)),
		.to_ns = clamp_ns(q->to_us + 1),
	};

	/* The store wants everything on one span, Zipkin does not: so one thing is asked for. */
	for (size_t i = 0; i < q->wanted_n && query.tag_n == 0; i++) {
		/* Lists and objects are tags of JSON; the store compares scalars alone. */
		if (q->wanted[i].value.n == 0 || is_made(q->wanted[i].key) ||
		    q->wanted[i].value.p[0] == '[' || q->wanted[i].value.p[0] == '{')
			continue;
		q->pushed = (struct store_tag){q->wanted[i].key, q->wanted[i].value};
		query.tags = &q->pushed;
		query.tag_n = 1;
	}
	if (query.tag_n == 0)
		query.operation = q->name;
	if (query.tag_n == 0 && query.operation.n == 0) {
		query.span_min_ns = query.min_duration_ns;
		query.span_max_ns = q->max_us ? clamp_ns(q->max_us + 1) : 0;
	}
	return query;
}

/* What is still to be found. */
struct seeking {
	const struct zipkin_question *q;
	uint32_t missing; /* bits of q->wanted */
	bool service, remote, name, duration;
};

_Static_assert(ZIPKIN_ANNOTATIONS <= 32, "a bit each");

static void seek_wanted(struct seeking *s, const struct zipkin_span *span)
{
	for (size_t i = 0; i < s->q->wanted_n; i++) {
		const struct zipkin_wanted *w = &s->q->wanted[i];

		if (!(s->missing & 1U << i))
			continue;
		for (size_t k = 0; k < span->tag_n; k++)
			if (slice_eq(span->tags[k].key, w->key) &&
			    (w->value.n == 0 || slice_eq(span->tags[k].value, w->value)))
				s->missing &= ~(1U << i);
		for (size_t k = 0; w->value.n == 0 && k < span->annotation_n; k++)
			if (slice_eq(span->annotations[k].value, w->key))
				s->missing &= ~(1U << i);
	}
}

static void seek(struct seeking *s, const struct zipkin_span *span)
{
	const struct zipkin_question *q = s->q;

	if (q->service.n && !slice_eq(q->service, span->local.service))
		return;
	s->service = true;
	s->remote |= q->remote.n == 0 || slice_eq_nocase(q->remote, span->remote.service);
	s->name |= q->name.n == 0 || slice_eq(q->name, span->name);
	s->duration |= span->duration_us >= q->min_us &&
		       (q->max_us == 0 || span->duration_us <= q->max_us);
	seek_wanted(s, span);
}

/* When a trace begins: its root, else its first span. */
struct begin {
	uint64_t us;
	bool root;
};

static void begin_see(struct begin *b, const struct zipkin_span *span)
{
	if (span->timestamp_us == 0 || b->root)
		return;
	b->root = span->parent == 0;
	if (b->root || b->us == 0 || span->timestamp_us < b->us)
		b->us = span->timestamp_us;
}

bool zipkin_question_fits(const struct zipkin_question *q, const struct event_ref *refs, size_t n)
{
	struct seeking s = {.q = q,
			    .missing = q->wanted_n == 32 ? UINT32_MAX : (1U << q->wanted_n) - 1};
	struct zipkin_span span = {0};
	struct begin begin = {0};
	bool is_span;

	for (size_t i = 0; i < n;) {
		i += zipkin_span_from(refs + i, n - i, &span, &is_span);
		if (!is_span)
			continue;
		begin_see(&begin, &span);
		seek(&s, &span);
	}
	zipkin_span_done(&span);
	return begin.us != 0 && begin.us >= q->from_us && begin.us <= q->to_us && s.service &&
	       s.remote && s.name && s.duration && s.missing == 0;
}
