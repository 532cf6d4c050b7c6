/* api/routes.c - every path the server answers. */
#include "api/routes.h"

#include "api/backup.h"
#include "api/health.h"
#include "api/metrics.h"
#include "api/receive.h"
#include "api/search.h"
#include "api/trace_get.h"

#define POSTED "application/x-protobuf, application/json, application/protobuf"

const struct route routes[] = {
	/* method, path, ports, role, body, content types, handler */
	{"GET", "/live", SERVICE_ANY, ROUTE_OPEN, ROUTE_NO_BODY, NULL, health_live},
	{"GET", "/ready", SERVICE_ANY, ROUTE_OPEN, ROUTE_NO_BODY, NULL, health_ready},
	{"GET", "/metrics", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, metrics_get},

	{"POST", "/v1/traces", SERVICE_OTLP_HTTP, ROLE_INGEST, 0, POSTED, receive_traces},
	{"POST", "/v1/logs", SERVICE_OTLP_HTTP, ROLE_INGEST, 0, POSTED, receive_logs},
	{"POST", "/v1/metrics", SERVICE_OTLP_HTTP, ROLE_INGEST, 0, POSTED, receive_metrics},
	{"POST", "/v1/events", SERVICE_OTLP_HTTP, ROLE_INGEST, 0, POSTED, receive_events},
	{"POST", "/opentelemetry.proto.collector.trace.v1.TraceService/Export", SERVICE_OTLP_GRPC,
	 ROLE_INGEST, 0, NULL, receive_traces},
	{"POST", "/opentelemetry.proto.collector.logs.v1.LogsService/Export", SERVICE_OTLP_GRPC,
	 ROLE_INGEST, 0, NULL, receive_logs},
	{"POST", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
	 SERVICE_OTLP_GRPC, ROLE_INGEST, 0, NULL, receive_metrics},
	{"POST", "/causet.v1.EventService/Export", SERVICE_OTLP_GRPC, ROLE_INGEST, 0, NULL,
	 receive_events},
	{"POST", "/api/v2/spans", SERVICE_ZIPKIN, ROLE_INGEST, 0, POSTED, receive_zipkin},

	{"GET", "/api/v1/services", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, services_get},
	{"GET", "/api/v1/traces", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, traces_get},
	{"GET", "/api/v1/traces/{id}", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, trace_get},
	{"GET", "/api/v1/export", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, export_get},
	{"POST", "/api/v1/backup", SERVICE_HTTP, ROLE_ADMIN, ROUTE_NO_BODY, "application/json",
	 backup_post},
	{0},
};
