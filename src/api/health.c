/* api/health.c - /live and /ready, for supervisors and load balancers. */
#include "api/health.h"

/* The process answers: that is all a supervisor needs to know before it restarts one. */
void health_live(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "text/plain", SLICE("live\n"));
}

/* Not ready while starting and while draining: send new work elsewhere. */
void health_ready(struct http_request *req, struct api *api)
{
	if (atomic_load(&api->ready))
		http_reply_static(req, 200, "text/plain", SLICE("ready\n"));
	else
		http_reply_static(req, 503, "text/plain", SLICE("not ready\n"));
}
