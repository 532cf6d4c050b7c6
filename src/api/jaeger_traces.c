/* api/jaeger_traces.c - traces for Jaeger's UI and Grafana: /api/traces, by question or by id. */
#include "api/jaeger_traces.h"

#include <errno.h>
#include <stdlib.h>

#include "api/jaeger_answer.h"
#include "api/jaeger_question.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "core/clock.h"
#include "wire/jaeger_json.h"
#include "wire/otlp_json.h"

#define TRACE_IDS_MOST 1000 /* of one question */

/* --- reading the question --- */

struct parser {
	struct http_request *req;
	struct jaeger_question *q;
	struct slice *ids;
	size_t id_n;
	int64_t now_ns, lookback_ns;
	bool has_start;
	struct error *error;
};

static int take_service(struct parser *p, struct slice value)
{
	p->q->service = value;
	return 0;
}

static int take_operation(struct parser *p, struct slice value)
{
	if (!slice_eq(value, SLICE("all"))) /* what older UIs say for none */
		p->q->operation = value;
	return 0;
}

static int take_tags(struct parser *p, struct slice value)
{
	return value.n ? jaeger_tags_parse(p->q, value, &p->req->arena, p->error) : 0;
}

static int take_tag(struct parser *p, struct slice value)
{
	struct slice rest = value, key = slice_cut(&rest, ':');

	if (!rest.p || key.n == 0)
		return error_set(p->error, -EINVAL,
				 "malformed 'tag' parameter, expecting key:value, received: %.*s",
				 SLICE_ARG(slice_first(value, 100)));
	return jaeger_tag_add(p->q, key, rest, p->error);
}

static int duration_of(struct parser *p, const char *name, struct slice value, int64_t *ret_ns)
{
	if (value.n == 0)
		return 0;
	if (duration_parse(value, ret_ns) < 0 || *ret_ns < 0)
		return error_set(p->error, -EINVAL,
				 "unable to parse param '%s': '%.*s' is not a duration such as "
				 "1.5s or 200ms",
				 name, SLICE_ARG(slice_first(value, 60)));
	return 0;
}

static int take_min(struct parser *p, struct slice value)
{
	return duration_of(p, "minDuration", value, &p->q->min_ns);
}

static int take_max(struct parser *p, struct slice value)
{
	return duration_of(p, "maxDuration", value, &p->q->max_ns);
}

/* Microseconds in Jaeger's own words, milliseconds in Grafana's: told apart by magnitude. */
static int moment_of(struct parser *p, const char *name, struct slice value, int64_t *ret_ns)
{
	uint64_t number;

	if (value.n == 0)
		return 0;
	if (slice_parse_u64(value, &number) < 0 || moment_parse(value, p->now_ns, ret_ns) < 0)
		return error_set(p->error, -EINVAL,
				 "unable to parse param '%s': '%.*s' is not a time in microseconds",
				 name, SLICE_ARG(slice_first(value, 60)));
	return 0;
}

static int take_start(struct parser *p, struct slice value)
{
	p->has_start = value.n > 0;
	return moment_of(p, "start", value, &p->q->from_ns);
}

static int take_end(struct parser *p, struct slice value)
{
	return moment_of(p, "end", value, &p->q->to_ns);
}

/* The UI's own note ("1h", "custom"), which it sends beside start and end. */
static int take_lookback(struct parser *p, struct slice value)
{
	int64_t ns;

	if (duration_parse(value, &ns) == 0 && ns > p->lookback_ns)
		p->lookback_ns = ns;
	return 0;
}

static int take_limit(struct parser *p, struct slice value)
{
	uint64_t n;

	if (value.n == 0)
		return 0;
	if (slice_parse_u64(value, &n) < 0 || n > JAEGER_LIMIT_MOST)
		return error_set(p->error, -EINVAL, "limit: '%.*s' is not a number from 1 to %d",
				 SLICE_ARG(slice_first(value, 60)), JAEGER_LIMIT_MOST);
	p->q->limit = n ? (size_t)n : JAEGER_LIMIT;
	return 0;
}

static int take_id(struct parser *p, struct slice value)
{
	if (p->id_n == TRACE_IDS_MOST)
		return error_set(p->error, -EINVAL, "more than %d trace ids", TRACE_IDS_MOST);
	if (!p->ids)
		p->ids = arena_zalloc(&p->req->arena, TRACE_IDS_MOST, sizeof(*p->ids));
	if (!p->ids)
		return -ENOMEM;
	p->ids[p->id_n++] = value;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct parser *p, struct slice value);
} names[] = {
	{"service", take_service},   {"operation", take_operation},
	{"tags", take_tags},         {"tag", take_tag},
	{"minDuration", take_min},   {"maxDuration", take_max},
	{"start", take_start},       {"end", take_end},
	{"lookback", take_lookback}, {"limit", take_limit},
	{"traceID", take_id},
};

