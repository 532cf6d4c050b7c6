/* api/jaeger_grpc.c - jaeger.api_v3.QueryService.
 *
 *   GetServicesResponse    services = 1
 *   GetOperationsRequest   service = 1, span_kind = 2
 *   GetOperationsResponse  operations = 1 { name = 1, span_kind = 2 }
 *   GetDependenciesRequest start_time = 1, end_time = 2
 *   DependenciesResponse   dependencies = 1 { parent = 1, child = 2, call_count = 3 }
 *   GetTraceRequest        trace_id = 1, start_time = 2, end_time = 3, raw_traces = 4
 *   FindTracesRequest      query = 1: api/jaeger_v3_question.h
 *
 * Traces come as opentelemetry.proto.trace.v1.TracesData, whose field 1 is that of OTLP's request:
 * a trace in as many messages as it takes to keep them small. */
#include "api/jaeger_grpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/call_tally.h"
#include "api/grpc_stream.h"
#include "api/jaeger_operations.h"
#include "api/jaeger_summary.h"
#include "api/jaeger_v3_question.h"
#include "api/plain.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "wire/otlp_proto.h"
#include "wire/protobuf.h"

#define MESSAGE_BYTES ((size_t)128 << 10) /* of one message, about … */
#define MESSAGE_ROWS  32                  /* … so many rows at a time are added */
#define FOUND_BYTES   ((size_t)8 << 20)   /* of what a search found, held until it is sent */

/* --- methods with one answer --- */

static void reply(struct http_request *req, struct buffer *out)
{
	if (out->failed)
		api_fail_errno(req, -ENOMEM);
	else
		http_reply_grpc(req, GRPC_OK, NULL, buffer_get(out), slice_of(NULL, 0));
	buffer_done(out);
}

static void services_work(struct http_request *req, struct api *api)
{
	struct service_list list;
	struct buffer out = {0};
	int r = jaeger_service_list(api->store, &list);

	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	for (size_t i = 0; i < list.n; i++)
		pb_put_bytes(&out, 1, list.rows[i].name);
	service_list_done(&list);
	reply(req, &out);
}

void jaeger_grpc_services(struct http_request *req, struct api *api)
{
	api_work(req, services_work);
}

static void put_operation(void *context, struct slice name, const char *kind)
{
	struct buffer *out = context;
	size_t begun = pb_begin(out, 1);

	pb_put_bytes(out, 1, name);
	pb_put_bytes(out, 2, slice_cstr(kind));
	pb_end(out, begun);
}

/* The texts (or messages) of fields 1 and 2; false when the bytes are not protobuf. */
static bool two_fields(struct slice message, struct slice *ret_first, struct slice *ret_second)
{
	struct pb_reader r = pb_open(message);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			*ret_first = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			*ret_second = f.bytes;
	}
	return !r.bad;
}

static void operations_work(struct http_request *req, struct api *api)
{
	struct slice service = {0}, kind = {0};
	struct service_list list;
	struct buffer out = {0};
	int r;

	if (!two_fields(req->body, &service, &kind)) {
		api_fail(req, 400, "the request is not well-formed protobuf");
		return;
	}
	r = jaeger_service_list(api->store, &list);
	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	operations_each(service_find(&list, service), kind, put_operation, &out);
	service_list_done(&list);
	reply(req, &out);
}

void jaeger_grpc_operations(struct http_request *req, struct api *api)
{
	api_work(req, operations_work);
}

static void dependencies_work(struct http_request *req, struct api *api)
{
	struct slice from = {0}, to = {0};
	int64_t from_ns = 0, to_ns = 0;
	struct call_tally tally;
	struct buffer out = {0};
	int r;

	if (!two_fields(req->body, &from, &to) || jaeger_v3_proto_time(from, &from_ns) < 0 ||
	    jaeger_v3_proto_time(to, &to_ns) < 0 || to_ns <= 0) {
		api_fail(req, 400, "start_time and end_time are required");
		return;
	}
	call_tally_init(&tally);
	tally.unnamed = SLICE(JAEGER_UNNAMED);
	r = call_tally_store(&tally, api->store, MAX(from_ns, (int64_t)0), to_ns, NULL);
	for (size_t i = 0; r == 0 && i < tally.n; i++) {
		size_t begun = pb_begin(&out, 1);

		pb_put_bytes(&out, 1, tally.rows[i].parent);
		pb_put_bytes(&out, 2, tally.rows[i].child);
		pb_put_varint(&out, 3, tally.rows[i].calls);
		pb_end(&out, begun);
	}
	if (r < 0)
		api_fail_errno(req, r);
	else
		reply(req, &out);
	call_tally_done(&tally);
	buffer_done(&out);
}

void jaeger_grpc_dependencies(struct http_request *req, struct api *api)
{
	api_work(req, dependencies_work);
}

