/* api/zipkin_lists.c - the small lists Zipkin's UI and Grafana ask for. */
#include "api/zipkin_lists.h"

#include <errno.h>

#include "api/zipkin_links.h"
#include "api/zipkin_question.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "wire/json_writer.h"
#include "wire/zipkin.h"

#define REMOTE_TRACES 500 /* newest traces of a service that are asked whom they call */
#define REMOTE_NAMES  1000

/* Zipkin's failures are plain text. */
static void fail(struct http_request *req, int error, const struct error *why)
{
	if (error == -EINVAL)
		http_reply_text(req, 400, "%s", why->text);
	else
		api_fail_errno(req, error);
}

static void reply(struct http_request *req, struct buffer *out)
{
	http_reply_buffer(req, 200, "application/json", out);
	buffer_done(out);
}

static bool service_get(struct http_request *req, struct slice *ret_service)
{
	int r = http_query_get(req, "serviceName", ret_service);

	if (r > 0)
		return true;
	if (r == 0 || r == -EINVAL)
		http_reply_text(req, 400, "serviceName is missing");
	else
		api_fail_errno(req, r);
	return false;
}

/* Names, the empty one left out. */
static void reply_names(struct http_request *req, const struct slice *names, size_t n)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	json_begin_array(&w);
	for (size_t i = 0; i < n; i++)
		if (names[i].n > 0)
			json_put_string(&w, names[i]);
	json_end_array(&w);
	reply(req, &out);
}

static void services_work(struct http_request *req, struct api *api)
{
	struct service_list list;
	struct slice *names;
	int r = store_services(api->store, &list);

	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	names = arena_zalloc(&req->arena, list.n + 1, sizeof(*names));
	for (size_t i = 0; names && i < list.n; i++)
		names[i] = list.rows[i].name;
	if (names)
		reply_names(req, names, list.n);
	else
		api_fail_errno(req, -ENOMEM);
	service_list_done(&list);
}

void zipkin_services(struct http_request *req, struct api *api)
{
	api_work(req, services_work);
}

static void span_names_work(struct http_request *req, struct api *api)
{
	struct service_list list;
	const struct service_summary *found;
	struct slice service;
	int r;

	if (!service_get(req, &service))
		return;
	r = store_services(api->store, &list);
	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	found = zipkin_service(&list, service);
	reply_names(req, found ? found->operations : NULL, found ? found->operation_n : 0);
	service_list_done(&list);
}

void zipkin_span_names(struct http_request *req, struct api *api)
{
	api_work(req, span_names_work);
}

/* --- whom a service calls --- */

struct remotes {
	struct http_request *req;
	struct slice service;
	struct slice names[REMOTE_NAMES]; /* sorted, in the request's arena */
	size_t n;
	bool failed;
};

