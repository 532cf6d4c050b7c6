/* api/routes.h - every path the server answers, in one table. */
#ifndef CAUSET_API_ROUTES_H
#define CAUSET_API_ROUTES_H

#include "api/api.h"

#define ROUTE_OPEN 0 /* no role is asked for */

struct route {
	const char *method;
	const char *path;    /* "/api/v1/traces/{id}": at most one parameter, a whole segment */
	unsigned services;   /* enum service: on which ports */
	unsigned role;       /* enum role, or ROUTE_OPEN */
	size_t max_body;     /* 0: what the server allows; ROUTE_NO_BODY: next to nothing */
	const char *accepts; /* content types of the body, ", " between them; NULL: any */
	void (*handle)(struct http_request *req, struct api *api);
	/* A gRPC method that answers with many messages: called in admit instead, it opens the
	 * stream; `handle` is then never called and may be NULL. */
	void (*open)(struct http_request *req, struct api *api);
};

#define ROUTE_QUERY_BODY ((size_t)8 << 20)  /* a text of the language as JSON, escapes and all */
#define ROUTE_FILES_BODY ((size_t)32 << 20) /* … and files that come along */
#define ROUTE_NO_BODY    1024               /* GETs may carry a little */
#define ROUTE_SMALL_BODY 1048576            /* a question */

/* Ends with a row without a path. */
extern const struct route routes[];

enum route_result {
	ROUTE_FOUND,
	ROUTE_NO_PATH,      /* nobody answers this path on this port */
	ROUTE_NO_METHOD,    /* the path, but not so: `allow` lists the methods */
	ROUTE_OTHER_SERVICE /* another port has it: `services` */
};

struct route_match {
	enum route_result result;
	const struct route *route;
	struct slice parameter;
	unsigned services; /* ROUTE_OTHER_SERVICE: where it would be found */
	char allow[64];    /* ROUTE_NO_METHOD: "GET, HEAD" */
};

/* Looks a request up.  HEAD is answered where GET is. */
struct route_match route_find(const struct route *table, struct slice method, struct slice path,
			      unsigned service);

/* Does the content type (parameters behind ';' aside) stand in `accepts`? */
bool route_accepts(const struct route *route, struct slice content_type);

/* What to tell a client that asked for a path nobody has, written into `out`, which is returned. */
const char *route_hint(const struct api *api, const struct http_request *req,
		       const struct route_match *match, char *out, size_t room);

#endif
