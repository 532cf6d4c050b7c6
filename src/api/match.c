/* api/match.c - finding a request's route. */
#include <stdio.h>

#include "api/routes.h"

/* "/a/{x}/b" against "/a/1/b". */
static bool path_matches(const char *pattern, struct slice path, struct slice *ret_parameter)
{
	struct slice want = slice_cstr(pattern), have = path;

	*ret_parameter = slice_of(NULL, 0);
	while (want.p && have.p) {
		struct slice w = slice_cut(&want, '/'), h = slice_cut(&have, '/');

		if (w.n > 1 && w.p[0] == '{') {
			if (h.n == 0)
				return false;
			*ret_parameter = h;
		} else if (!slice_eq(w, h)) {
			return false;
		}
	}
	return !want.p && !have.p;
}

static bool method_matches(const struct route *route, struct slice method)
{
	struct slice have = slice_cstr(route->method);

	return slice_eq(method, have) ||
	       (slice_eq(method, SLICE("HEAD")) && slice_eq(have, SLICE("GET")));
}

static void allow_add(struct route_match *match, const char *method)
{
	size_t n = strlen(match->allow);

	if (strstr(match->allow, method))
		return;
	snprintf(match->allow + n, sizeof(match->allow) - n, "%s%s%s", n ? ", " : "", method,
		 strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

struct route_match route_find(const struct route *table, struct slice method, struct slice path,
			      unsigned service)
{
	struct route_match match = {.result = ROUTE_NO_PATH};

	for (const struct route *r = table; r->path; r++) {
		struct slice parameter;

		if (!path_matches(r->path, path, &parameter))
			continue;
		if (!(r->services & service)) {
			match.services |= r->services;
			continue;
		}
		if (!method_matches(r, method)) {
			allow_add(&match, r->method);
			continue;
		}
		match.result = ROUTE_FOUND;
		match.route = r;
		match.parameter = parameter;
		return match;
	}
	if (match.allow[0])
		match.result = ROUTE_NO_METHOD;
	else if (match.services)
		match.result = ROUTE_OTHER_SERVICE;
	return match;
}

bool route_accepts(const struct route *route, struct slice content_type)
{
	struct slice rest = slice_cstr(route->accepts), type;

	if (!route->accepts)
		return true;
	type = slice_trim(slice_cut(&content_type, ';'));
	while (rest.p)
		if (slice_eq_nocase(type, slice_trim(slice_cut(&rest, ','))))
			return true;
	return false;
}

static int port_of(const struct api *api, unsigned service)
{
	return api->ports[__builtin_ctz(service)];
}

/* The lowest port that serves one of these; 0 when all are off. */
static int port_of_any(const struct api *api, unsigned services)
{
	for (unsigned bit = 0; bit < SERVICE_COUNT; bit++)
		if (services & 1U << bit && api->ports[bit])
			return api->ports[bit];
	return 0;
}

static const char *scheme(const struct api *api)
{
	return api->tls ? "https" : "http";
}

const char *route_hint(const struct api *api, const struct http_request *req,
		       const struct route_match *match, char *out, size_t room)
{
	int http = port_of(api, SERVICE_OTLP_HTTP), grpc = port_of(api, SERVICE_OTLP_GRPC);
	bool post = slice_eq(req->method, SLICE("POST"));

	if (req->is_grpc && req->tag == SERVICE_JAEGER_GRPC)
		snprintf(out, room,
			 "there is no such method; jaeger.api_v3.QueryService and "
			 "jaeger.api_v3.Capabilities are here");
	else if (req->is_grpc && req->tag != SERVICE_OTLP_GRPC && grpc)
		snprintf(out, room,
			 "this port does not speak gRPC; OTLP over gRPC is on port %d: set "
			 "OTEL_EXPORTER_OTLP_ENDPOINT=%s://HOST:%d",
			 grpc, scheme(api), grpc);
	else if (req->is_grpc)
		snprintf(out, room,
			 "there is no such method; OTLP's TraceService, LogsService and "
			 "MetricsService and causet.v1.EventService are here");
	else if (req->tag == SERVICE_JAEGER_GRPC)
		snprintf(out, room, "this port speaks gRPC; Jaeger's API over HTTP is on port %d",
			 port_of(api, SERVICE_HTTP));
	else if (req->tag == SERVICE_OTLP_GRPC && http)
		snprintf(out, room,
			 "this port speaks gRPC; OTLP over HTTP is on port %d: set "
			 "OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or OTEL_EXPORTER_OTLP_ENDPOINT=%s://"
			 "HOST:%d",
			 http, scheme(api), http);
	else if (match->result == ROUTE_OTHER_SERVICE && port_of_any(api, match->services))
		snprintf(out, room, "%.*s is answered on port %d, not here", SLICE_ARG(req->path),
			 port_of_any(api, match->services));
	else if (req->tag == SERVICE_OTLP_HTTP && post)
		snprintf(out, room,
			 "OTLP traces go to /v1/traces, logs to /v1/logs; set "
			 "OTEL_EXPORTER_OTLP_ENDPOINT to %s://HOST:%d without a path, or "
			 "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to %s://HOST:%d/v1/traces",
			 scheme(api), http, scheme(api), http);
	else if (req->tag == SERVICE_ZIPKIN && post)
		snprintf(out, room, "Zipkin spans go to /api/v2/spans");
	else if (req->tag == SERVICE_OTLP_HTTP)
		snprintf(out, room,
			 "this port takes OTLP by POST to /v1/traces and /v1/logs; "
			 "questions go to port %d",
			 port_of(api, SERVICE_HTTP));
	else
		snprintf(out, room, "there is nothing at %.*s; the API is under /api/v1",
			 (int)(req->path.n < 200 ? req->path.n : 200), req->path.p);
	return out;
}