/* GetCapabilitiesResponse { search = 1 { without_service_name = 1, same_span_conjunction = 2 } } */
void jaeger_grpc_capabilities(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	size_t begun = pb_begin(&out, 1);

	pb_put_varint(&out, 1, 1);
	pb_put_varint(&out, 2, 1);
	pb_end(&out, begun);
	reply(req, &out);
}

/* --- traces --- */

struct sending {
	struct store *store;
	struct trace_id *ids;
	size_t n, capacity, next;
	/* The first that were found, as far as they are small: who finds a trace has read it. */
	struct event_set *found;
	size_t found_n, found_capacity, found_bytes;
	/* The trace under way. */
	struct event_set set;
	struct plain plain;
	size_t at; /* row */
	bool open;
};

static void trace_close(struct sending *s)
{
	plain_done(&s->plain);
	event_set_done(&s->set);
	s->open = false;
}

static void sending_free(void *state)
{
	struct sending *s = state;

	trace_close(s);
	for (size_t i = 0; i < s->found_n; i++)
		event_set_done(&s->found[i]);
	free(s->found);
	free(s->ids);
	free(s);
}

static int id_add(struct sending *s, struct trace_id id)
{
	if (!vec_reserve(&s->ids, &s->capacity, s->n + 1, sizeof(*s->ids)))
		return -ENOMEM;
	s->ids[s->n++] = id;
	return 0;
}

/* Opens the next trace that is still there.  1, 0 behind the last, negative errno. */
static int trace_open(struct sending *s)
{
	const struct codec *codec = codec_find(SLICE("otlp"));
	int r = -ENOENT;

	while (r == -ENOENT && s->next < s->n) {
		size_t i = s->next++;

		if (i < s->found_n) {
			s->set = s->found[i];
			s->found[i] = (struct event_set){0};
			r = 0;
		} else {
			r = store_trace(s->store, s->ids[i], &s->set);
		}
	}
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = plain_rows(codec, s->set.refs, s->set.n, &s->plain);
	if (r < 0)
		return r;
	s->at = 0;
	s->open = true;
	return 1;
}

/* Appends rows up to a message's size; clients refuse large ones (gRPC's own limit is 4 MiB).  A
 * span, its points and its links are never parted. */
static void put_rows(struct sending *s, struct buffer *out)
{
	const struct plain *p = &s->plain;

	while (s->at < p->n && out->n < MESSAGE_BYTES && !out->failed) {
		size_t end = MIN(s->at + MESSAGE_ROWS, p->n);

		while (end < p->n && (event_get(p->refs[end])->type == EVENT_POINT ||
				      event_get(p->refs[end])->type == EVENT_LINK))
			end++;
		otlp_proto_encode_traces(p->refs + s->at, end - s->at, out);
		s->at = end;
	}
}

static bool sending_next(void *state, struct buffer *out, struct grpc_end *end)
{
	struct sending *s = state;

	for (;;) {
		int r = s->open ? 1 : trace_open(s);

		if (r <= 0) {
			if (r < 0)
				grpc_end_errno(end, r);
			return false;
		}
		put_rows(s, out);
		if (out->n > 0 || out->failed)
			return true;
		trace_close(s);
	}
}

static struct sending *sending_new(struct store *store, struct grpc_end *end)
{
	struct sending *s = calloc(1, sizeof(*s));

	if (s)
		s->store = store;
	else
		grpc_end_errno(end, -ENOMEM);
	return s;
}

static bool trace_begin(struct http_request *req, struct api *api, struct slice question,
			void **ret_state, struct grpc_end *end)
{
	struct slice text = {0}, ignored = {0};
	struct sending *s;
	struct trace_id id;
	int r;

	if (!two_fields(question, &text, &ignored) || jaeger_trace_id_parse(text, &id) < 0) {
		end->status = GRPC_INVALID_ARGUMENT;
		snprintf(end->message, sizeof(end->message),
			 "trace_id: '%.*s' is neither up to 32 hex digits nor base64",
			 SLICE_ARG(slice_first(text, 80)));
		return false;
	}
	s = sending_new(api->store, end);
	if (!s)
		return false;
	r = id_add(s, id);
	if (r == 0)
		r = trace_open(s);
	if (r <= 0) {
		sending_free(s);
		if (r < 0) {
			grpc_end_errno(end, r);
		} else {
			end->status = GRPC_NOT_FOUND;
			snprintf(end->message, sizeof(end->message), "trace not found");
		}
		return false;
	}
	*ret_state = s;
	return true;
}

void jaeger_grpc_trace(struct http_request *req, struct api *api)
{
	static const struct grpc_method method = {trace_begin, sending_next, sending_free};

	grpc_stream_open(req, api, &method);
}

/* --- search --- */