/* Parameters nobody knows are passed over, as Jaeger does. */
static int parse(struct parser *p)
{
	struct slice name, value;
	size_t at = 0;
	int r;

	while ((r = http_query_next(p->req, &at, &name, &value)) == 1) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			if (!slice_eq(name, slice_cstr(names[i].name)))
				continue;
			r = names[i].take(p, value);
			if (r < 0)
				return r;
		}
	}
	if (r == -EINVAL)
		return error_set(p->error, r, "the query is not percent-encoded as it should be");
	if (r < 0 || p->id_n > 0)
		return r;
	if (p->q->service.n == 0)
		return error_set(p->error, -EINVAL, "parameter 'service' is required");
	if (p->q->to_ns == 0)
		p->q->to_ns = p->now_ns;
	if (!p->has_start)
		p->q->from_ns = MAX(p->q->to_ns - p->lookback_ns, (int64_t)0);
	return jaeger_question_check(p->q, p->error);
}

/* --- answering --- */

struct searching {
	struct jaeger_question question;
	struct json_writer w;
};

static bool search_fits(void *context, const struct event_ref *refs, size_t n)
{
	return jaeger_question_fits(&((struct searching *)context)->question, refs, n);
}

static int search_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	return jaeger_put_trace(&((struct searching *)context)->w, set);
}

static void search(struct http_request *req, struct api *api, struct searching *s,
		   struct buffer *out)
{
	struct trace_pick pick = {.store = api->store};
	struct trace_picked picked;
	int r;

	jaeger_question_pick(&s->question, &pick);
	pick.fits = search_fits;
	pick.take = search_take;
	pick.context = s;
	jaeger_begin(&s->w);
	json_begin_array(&s->w);
	r = trace_pick(&pick, &picked);
	json_end_array(&s->w);
	jaeger_end(&s->w, 0);
	if (r < 0) {
		jaeger_fail_errno(req, r);
		return;
	}
	trace_picked_tell(req, &picked);
	jaeger_reply(req, out);
}

/* Those that are there, and an error for each of the others. */
static void by_ids(struct http_request *req, struct api *api, const struct parser *p,
		   struct buffer *out)
{
	struct json_writer w = json_write(out);
	bool *missing = arena_zalloc(&req->arena, p->id_n, sizeof(*missing));
	bool some_missing = false;
	int r = missing ? 0 : -ENOMEM;

	jaeger_begin(&w);
	json_begin_array(&w);
	for (size_t i = 0; r == 0 && i < p->id_n; i++) {
		struct event_set set = {0};
		struct trace_id id;

		if (jaeger_trace_id_parse(p->ids[i], &id) < 0) {
			jaeger_fail(req, 400, "cannot parse traceID param: '%.*s' is not hex",
				    SLICE_ARG(slice_first(p->ids[i], 80)));
			return;
		}
		r = store_trace(api->store, id, &set);
		if (r == -ENOENT) {
			some_missing = missing[i] = true;
			r = 0;
		} else if (r == 0) {
			r = jaeger_put_trace(&w, &set);
		}
		event_set_done(&set);
	}
	json_end_array(&w);
	if (r < 0) {
		jaeger_fail_errno(req, r);
		return;
	}
	if (some_missing) {
		jaeger_end_with_errors(&w);
		for (size_t i = 0; i < p->id_n; i++)
			if (missing[i])
				jaeger_put_error(&w, 404, SLICE("trace not found"), p->ids[i]);
		json_end_array(&w);
		json_end_object(&w);
	} else {
		jaeger_end(&w, 0);
	}
	jaeger_reply(req, out);
}

static void traces_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct searching *s = arena_zalloc(&req->arena, 1, sizeof(*s));
	struct error error = {0};
	struct parser p = {.req = req,
			   .now_ns = clock_wall_ns(),
			   .lookback_ns = JAEGER_LOOKBACK_NS,
			   .error = &error};
	int r;

	if (!s) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*s = (struct searching){.question.limit = JAEGER_LIMIT, .w = json_write(&out)};
	p.q = &s->question;
	r = parse(&p);
	if (r == -EINVAL)
		jaeger_fail(req, 400, "%s", error.text);
	else if (r < 0)
		jaeger_fail_errno(req, r);
	else if (p.id_n > 0)
		by_ids(req, api, &p, &out);
	else
		search(req, api, s, &out);
	buffer_done(&out);
}

