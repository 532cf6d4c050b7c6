/* api/jaeger_v3.c - Jaeger's HTTP API, version 3. */
#include "api/jaeger_v3.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/call_tally.h"
#include "api/jaeger_answer.h"
#include "api/jaeger_operations.h"
#include "api/jaeger_summary.h"
#include "api/jaeger_v3_question.h"
#include "api/plain.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "wire/otlp_json.h"

#define MESSAGE_BYTES 512

/* {"error":{"httpCode":404,"message":"No traces found"}} */
static void fail(struct http_request *req, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fail(struct http_request *req, int status, const char *format, ...)
{
	char message[MESSAGE_BYTES];
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	json_begin_object(&w);
	json_put_name(&w, "error");
	json_begin_object(&w);
	json_put_name(&w, "httpCode");
	json_put_i64(&w, status);
	json_put_name(&w, "message");
	json_put_cstr(&w, message);
	json_end_object(&w);
	json_end_object(&w);
	http_reply_buffer(req, status, "application/json", &out);
	buffer_done(&out);
}

static void fail_errno(struct http_request *req, int error)
{
	if (error == -E2BIG)
		fail(req, 413,
		     "more than can be shown at once; ask for fewer traces, or export them with "
		     "/api/v1/export");
	else if (error == -ENOENT)
		fail(req, 404, "No traces found");
	else if (error == -ENOMEM)
		fail(req, 503, "out of memory; try again later");
	else
		fail(req, 500, "%s", strerror(-error));
}

static void services_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	int64_t n;

	json_begin_object(&w);
	json_put_name(&w, "services");
	n = jaeger_service_list_put(api->store, &w);
	if (n < 0) {
		buffer_done(&out);
		fail_errno(req, (int)n);
		return;
	}
	json_end_object(&w);
	jaeger_reply(req, &out);
}

void jaeger_v3_services(struct http_request *req, struct api *api)
{
	api_work(req, services_work);
}

static int either_get(struct http_request *req, const char *camel, const char *snake,
		      struct slice *ret_value)
{
	int r = http_query_get(req, camel, ret_value);

	return r != 0 ? r : http_query_get(req, snake, ret_value);
}

static void operations_work(struct http_request *req, struct api *api)
{
	struct service_list list;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct slice service = {0}, kind = {0};
	int r = http_query_get(req, "service", &service);

	if (r >= 0)
		r = either_get(req, "spanKind", "span_kind", &kind);
	if (r == -EINVAL) {
		fail(req, 400, "the query is not percent-encoded as it should be");
		return;
	}
	if (r >= 0)
		r = jaeger_service_list(api->store, &list);
	if (r < 0) {
		fail_errno(req, r);
		return;
	}
	json_begin_object(&w);
	json_put_name(&w, "operations");
	json_begin_array(&w);
	if (service.n > 0)
		operations_put(&w, service_find(&list, service), kind, true);
	json_end_array(&w);
	json_end_object(&w);
	service_list_done(&list);
	jaeger_reply(req, &out);
}

void jaeger_v3_operations(struct http_request *req, struct api *api)
{
	api_work(req, operations_work);
}

/* --- traces --- */

/* Rows of one trace as items of "resourceSpans". */
static int put_trace(struct json_writer *w, const struct event_set *set)
{
	struct plain plain = {0};
	int r = plain_rows(codec_find(SLICE("otlp")), set->refs, set->n, &plain);

	if (r < 0)
		return r;
	otlp_json_put_resource_spans(w, plain.refs, plain.n);
	plain_done(&plain);
	if (w->out->failed)
		return -ENOMEM;
	return w->out->n > JAEGER_ANSWER_BYTES ? -E2BIG : 0;
}

static void begin_result(struct json_writer *w)
{
	json_begin_object(w);
	json_put_name(w, "result");
	json_begin_object(w);
	json_put_name(w, "resourceSpans");
	json_begin_array(w);
}

static void end_result(struct json_writer *w)
{
	json_end_array(w);
	json_end_object(w);
	json_end_object(w);
}

struct searching {
	struct jaeger_question question;
	struct json_writer w;
	struct http_request *req;
};

static bool search_fits(void *context, const struct event_ref *refs, size_t n)
{
	return jaeger_question_fits(&((struct searching *)context)->question, refs, n);
}

static int traces_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	return put_trace(&((struct searching *)context)->w, set);
}

static int summaries_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	struct searching *s = context;
	struct arena arena = {0};
	struct jaeger_summary made;
	int r = jaeger_summary_make(summary, set, &arena, &made);

	if (r == 0)
		jaeger_summary_put(&s->w, &made);
	arena_done(&arena);
	return r;
}

/* Reads the question and finds the answers; false after having answered a failure. */
static bool search(struct http_request *req, struct api *api, struct searching *s,
		   int (*take)(void *context, const struct trace_summary *summary,
			       struct event_set *set),
		   struct trace_picked *ret_picked)
{
	struct trace_pick pick = {.store = api->store};
	struct error error = {0};
	int r = slice_eq(req->method, SLICE("POST"))
			? jaeger_v3_from_json(req, &s->question, &error)
			: jaeger_v3_from_url(req, &s->question, &error);