static void remotes_add(struct remotes *r, struct slice name)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (slice_cmp(r->names[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (name.n == 0 || r->n == REMOTE_NAMES || (low < r->n && slice_eq(r->names[low], name)))
		return;
	name = arena_dup(&r->req->arena, name);
	r->failed |= !name.p;
	memmove(&r->names[low + 1], &r->names[low], (r->n - low) * sizeof(name));
	r->names[low] = name;
	r->n++;
}

static int remotes_take(void *context, const struct trace_summary *summary, struct event_set *set)
{
	struct remotes *r = context;
	struct zipkin_span span = {0};
	bool is_span;

	for (size_t i = 0; i < set->n;) {
		i += zipkin_span_from(set->refs + i, set->n - i, &span, &is_span);
		if (is_span && slice_eq(span.local.service, r->service))
			remotes_add(r, span.remote.service);
	}
	r->failed |= span.failed;
	zipkin_span_done(&span);
	return r->failed ? -ENOMEM : 0;
}

static int service_respell(struct http_request *req, struct api *api, struct slice *service)
{
	struct zipkin_question q = {.service = *service};
	int r = zipkin_question_respell(&q, api->store, &req->arena);

	if (r > 0)
		*service = q.service;
	return r < 0 ? r : 0;
}

static void remote_work(struct http_request *req, struct api *api)
{
	struct remotes *remotes = arena_zalloc(&req->arena, 1, sizeof(*remotes));
	struct trace_picked picked;
	int r;

	if (!remotes) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	remotes->req = req;
	if (!service_get(req, &remotes->service))
		return;
	r = service_respell(req, api, &remotes->service);
	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	r = trace_pick(&(struct trace_pick){.store = api->store,
					    .query = {.service = remotes->service},
					    .limit = REMOTE_TRACES,
					    .take = remotes_take,
					    .context = remotes},
		       &picked);
	if (r < 0)
		api_fail_errno(req, r);
	else
		reply_names(req, remotes->names, remotes->n);
}

void zipkin_remote_services(struct http_request *req, struct api *api)
{
	api_work(req, remote_work);
}

/* --- who calls whom --- */

static void put_link(struct json_writer *w, const struct call_pair *pair)
{
	json_begin_object(w);
	json_put_name(w, "parent");
	json_put_string(w, pair->parent);
	json_put_name(w, "child");
	json_put_string(w, pair->child);
	json_put_name(w, "callCount");
	json_put_u64(w, pair->calls);
	if (pair->errors) {
		json_put_name(w, "errorCount");
		json_put_u64(w, pair->errors);
	}
	json_end_object(w);
}

static void dependencies_work(struct http_request *req, struct api *api)
{
	struct call_tally tally;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct error error;
	uint64_t from_us, to_us;
	int r = zipkin_window_parse(req, clock_wall_ns(), true, &from_us, &to_us, &error);

	if (r < 0) {
		fail(req, r, &error);
		return;
	}
	call_tally_init(&tally);
	r = zipkin_links_store(&tally, api->store, (int64_t)from_us * NS_PER_US,
			       (int64_t)(to_us + 1) * NS_PER_US);
	if (r == -E2BIG) {
		http_reply_text(req, 413, "more than %d pairs of services; ask for less time",
				CALL_PAIRS_MOST);
	} else if (r < 0) {
		api_fail_errno(req, r);
	} else {
		json_begin_array(&w);
		for (size_t i = 0; i < tally.n; i++)
			put_link(&w, &tally.rows[i]);
		json_end_array(&w);
		reply(req, &out);
	}
	call_tally_done(&tally);
}

void zipkin_dependencies(struct http_request *req, struct api *api)
{
	api_work(req, dependencies_work);
}

/* --- what a server would have configured --- */

/* Zipkin completes only keys that its operator has listed; so does nobody here. */
void zipkin_autocomplete_keys(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "application/json", SLICE("[]"));
}

void zipkin_autocomplete_values(struct http_request *req, struct api *api)
{
	struct slice key;

	if (http_query_get(req, "key", &key) == 1 && key.n > 0)
		http_reply_static(req, 200, "application/json", SLICE("[]"));
	else
		http_reply_text(req, 400, "key is missing");
}

/* What Lens reads when it starts. */
void zipkin_config(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "application/json",
			  SLICE("{\"environment\":\"\",\"queryLimit\":10,"
				"\"defaultLookback\":900000,\"searchEnabled\":true,"
				"\"logsUrl\":null,\"supportUrl\":null,\"archivePostUrl\":null,"
				"\"archiveUrl\":null,\"dependency\":{\"enabled\":true,"
				"\"lowErrorRate\":0.5,\"highErrorRate\":0.75}}\n"));
}

void zipkin_info(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "application/json",
			  SLICE("{\"zipkin\":{\"version\":\"causet " CAUSET_VERSION
				"\",\"commit\":\"\"}}\n"));
}

void zipkin_health(struct http_request *req, struct api *api)
{
	bool up = atomic_load(&api->ready);

	http_reply_static(
		req, up ? 200 : 503, "application/json",
		up ? SLICE("{\"status\":\"UP\",\"zipkin\":{\"status\":\"UP\",\"details\":{"
			   "\"causet\":{\"status\":\"UP\"}}}}\n")
		   : SLICE("{\"status\":\"DOWN\",\"zipkin\":{\"status\":\"DOWN\",\"details\":{"
			   "\"causet\":{\"status\":\"DOWN\"}}}}\n"));
}