void jaeger_traces(struct http_request *req, struct api *api)
{
	api_work(req, traces_work);
}

/* --- one trace --- */

/* start and end are hints where a trace may lie; it is found without them. */
static bool hints_are_numbers(struct http_request *req)
{
	static const char *const hints[] = {"start", "end"};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		struct slice text;
		uint64_t number;
		int r = http_query_get(req, hints[i], &text);

		if (r == 0 || (r == 1 && (text.n == 0 || slice_parse_u64(text, &number) == 0)))
			continue;
		jaeger_fail(req, 400,
			    "unable to parse param '%s': a time in microseconds is wanted",
			    hints[i]);
		return false;
	}
	return true;
}

/* Traces are always as they came; but what is asked has to be a question. */
static bool raw_is_flag(struct http_request *req)
{
	struct slice text;
	int r = http_query_get(req, "raw", &text);

	if (r == 0 || (r == 1 && (text.n == 0 || jaeger_is_flag(text))))
		return true;
	jaeger_fail(req, 400, "unable to parse param 'raw': true or false is wanted");
	return false;
}

static void trace_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct event_set set = {0};
	struct trace_id id;
	struct slice text;
	int r = http_path_decode(req, api_request(req)->parameter, &text);

	if (r < 0 || jaeger_trace_id_parse(text, &id) < 0) {
		jaeger_fail(req, 400, "'%.*s' is not a trace id: up to 32 hex digits, or base64",
			    SLICE_ARG(slice_first(api_request(req)->parameter, 80)));
		return;
	}
	if (!hints_are_numbers(req) || !raw_is_flag(req))
		return;
	jaeger_begin(&w);
	json_begin_array(&w);
	r = store_trace(api->store, id, &set);
	if (r == 0)
		r = jaeger_put_trace(&w, &set);
	json_end_array(&w);
	jaeger_end(&w, 0);
	if (r == -ENOENT)
		jaeger_fail(req, 404, "trace not found");
	else if (r < 0)
		jaeger_fail_errno(req, r);
	else
		jaeger_reply(req, &out);
	event_set_done(&set);
	buffer_done(&out);
}

void jaeger_trace(struct http_request *req, struct api *api)
{
	api_work(req, trace_work);
}

/* --- files --- */

static int by_trace(const void *a, const void *b)
{
	const struct event_ref *x = a, *y = b;
	int c = memcmp(&event_get(*x)->trace_id, &event_get(*y)->trace_id, sizeof(struct trace_id));

	if (c)
		return c;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Rows of each trace together; points and links have their span's trace and stay behind it. */
static int put_batch(struct json_writer *w, const struct batch *b)
{
	struct event_ref *refs = calloc(b->event_n + 1, sizeof(*refs));

	if (!refs)
		return -ENOMEM;
	for (size_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, (uint32_t)i};
	if (b->event_n > 1)
		qsort(refs, b->event_n, sizeof(*refs), by_trace);
	jaeger_json_put_traces(w, refs, b->event_n);
	free(refs);
	return 0;
}

static void transform_work(struct http_request *req, struct api *api)
{
	_cleanup_(batch_unrefp)
	struct batch *batch = batch_new(req->body.n);
	struct decode_tally tally = {0};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct error error = {0};
	int r = batch ? otlp_json_decode_traces(req->body, batch, &tally, &error) : -ENOMEM;

	if (r == 0)
		r = batch_seal(batch);
	if (r == -EBADMSG) {
		jaeger_fail(req, 400, "cannot unmarshal OTLP : %s", error.text);
		return;
	}
	if (r == 0) {
		jaeger_begin(&w);
		r = put_batch(&w, batch);
		jaeger_end(&w, 0);
	}
	if (r < 0)
		jaeger_fail_errno(req, r);
	else
		jaeger_reply(req, &out);
	buffer_done(&out);
}

void jaeger_transform(struct http_request *req, struct api *api)
{
	api_work(req, transform_work);
}

/* What is kept is kept by age, size and thinning rules; capabilities say that there is none. */
void jaeger_archive(struct http_request *req, struct api *api)
{
	jaeger_fail(req, 501, "no archive storage is configured");
}
