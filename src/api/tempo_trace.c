/* api/tempo_trace.c - what of Tempo's API needs no language: is it there, and traces by id.
 *
 *   version 1   Trace { resource_spans = 1 }; in JSON {"batches":[…]}
 *   version 2   TraceByIDResponse { trace = 1, metrics = 2, status = 3, message = 4 }; in JSON
 *               {"trace":{"resourceSpans":[…]},"metrics":{}} */
#include "api/tempo_trace.h"

#include <errno.h>

#include "api/plain.h"
#include "base/cleanup.h"
#include "wire/otlp_proto.h"
#include "wire/protobuf.h"
#include "wire/tempo_json.h"

#define ANSWER_BYTES_MOST ((size_t)512 << 20)

void tempo_echo(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "text/plain; charset=utf-8", SLICE("echo"));
}

/* Grafana reads the version and believes it: an empty one, as Tempo's own development builds have,
 * hides nothing. */
void tempo_buildinfo(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "application/json",
			  SLICE("{\"version\":\"\",\"revision\":\"causet " CAUSET_VERSION
				"\",\"branch\":\"\",\"buildUser\":\"\",\"buildDate\":\"\","
				"\"goVersion\":\"\"}\n"));
}

struct form {
	bool second;   /* version 2 */
	bool protobuf; /* else JSON */
};

static void put_proto(const struct form *form, const struct plain *plain, struct buffer *out)
{
	size_t begun;

	if (!form->second) {
		otlp_proto_encode_traces(plain->refs, plain->n, out);
		return;
	}
	begun = pb_begin(out, 1);
	otlp_proto_encode_traces(plain->refs, plain->n, out);
	pb_end(out, begun);
	pb_put_bytes(out, 2, slice_of(NULL, 0)); /* metrics; status 0 is complete */
}

static void put_json(const struct form *form, const struct plain *plain, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	if (!form->second) {
		tempo_json_put_traces(&w, "batches", plain->refs, plain->n);
	} else {
		json_put_name(&w, "trace");
		json_begin_object(&w);
		if (plain->n > 0)
			tempo_json_put_traces(&w, "resourceSpans", plain->refs, plain->n);
		json_end_object(&w);
		json_put_name(&w, "metrics");
		json_begin_object(&w);
		json_end_object(&w);
	}
	json_end_object(&w);
}

/* A hint where to look, which the store does not need; but it has to be a number of seconds. */
static bool hints_are_numbers(struct http_request *req)
{
	static const char *const hints[] = {"start", "end"};
	uint64_t numbers[ARRAY_SIZE(hints)] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		struct slice text;
		int r = http_query_get(req, hints[i], &text);

		if (r == 0 || (r == 1 && (text.n == 0 || slice_parse_u64(text, &numbers[i]) == 0)))
			continue;
		http_reply_text(req, 400, "invalid %s: seconds since 1970 are wanted", hints[i]);
		return false;
	}
	if (numbers[0] > numbers[1] && numbers[1] > 0) {
		http_reply_text(req, 400, "start must be before end");
		return false;
	}
	return true;
}

static void trace_send(struct http_request *req, struct api *api, const struct form *form)
{
	struct slice text = api_request(req)->parameter;
	struct event_set set = {0};
	struct plain plain = {0};
	struct buffer out = {0};
	struct trace_id id;
	int r;

	if (trace_id_parse(text, &id) < 0) {
		http_reply_text(
			req, 400,
			"trace IDs can only contain hex characters, 32 at most, and not only "
			"zeros: '%.*s'",
			SLICE_ARG(slice_first(text, 80)));
		return;
	}
	if (!hints_are_numbers(req))
		return;
	r = store_trace(api->store, id, &set);
	if (r == 0)
		r = plain_rows(codec_find(SLICE("otlp")), set.refs, set.n, &plain);
	if (r == -ENOENT && !form->second) {
		http_reply(req, 404, NULL, slice_of(NULL, 0));
	} else if (r == 0 || r == -ENOENT) {
		(form->protobuf ? put_proto : put_json)(form, &plain, &out);
		if (out.n > ANSWER_BYTES_MOST)
			http_reply_text(
				req, 413,
				"more than can be shown at once; /api/v1/export streams it");
		else
			http_reply_buffer(
				req, 200,
				form->protobuf ? "application/protobuf" : "application/json", &out);
	} else if (r == -E2BIG) {
		http_reply_text(req, 413,
				"more than can be shown at once; /api/v1/export streams it");
	} else {
		api_fail_errno(req, r);
	}
	buffer_done(&out);
	plain_done(&plain);
	event_set_done(&set);
}

static bool wants_protobuf(const struct http_request *req)
{
	struct slice accept = http_header_get(req, "accept");

	return accept.n > 0 && memmem(accept.p, accept.n, "application/protobuf", 20);
}

static void first_work(struct http_request *req, struct api *api)
{
	const struct form form = {.second = false, .protobuf = wants_protobuf(req)};

	trace_send(req, api, &form);
}

static void second_work(struct http_request *req, struct api *api)
{
	const struct form form = {.second = true, .protobuf = wants_protobuf(req)};

	trace_send(req, api, &form);
}

void tempo_trace_v1(struct http_request *req, struct api *api)
{
	api_work(req, first_work);
}

void tempo_trace_v2(struct http_request *req, struct api *api)
{
	api_work(req, second_work);
}
