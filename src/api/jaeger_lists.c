/* api/jaeger_lists.c - services, operations and dependencies for Jaeger's UI and Grafana. */
#include "api/jaeger_lists.h"

#include <errno.h>

#include "api/call_tally.h"
#include "api/jaeger_answer.h"
#include "api/jaeger_operations.h"
#include "api/jaeger_question.h"
#include "base/cleanup.h"
#include "core/clock.h"

#define LOOKBACK_MS 86400000 /* of dependencies, when not said */

static void services_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	int64_t n;

	jaeger_begin(&w);
	n = jaeger_service_list_put(api->store, &w);
	if (n < 0) {
		buffer_done(&out);
		jaeger_fail_errno(req, (int)n);
		return;
	}
	jaeger_end(&w, (size_t)n);
	jaeger_reply(req, &out);
}

void jaeger_services(struct http_request *req, struct api *api)
{
	api_work(req, services_work);
}

/* Just the names; null for a service nobody knows. */
static void names_work(struct http_request *req, struct api *api)
{
	struct service_list list;
	const struct service_summary *found;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct slice service;
	int r = http_path_decode(req, api_request(req)->parameter, &service);

	if (r == -EINVAL) {
		jaeger_fail(req, 400, "the service's name is not percent-encoded as it should be");
		return;
	}
	if (r == 0)
		r = jaeger_service_list(api->store, &list);
	if (r < 0) {
		jaeger_fail_errno(req, r);
		return;
	}
	found = service_find(&list, service);
	jaeger_begin(&w);
	if (found) {
		json_begin_array(&w);
		for (size_t i = 0; i < found->operation_n; i++)
			json_put_string(&w, found->operations[i]);
		json_end_array(&w);
	} else {
		json_put_null(&w);
	}
	jaeger_end(&w, found ? found->operation_n : 0);
	service_list_done(&list);
	jaeger_reply(req, &out);
}

void jaeger_service_operations(struct http_request *req, struct api *api)
{
	api_work(req, names_work);
}

static void operations_work(struct http_request *req, struct api *api)
{
	struct service_list list;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct slice service, kind = {0};
	size_t total = 0;
	int r = http_query_get(req, "service", &service);

	if (r == 0 || r == -EINVAL || (r > 0 && service.n == 0)) {
		jaeger_fail(req, 400, "parameter 'service' is required");
		return;
	}
	if (r > 0)
		r = http_query_get(req, "spanKind", &kind);
	if (r >= 0)
		r = jaeger_service_list(api->store, &list);
	if (r < 0) {
		jaeger_fail_errno(req, r);
		return;
	}
	jaeger_begin(&w);
	json_begin_array(&w);
	total = operations_put(&w, service_find(&list, service), kind, false);
	json_end_array(&w);
	jaeger_end(&w, total);
	service_list_done(&list);
	jaeger_reply(req, &out);
}

void jaeger_operations(struct http_request *req, struct api *api)
{
	api_work(req, operations_work);
}

/* --- who calls whom --- */

static int ms_get(struct http_request *req, const char *name, uint64_t *value)
{
	struct slice text;
	int r = http_query_get(req, name, &text);

	if (r == 1 && slice_parse_u64(text, value) < 0)
		r = -EINVAL;
	if (r == -EINVAL)
		jaeger_fail(req, 400, "unable to parse param '%s': milliseconds are wanted", name);
	else if (r < 0)
		jaeger_fail_errno(req, r);
	return r < 0 ? r : 0;
}

static void put_calls(struct json_writer *w, const struct call_tally *tally, struct slice service)
{
	for (size_t i = 0; i < tally->n; i++) {
		const struct call_pair *pair = &tally->rows[i];

		if (service.n > 0 && !slice_eq(pair->parent, service) &&
		    !slice_eq(pair->child, service))
			continue;
		json_begin_object(w);
		json_put_name(w, "parent");
		json_put_string(w, pair->parent);
		json_put_name(w, "child");
		json_put_string(w, pair->child);
		json_put_name(w, "callCount");
		json_put_u64(w, pair->calls);
		json_end_object(w);
	}
}

static void dependencies_work(struct http_request *req, struct api *api)
{
	const uint64_t most = INT64_MAX / NS_PER_MS - 1;
	uint64_t end = (uint64_t)(clock_wall_ns() / NS_PER_MS), lookback = LOOKBACK_MS;
	struct call_tally tally;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct slice service = {0};
	int r;

	if (ms_get(req, "endTs", &end) < 0 || ms_get(req, "lookback", &lookback) < 0)
		return;
	if (http_query_get(req, "service", &service) < 0)
		service = slice_of(NULL, 0);
	end = MIN(end, most);
	call_tally_init(&tally);
	tally.unnamed = SLICE(JAEGER_UNNAMED);
	r = call_tally_store(&tally, api->store, (int64_t)(end - MIN(lookback, end)) * NS_PER_MS,
			     (int64_t)end * NS_PER_MS + 1, NULL);
	if (r < 0) {
		jaeger_fail_errno(req, r);
	} else {
		jaeger_begin(&w);
		json_begin_array(&w);
		put_calls(&w, &tally, service);
		json_end_array(&w);
		jaeger_end(&w, 0);
		jaeger_reply(req, &out);
	}
	call_tally_done(&tally);
}

void jaeger_dependencies(struct http_request *req, struct api *api)
{
	api_work(req, dependencies_work);
}
