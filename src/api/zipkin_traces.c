/* api/zipkin_traces.c - whole traces for Zipkin's UI and Grafana.
 *
 * Spans stand as they came; trace ids whose upper half is zero have 16 digits, as Zipkin's have. */
#include "api/zipkin_traces.h"

#include <errno.h>
#include <stdlib.h>

#include "api/plain.h"
#include "api/zipkin_question.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "wire/zipkin.h"
#include "wire/zipkin_json.h"

#define ANSWER_BYTES_MOST ((size_t)512 << 20) /* of one answer */

static int by_time(const void *a, const void *b)
{
	const struct zipkin_annotation *x = a, *y = b;

	if (x->timestamp_us != y->timestamp_us)
		return x->timestamp_us < y->timestamp_us ? -1 : 1;
	return slice_cmp(x->value, y->value);
}

/* In the order of their times, each once: as Zipkin's clients know them. */
static void annotations_sort(struct zipkin_span *span)
{
	size_t n = 0;

	if (span->annotation_n < 2)
		return;
	qsort(span->annotations, span->annotation_n, sizeof(*span->annotations), by_time);
	for (size_t i = 0; i < span->annotation_n; i++)
		if (n == 0 || by_time(&span->annotations[n - 1], &span->annotations[i]) != 0)
			span->annotations[n++] = span->annotations[i];
	span->annotation_n = n;
}

static int put_trace(struct json_writer *w, const struct event_set *set)
{
	struct zipkin_span span = {0};
	struct plain plain = {0};
	bool is_span;
	int r = plain_rows(codec_find(SLICE("zipkin-json")), set->refs, set->n, &plain);

	if (r < 0)
		return r;
	json_begin_array(w);
	for (size_t i = 0; i < plain.n;) {
		i += zipkin_span_from(plain.refs + i, plain.n - i, &span, &is_span);
		span.trace_id_64 = load_be64(span.trace_id.b) == 0;
		annotations_sort(&span);
		if (is_span)
			zipkin_json_put_span(w, &span);
	}
	json_end_array(w);
	w->out->failed |= span.failed;
	zipkin_span_done(&span);
	plain_done(&plain);
	if (w->out->failed)
		return -ENOMEM;
	return w->out->n > ANSWER_BYTES_MOST ? -E2BIG : 0;
}

static void fail(struct http_request *req, int error)
{
	if (error == -E2BIG)
		http_reply_text(req, 413,
				"more than can be shown at once; ask for fewer traces, or export "
				"them with /api/v1/export");
	else
		api_fail_errno(req, error);
}

/* --- search --- */

struct searching {
	struct zipkin_question question;
	struct json_writer w;
};

static bool search_fits(void *context, const struct event_ref *refs, size_t n)
{
	return zipkin_question_fits(&((struct searching *)context)->question, refs, n);
}

static int search_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	return put_trace(&((struct searching *)context)->w, set);
}

static void traces_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct searching s = {.w = json_write(&out)};
	struct trace_pick pick = {
		.store = api->store, .fits = search_fits, .take = search_take, .context = &s};
	struct trace_picked picked;
	struct error error;
	int r = zipkin_question_parse(req, clock_wall_ns(), &s.question, &error);

	if (r == -EINVAL) {
		http_reply_text(req, 400, "%s", error.text);
		return;
	}
	if (r == 0) {
		pick.query = zipkin_question_query(&s.question);
		pick.limit = s.question.limit;
		pick.from_ns = (int64_t)s.question.from_us * NS_PER_US;
		json_begin_array(&s.w);
		r = trace_pick(&pick, &picked);
		if (r == 0 && picked.n == 0)
			r = zipkin_question_respell(&s.question, api->store, &req->arena);
		if (r > 0) {
			pick.query = zipkin_question_query(&s.question);
			r = trace_pick(&pick, &picked);
		}
		json_end_array(&s.w);
	}
	if (r < 0) {
		fail(req, r);
	} else {
		trace_picked_tell(req, &picked);
		http_reply_buffer(req, 200, "application/json", &out);
	}
	buffer_done(&out);
}

void zipkin_traces(struct http_request *req, struct api *api)
{
	api_work(req, traces_work);
}

/* --- by id --- */

/* False after having answered. */
static bool id_parse(struct http_request *req, struct slice text, struct trace_id *ret_id)
{
	if (trace_id_parse(text, ret_id) == 0)
		return true;
	http_reply_text(req, 400, "%.*s should be lower-hex encoded with no prefix",
			SLICE_ARG(slice_first(text, 80)));
	return false;
}

static void trace_work(struct http_request *req, struct api *api)
{
	struct slice text = api_request(req)->parameter;
	struct event_set set = {0};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct trace_id id;
	int r;

	if (!id_parse(req, text, &id))
		return;
	r = store_trace(api->store, id, &set);
	if (r == 0)
		r = put_trace(&w, &set);
	if (r == -ENOENT)
		http_reply_text(req, 404, "%.*s not found", SLICE_ARG(slice_first(text, 80)));
	else if (r < 0)
		fail(req, r);
	else
		http_reply_buffer(req, 200, "application/json", &out);
	event_set_done(&set);
	buffer_done(&out);
}

void zipkin_trace(struct http_request *req, struct api *api)
{
	api_work(req, trace_work);
}

/* How many ids, each different; 0 after having answered. */
static size_t ids_parse(struct http_request *req, struct trace_id *ids)
{
	struct slice text = {0};
	size_t n = 0;

	if (http_query_get(req, "traceIds", &text) != 1 || text.n == 0) {
		http_reply_text(req, 400, "traceIds is missing");
		return 0;
	}
	while (text.p) {
		struct slice one = slice_cut(&text, ',');

		if (n == ZIPKIN_TRACE_IDS_MOST) {
			http_reply_text(req, 400, "more than %d traceIds", ZIPKIN_TRACE_IDS_MOST);
			return 0;
		}
		if (!id_parse(req, one, &ids[n]))
			return 0;
		for (size_t i = 0; i < n; i++) {
			if (!trace_id_eq(ids[i], ids[n]))
				continue;
			http_reply_text(req, 400, "redundant traceId: %.*s", SLICE_ARG(one));
			return 0;
		}
		n++;
	}
	if (n == 1) {
		http_reply_text(req, 400,
				"Use /api/v2/trace/{traceId} endpoint to retrieve a single trace");
		return 0;
	}
	return n;
}

static void many_work(struct http_request *req, struct api *api)
{
	struct trace_id *ids = arena_zalloc(&req->arena, ZIPKIN_TRACE_IDS_MOST, sizeof(*ids));
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	size_t n;
	int r = 0;

	if (!ids) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	n = ids_parse(req, ids);
	if (n == 0)
		return;
	json_begin_array(&w);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct event_set set = {0};

		r = store_trace(api->store, ids[i], &set);
		if (r == 0)
			r = put_trace(&w, &set);
		else if (r == -ENOENT) /* those that are there are shown */
			r = 0;
		event_set_done(&set);
	}
	json_end_array(&w);
	if (r < 0)
		fail(req, r);
	else
		http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

void zipkin_trace_many(struct http_request *req, struct api *api)
{
	api_work(req, many_work);
}