struct searching {
	struct jaeger_question question;
	struct sending *traces;
	struct summaries *summaries;
};

static bool search_fits(void *context, const struct event_ref *refs, size_t n)
{
	return jaeger_question_fits(&((struct searching *)context)->question, refs, n);
}

static int traces_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	struct sending *s = ((struct searching *)context)->traces;
	int r = id_add(s, summary->id);

	/* Rows keep whole batches. */
	for (size_t i = 0; i < set->batch_n && s->found_bytes <= FOUND_BYTES; i++)
		s->found_bytes += batch_bytes(set->batches[i]);
	if (r < 0 || s->found_bytes > FOUND_BYTES)
		return r;
	if (!vec_reserve(&s->found, &s->found_capacity, s->found_n + 1, sizeof(*s->found)))
		return -ENOMEM;
	s->found[s->found_n++] = *set;
	*set = (struct event_set){0};
	return 0;
}

/* False: *end says why. */
static bool search(struct api *api, struct slice question, struct searching *s,
		   int (*take)(void *context, const struct trace_summary *summary,
			       struct event_set *set),
		   struct grpc_end *end)
{
	struct trace_pick pick = {.store = api->store};
	struct trace_picked picked;
	struct error error = {0};
	int r = jaeger_v3_from_proto(question, &s->question, &error);

	if (r == -EINVAL) {
		end->status = GRPC_INVALID_ARGUMENT;
		snprintf(end->message, sizeof(end->message), "%s", error.text);
		return false;
	}
	if (r == 0) {
		jaeger_question_pick(&s->question, &pick);
		pick.fits = search_fits;
		pick.take = take;
		pick.context = s;
		r = trace_pick(&pick, &picked);
	}
	if (r < 0)
		grpc_end_errno(end, r);
	return r == 0;
}

static bool traces_begin(struct http_request *req, struct api *api, struct slice question,
			 void **ret_state, struct grpc_end *end)
{
	struct searching s = {.traces = sending_new(api->store, end)};

	if (!s.traces)
		return false;
	if (!search(api, question, &s, traces_take, end)) {
		sending_free(s.traces);
		return false;
	}
	*ret_state = s.traces;
	return true;
}

void jaeger_grpc_traces(struct http_request *req, struct api *api)
{
	static const struct grpc_method method = {traces_begin, sending_next, sending_free};

	grpc_stream_open(req, api, &method);
}

/* --- summaries --- */

/* Messages one behind the other: message i ends at ends[i]. */
struct summaries {
	struct buffer bytes;
	size_t *ends;
	size_t n, capacity, next;
};

static void summaries_free(void *state)
{
	struct summaries *s = state;

	buffer_done(&s->bytes);
	free(s->ends);
	free(s);
}

static int summaries_cut(struct summaries *s)
{
	if (!vec_reserve(&s->ends, &s->capacity, s->n + 1, sizeof(*s->ends)))
		return -ENOMEM;
	s->ends[s->n++] = s->bytes.n;
	return 0;
}

static int summaries_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	struct summaries *s = ((struct searching *)context)->summaries;
	size_t begun = s->n ? s->ends[s->n - 1] : 0;
	struct arena arena = {0};
	struct jaeger_summary made;
	int r = jaeger_summary_make(summary, set, &arena, &made);

	if (r == 0)
		jaeger_summary_put_proto(&s->bytes, &made);
	arena_done(&arena);
	if (r == 0 && s->bytes.failed)
		r = -ENOMEM;
	return r == 0 && s->bytes.n - begun >= MESSAGE_BYTES ? summaries_cut(s) : r;
}

static bool summaries_begin(struct http_request *req, struct api *api, struct slice question,
			    void **ret_state, struct grpc_end *end)
{
	struct searching s = {.summaries = calloc(1, sizeof(*s.summaries))};
	bool good;

	if (!s.summaries) {
		grpc_end_errno(end, -ENOMEM);
		return false;
	}
	good = search(api, question, &s, summaries_take, end);
	if (good && summaries_cut(s.summaries) < 0) {
		grpc_end_errno(end, -ENOMEM);
		good = false;
	}
	if (good)
		*ret_state = s.summaries;
	else
		summaries_free(s.summaries);
	return good;
}

static bool summaries_next(void *state, struct buffer *out, struct grpc_end *end)
{
	struct summaries *s = state;

	while (s->next < s->n) {
		size_t from = s->next ? s->ends[s->next - 1] : 0, to = s->ends[s->next++];

		buffer_append(out, s->bytes.p + from, to - from);
		if (to > from)
			return true;
	}
	return false;
}

void jaeger_grpc_summaries(struct http_request *req, struct api *api)
{
	static const struct grpc_method method = {summaries_begin, summaries_next, summaries_free};

	grpc_stream_open(req, api, &method);
}
