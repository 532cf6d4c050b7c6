/* http/guard.c - which names and which web pages may ask: Host against DNS rebinding, Origin for
 * CORS.
 *
 * A page of any site can make a browser send requests to 127.0.0.1, and can make its own host name
 * resolve to it (DNS rebinding), which turns them into same-origin requests.  The Host header then
 * has the attacker's name: on loopback only loopback's own names and configured ones are served. */
#include "base/cleanup.h"
#include "http/loop_int.h"

static bool in_list(char *const *list, struct slice name)
{
	for (; list && *list; list++)
		if (slice_eq_nocase(slice_cstr(*list), name))
			return true;
	return false;
}

/* "[::1]:80" → "[::1]", "localhost:80" → "localhost" */
static struct slice without_port(struct slice authority)
{
	const char *close =
		authority.n && authority.p[0] == '[' ? memchr(authority.p, ']', authority.n) : NULL;

	if (close)
		return slice_first(authority, (size_t)(close - authority.p) + 1);
	return slice_cut(&authority, ':');
}

static bool is_loopback_name(struct slice name)
{
	if (slice_eq_nocase(name, SLICE("localhost")) || slice_eq(name, SLICE("[::1]")) ||
	    slice_eq(name, SLICE("127.0.0.1")))
		return true;
	if (name.n > 10 && slice_eq_nocase(slice_from(name, name.n - 10), SLICE(".localhost")))
		return true;
	/* the rest of 127/8, digits and dots only */
	if (!slice_starts(name, SLICE("127.")))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] != '.' && (name.p[i] < '0' || name.p[i] > '9'))
			return false;
	return true;
}

static int check_host(struct http_exchange *x)
{
	struct slice name = without_port(x->req.authority);

	if (!x->conn->check_host || !x->req.authority.p || is_loopback_name(name) ||
	    in_list(x->loop->server->hosts, name))
		return 0;
	exchange_refuse(
		x, 421, HTTP_REFUSED_HOST,
		"this server listens on loopback and does not know the host name \"%.*s\"; ask "
		"for localhost or 127.0.0.1, or add the name to the server's allowed hosts",
		SLICE_ARG(slice_first(name, 100)));
	return -1;
}

/* With an allowed Origin: lets the page read the answer, and answers a preflight. */
static int check_origin(struct http_exchange *x)
{
	struct http_server *server = x->loop->server;
	struct http_request *req = &x->req;
	struct slice origin = http_header_get(req, "origin");
	bool preflight = slice_eq(req->method, SLICE("OPTIONS")) &&
			 http_header_get(req, "access-control-request-method").p;

	if (!origin.p || !server->cors_origins)
		return 0;
	if (!server->cors_any && !in_list(server->cors_origins, origin)) {
		if (!preflight)
			return 0; /* without the header the browser keeps the answer to itself */
		exchange_refuse(x, 403, HTTP_REFUSED_ORIGIN,
				"this origin is not among the server's allowed ones");
		return -1;
	}
	http_reply_header(req, "Access-Control-Allow-Origin",
			  server->cors_any ? SLICE("*") : origin);
	http_reply_header(req, "Vary", SLICE("Origin"));
	if (!preflight)
		return 0;
	http_reply_header(req, "Access-Control-Allow-Methods",
			  SLICE("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
	http_reply_header(req, "Access-Control-Allow-Headers",
			  http_header_get(req, "access-control-request-headers"));
	http_reply_header(req, "Access-Control-Max-Age", SLICE("3600"));
	x->in_callback = true;
	http_reply_static(req, 204, NULL, slice_of(NULL, 0));
	x->in_callback = false;
	return -1;
}

int guard_check(struct http_exchange *x)
{
	return check_host(x) < 0 || check_origin(x) < 0 ? -1 : 0;
}
