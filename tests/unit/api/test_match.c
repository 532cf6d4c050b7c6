/* Which route answers, and what a lost client is told. */
#include "t.h"

#include "api/routes.h"

static void nothing(struct http_request *req, struct api *api)
{
}

static const struct route table[] = {
	{"GET", "/live", SERVICE_ANY, ROUTE_OPEN, 0, NULL, nothing},
	{"GET", "/api/v1/traces", SERVICE_HTTP, ROLE_READ, 0, NULL, nothing},
	{"GET", "/api/v1/traces/{id}", SERVICE_HTTP, ROLE_READ, 0, NULL, nothing},
	{"DELETE", "/api/v1/traces/{id}", SERVICE_HTTP, ROLE_ADMIN, 0, NULL, nothing},
	{"POST", "/v1/traces", SERVICE_OTLP_HTTP, ROLE_INGEST, 0,
	 "application/x-protobuf, application/json", nothing},
	{0},
};

static void routes_are_found_by_method_path_and_port(void **state)
{
	static const struct {
		const char *method, *path;
		unsigned service;
		enum route_result result;
		int row;
		const char *parameter;
	} rows[] = {
		{"GET", "/live", SERVICE_ZIPKIN, ROUTE_FOUND, 0, ""},
		{"HEAD", "/live", SERVICE_HTTP, ROUTE_FOUND, 0, ""},
		{"GET", "/api/v1/traces", SERVICE_HTTP, ROUTE_FOUND, 1, ""},
		{"GET", "/api/v1/traces/abc", SERVICE_HTTP, ROUTE_FOUND, 2, "abc"},
		{"DELETE", "/api/v1/traces/abc", SERVICE_HTTP, ROUTE_FOUND, 3, "abc"},
		{"GET", "/api/v1/traces/", SERVICE_HTTP, ROUTE_NO_PATH, 0, ""},
		{"GET", "/api/v1/traces/a/b", SERVICE_HTTP, ROUTE_NO_PATH, 0, ""},
		{"GET", "/api/v1", SERVICE_HTTP, ROUTE_NO_PATH, 0, ""},
		{"GET", "", SERVICE_HTTP, ROUTE_NO_PATH, 0, ""},
		{"GET", "//live", SERVICE_HTTP, ROUTE_NO_PATH, 0, ""},
		{"POST", "/v1/traces", SERVICE_OTLP_HTTP, ROUTE_FOUND, 4, ""},
		{"POST", "/v1/traces", SERVICE_HTTP, ROUTE_OTHER_SERVICE, 0, ""},
		{"GET", "/v1/traces", SERVICE_OTLP_HTTP, ROUTE_NO_METHOD, 0, ""},
		{"get", "/live", SERVICE_HTTP, ROUTE_NO_METHOD, 0, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct route_match m = route_find(table, slice_cstr(rows[i].method),
						  slice_cstr(rows[i].path), rows[i].service);

		assert_int_equal(m.result, rows[i].result);
		if (m.result != ROUTE_FOUND)
			continue;
		assert_ptr_equal(m.route, &table[rows[i].row]);
		assert_text(m.parameter, rows[i].parameter);
	}
}

static void allow_lists_each_method_once(void **state)
{
	struct route_match m =
		route_find(table, SLICE("PUT"), SLICE("/api/v1/traces/x"), SERVICE_HTTP);

	assert_string_equal(m.allow, "GET, HEAD, DELETE");
}

static void content_types_are_compared_without_case_and_parameters(void **state)
{
	assert_true(route_accepts(&table[4], SLICE("application/json")));
	assert_true(route_accepts(&table[4], SLICE("Application/JSON; charset=utf-8")));
	assert_true(route_accepts(&table[4], SLICE("application/x-protobuf")));
	assert_false(route_accepts(&table[4], SLICE("text/plain")));
	assert_false(route_accepts(&table[4], SLICE("")));
	assert_true(route_accepts(&table[0], SLICE("text/plain")));
}

static void a_lost_client_is_shown_the_way(void **state)
{
	struct api api = {.ports = {4317, 4318, 9411, 16686}};
	static const struct {
		const char *method, *path;
		int tag;
		bool grpc;
		const char *says;
	} rows[] = {
		{"POST", "/", SERVICE_OTLP_HTTP, false, "OTLP traces go to /v1/traces"},
		{"POST", "/v1/trace", SERVICE_OTLP_HTTP, false, "http://HOST:4318 without a path"},
		{"POST", "/x.TraceService/Export", SERVICE_OTLP_HTTP, true,
		 "OTLP over gRPC is on port 4317"},
		{"POST", "/v1/traces", SERVICE_OTLP_GRPC, false, "OTLP over HTTP is on port 4318"},
		{"POST", "/v1/traces", SERVICE_HTTP, false, "/v1/traces is answered on port 4318"},
		{"POST", "/api/v1/spans", SERVICE_ZIPKIN, false, "/api/v2/spans"},
		{"GET", "/nowhere", SERVICE_HTTP, false, "there is nothing at /nowhere"},
		{"POST", "/x.Nothing/At", SERVICE_OTLP_GRPC, true, "there is no such method"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_request req = {.method = slice_cstr(rows[i].method),
					   .path = slice_cstr(rows[i].path),
					   .tag = rows[i].tag,
					   .is_grpc = rows[i].grpc};
		struct route_match m = route_find(table, req.method, req.path, (unsigned)req.tag);
		char hint[400];

		assert_non_null(
			strstr(route_hint(&api, &req, &m, hint, sizeof(hint)), rows[i].says));
	}
}

static void every_route_of_ours_is_complete(void **state)
{
	for (const struct route *r = routes; r->path; r++) {
		assert_non_null(r->method);
		assert_true(r->handle != NULL || r->open != NULL);
		assert_true(r->services != 0);
		assert_true(r->role != ROUTE_OPEN || strcmp(r->path, "/live") == 0 ||
			    strcmp(r->path, "/ready") == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_found_by_method_path_and_port),
		cmocka_unit_test(allow_lists_each_method_once),
		cmocka_unit_test(content_types_are_compared_without_case_and_parameters),
		cmocka_unit_test(a_lost_client_is_shown_the_way),
		cmocka_unit_test(every_route_of_ours_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
