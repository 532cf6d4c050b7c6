/* api/dispatch.c - a request's way: which route, who asks, may they, and then the handler. */
#include <errno.h>

#include "api/query_jobs.h"
#include "api/routes.h"
#include "base/cleanup.h"
#include "base/leash.h"
#include "core/clock.h"

#define HINT_BYTES 400

/* Bearer tokens (RFC 6750), in HTTP's header or gRPC's metadata alike. */
static struct slice bearer_of(const struct http_request *req)
{
	struct slice value = slice_trim(http_header_get(req, "authorization"));

	if (value.n < 7 || !slice_eq_nocase(slice_first(value, 7), SLICE("bearer ")))
		return slice_of(NULL, 0);
	return slice_trim(slice_from(value, 7));
}

static const char *role_name(unsigned role, char out[ROLES_TEXT_BYTES])
{
	roles_format(role, out);
	return out;
}

/* True when the request may go on; otherwise it has been answered. */
static bool authorise(struct http_request *req, struct api *api, struct api_request *a)
{
	unsigned role = a->route->role;
	char name[ROLES_TEXT_BYTES];
	struct slice bearer;
	int r;

	a->who = (struct token_identity){.roles = ROLE_ALL, .owner = OWNER_LOCAL};
	if (!api->auth || role == ROUTE_OPEN)
		return true;
	bearer = bearer_of(req);
	if (bearer.n == 0) {
		http_reply_header(req, "WWW-Authenticate", SLICE("Bearer realm=\"causet\""));
		api_fail(req, 401,
			 "a token with the role %s is needed: send 'Authorization: Bearer TOKEN'; "
			 "'causet token add' makes one",
			 role_name(role, name));
		return false;
	}
	r = token_check(api->catalog, bearer, &a->who);
	if (r < 0) {
		http_reply_header(req, "WWW-Authenticate",
				  SLICE("Bearer realm=\"causet\", error=\"invalid_token\""));
		api_fail(req, 401,
			 r == -EKEYEXPIRED
				 ? "the token has expired"
				 : "the token is not known here; it may have been revoked");
		return false;
	}
	if (!roles_allow(a->who.roles, (enum role)role)) {
		http_reply_header(req, "WWW-Authenticate",
				  SLICE("Bearer realm=\"causet\", error=\"insufficient_scope\""));
		api_fail(req, 403, "%s's token lacks the role %s", a->who.owner,
			 role_name(role, name));
		return false;
	}
	return true;
}

static bool found(struct http_request *req, struct api *api, const struct route_match *match)
{
	char hint[HINT_BYTES];

	switch (match->result) {
	case ROUTE_FOUND:
		return true;
	case ROUTE_NO_METHOD:
		http_reply_header(req, "Allow", slice_cstr(match->allow));
		api_fail(req, 405, "%.*s takes %s, not %.*s", SLICE_ARG(req->path), match->allow,
			 SLICE_ARG(slice_first(req->method, 32)));
		return false;
	default:
		api_fail(req, 404, "%s", route_hint(api, req, match, hint, sizeof(hint)));
		return false;
	}
}

/* Jaeger and Tempo both claim /api/traces/{id}: on our own port Tempo's paths stand under /tempo.
 */
static struct route_match find(const struct http_request *req)
{
	const struct slice prefix = SLICE("/tempo/"), lens = SLICE("/zipkin/api/");

	if (req->tag == SERVICE_HTTP && slice_starts(req->path, prefix))
		return route_find(routes, req->method, slice_from(req->path, prefix.n - 1),
				  SERVICE_TEMPO);
	/* Zipkin's UI asks beside itself. */
	if (req->tag == SERVICE_ZIPKIN && slice_starts(req->path, lens))
		return route_find(routes, req->method, slice_from(req->path, 7), SERVICE_ZIPKIN);
	return route_find(routes, req->method, req->path, (unsigned)req->tag);
}

void api_admit(struct http_request *req, void *context)
{
	struct api *api = context;
	struct route_match match = find(req);
	struct api_request *a;

	if (!found(req, api, &match))
		return;
	a = arena_zalloc(&req->arena, 1, sizeof(*a));
	if (!a) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*a = (struct api_request){.api = api, .route = match.route, .parameter = match.parameter};
	req->user = a;
	if (!authorise(req, api, a))
		return;
	if (!req->is_grpc && !route_accepts(match.route, http_header_get(req, "content-type"))) {
		api_fail(req, 415, "%s takes %s, not '%.*s'", match.route->path,
			 match.route->accepts,
			 SLICE_ARG(slice_first(http_header_get(req, "content-type"), 100)));
		return;
	}
	if (match.route->max_body)
		req->max_body = MIN(req->max_body, match.route->max_body);
	if (match.route->open) {
		if (req->is_grpc)
			match.route->open(req, api);
		else
			api_fail(req, 415, "%s is a method of gRPC", match.route->path);
	}
}

void api_dispatch(struct http_request *req, void *context)
{
	api_request(req)->route->handle(req, context);
}

struct api_work {
	struct pool_job job;
	struct http_request *req;
	void (*work)(struct http_request *req, struct api *api);
	bool any_time; /* a query's time is not its limit */
};

void api_leash_begin(struct leash *l, struct http_request *req)
{
	struct api *api = api_request(req)->api;

	leash_begin(l, api->share, http_request_cancel_flag(req),
		    clock_mono_ns() + query_jobs_limits(api->queries)->time_ns);
}

static void work_run(struct pool_job *job)
{
	struct api_work *w = container_of(job, struct api_work, job);
	struct http_request *req = w->req;
	struct leash leash;
	int r;

	api_leash_begin(&leash, req);
	if (w->any_time)
		leash.end_ns = 0;
	r = leash_check();
	if (r < 0)
		api_fail_errno(req, r); /* nobody reads it when the client has gone */
	else
		w->work(req, api_request(req)->api);
	leash_end(&leash);
}

static void work_begin(struct http_request *req,
		       void (*work)(struct http_request *req, struct api *api), bool any_time)
{
	struct api_work *w = arena_zalloc(&req->arena, 1, sizeof(*w));

	if (!w) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*w = (struct api_work){{.run = work_run}, req, work, any_time};
	if (pool_submit(api_request(req)->api->pool, &w->job) < 0)
		api_fail(req, 503, "too many questions are waiting; try again in a second");
}

void api_work(struct http_request *req, void (*work)(struct http_request *req, struct api *api))
{
	work_begin(req, work, false);
}

void api_work_any_time(struct http_request *req,
		       void (*work)(struct http_request *req, struct api *api))
{
	work_begin(req, work, true);
}
