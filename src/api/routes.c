/* api/routes.c - every path the server answers. */
#include "api/routes.h"

#include "api/health.h"
#include "api/metrics.h"
#include "api/search.h"

const struct route routes[] = {
	/* method, path, ports, role, body, content types, handler */
	{"GET", "/live", SERVICE_ANY, ROUTE_OPEN, ROUTE_NO_BODY, NULL, health_live},
	{"GET", "/ready", SERVICE_ANY, ROUTE_OPEN, ROUTE_NO_BODY, NULL, health_ready},
	{"GET", "/metrics", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, metrics_get},

	{"GET", "/api/v1/services", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, services_get},
	{"GET", "/api/v1/traces", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, traces_get},
	{0},
};