	if (r == -EINVAL) {
		fail(req, 400, "%s", error.text);
		return false;
	}
	if (r == 0) {
		jaeger_question_pick(&s->question, &pick);
		pick.fits = search_fits;
		pick.take = take;
		pick.context = s;
		r = trace_pick(&pick, ret_picked);
	}
	if (r < 0) {
		fail_errno(req, r);
		return false;
	}
	trace_picked_tell(req, ret_picked);
	return true;
}

static void traces_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct searching s = {.w = json_write(&out), .req = req};
	struct trace_picked picked;

	begin_result(&s.w);
	if (search(req, api, &s, traces_take, &picked)) {
		end_result(&s.w);
		if (picked.n == 0)
			fail_errno(req, -ENOENT);
		else
			jaeger_reply(req, &out);
	}
	buffer_done(&out);
}

void jaeger_v3_traces(struct http_request *req, struct api *api)
{
	api_work(req, traces_work);
}

static void summaries_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct searching s = {.w = json_write(&out), .req = req};
	struct trace_picked picked;

	json_begin_object(&s.w);
	json_put_name(&s.w, "summaries");
	json_begin_array(&s.w);
	if (search(req, api, &s, summaries_take, &picked)) {
		json_end_array(&s.w);
		json_end_object(&s.w);
		jaeger_reply(req, &out);
	}
	buffer_done(&out);
}

void jaeger_v3_summaries(struct http_request *req, struct api *api)
{
	api_work(req, summaries_work);
}

/* Hints where a trace may lie, and whether it is to be as it came, which it always is: not needed,
 * but not to be wrong. */
static bool hints_are_fine(struct http_request *req)
{
	static const char *const hints[][2] = {
		{"startTime", "start_time"}, {"endTime", "end_time"}, {"rawTraces", "raw_traces"}};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		struct slice text;
		int64_t ns;
		int r = either_get(req, hints[i][0], hints[i][1], &text);

		if (r == 0 || (r == 1 && text.n == 0) ||
		    (r == 1 && (i == 2 ? jaeger_is_flag(text) : jaeger_v3_moment(text, &ns) == 0)))
			continue;
		if (r == -ENOMEM)
			fail_errno(req, r);
		else
			fail(req, 400, "malformed parameter %s: %s is wanted", hints[i][1],
			     i == 2 ? "true or false" : "a time of RFC 3339");
		return false;
	}
	return true;
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
		fail(req, 400,
		     "malformed parameter trace_id: '%.*s' is neither up to 32 hex digits nor "
		     "base64",
		     SLICE_ARG(slice_first(api_request(req)->parameter, 80)));
		return;
	}
	if (!hints_are_fine(req))
		return;
	begin_result(&w);
	r = store_trace(api->store, id, &set);
	if (r == 0)
		r = put_trace(&w, &set);
	end_result(&w);
	if (r < 0)
		fail_errno(req, r);
	else
		jaeger_reply(req, &out);
	event_set_done(&set);
	buffer_done(&out);
}

void jaeger_v3_trace(struct http_request *req, struct api *api)
{
	api_work(req, trace_work);
}

/* --- dependencies --- */

/* 0 and *ret_ns, or -EINVAL after having answered. */
static int moment_get(struct http_request *req, const char *camel, const char *snake,
		      int64_t *ret_ns)
{
	struct slice text;
	int r = either_get(req, camel, snake, &text);

	if (r == 1 && jaeger_v3_moment(text, ret_ns) == 0)
		return 0;
	if (r == -ENOMEM)
		fail_errno(req, r);
	else
		fail(req, 400, "%s is required, a time of RFC 3339", snake);
	return -EINVAL;
}

static void dependencies_work(struct http_request *req, struct api *api)
{
	struct call_tally tally;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	int64_t from_ns, to_ns;
	int r;

	if (moment_get(req, "startTime", "start_time", &from_ns) < 0 ||
	    moment_get(req, "endTime", "end_time", &to_ns) < 0)
		return;
	call_tally_init(&tally);
	tally.unnamed = SLICE(JAEGER_UNNAMED);
	r = call_tally_store(&tally, api->store, from_ns, to_ns, NULL);
	if (r < 0) {
		fail_errno(req, r);
	} else {
		json_begin_object(&w);
		json_put_name(&w, "dependencies");
		json_begin_array(&w);
		for (size_t i = 0; i < tally.n; i++) {
			json_begin_object(&w);
			json_put_name(&w, "parent");
			json_put_string(&w, tally.rows[i].parent);
			json_put_name(&w, "child");
			json_put_string(&w, tally.rows[i].child);
			json_put_name(&w, "callCount");
			json_put_u64_text(&w, tally.rows[i].calls);
			json_end_object(&w);
		}
		json_end_array(&w);
		json_end_object(&w);
		jaeger_reply(req, &out);
	}
	call_tally_done(&tally);
}

void jaeger_v3_dependencies(struct http_request *req, struct api *api)
{
	api_work(req, dependencies_work);
}

void jaeger_v3_capabilities(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "application/json",
			  SLICE("{\"search\":{\"withoutServiceName\":true,"
				"\"sameSpanConjunction\":true}}\n"));
}
