/* api/routes.c - every path the server answers. */
#include "api/routes.h"

#include "api/alerts.h"
#include "api/backup.h"
#include "api/bulk_get.h"
#include "api/health.h"
#include "api/jaeger_grpc.h"
#include "api/jaeger_lists.h"
#include "api/jaeger_metrics.h"
#include "api/jaeger_traces.h"
#include "api/jaeger_v3.h"
#include "api/mcp_post.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "api/query_post.h"
#include "api/receive.h"
#include "api/search.h"
#include "api/span_metrics_get.h"
#include "api/tempo_metrics.h"
#include "api/tempo_search.h"
#include "api/tempo_tags.h"
#include "api/tempo_trace.h"
#include "api/tempo_values.h"
#include "api/tool_post.h"
#include "api/trace_get.h"
#include "api/tracepoints.h"
#include "api/zipkin_lists.h"
#include "api/zipkin_traces.h"

#define POSTED "application/x-protobuf, application/json, application/protobuf"

const struct route routes[] = {
	/* method, path, ports, role, body, content types, handler */
	{"GET", "/live", SERVICE_ANY, ROUTE_OPEN, ROUTE_NO_BODY, NULL, health_live},
	{"GET", "/ready", SERVICE_ANY, ROUTE_OPEN, ROUTE_NO_BODY, NULL, health_ready},
	{"GET", "/metrics", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, metrics_get},
	{"GET", "/metrics/spans", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, span_metrics_get},

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

	{"GET", "/api/v2/services", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_services},
	{"GET", "/api/v2/spans", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL, zipkin_span_names},
	{"GET", "/api/v2/remoteServices", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_remote_services},
	{"GET", "/api/v2/traces", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL, zipkin_traces},
	{"GET", "/api/v2/trace/{id}", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL, zipkin_trace},
	{"GET", "/api/v2/traceMany", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_trace_many},
	{"GET", "/api/v2/dependencies", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_dependencies},
	{"GET", "/api/v2/autocompleteKeys", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_autocomplete_keys},
	{"GET", "/api/v2/autocompleteValues", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_autocomplete_values},
	{"GET", "/zipkin/config.json", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL,
	 zipkin_config},
	{"GET", "/info", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL, zipkin_info},
	{"GET", "/health", SERVICE_ZIPKIN, ROLE_READ, ROUTE_NO_BODY, NULL, zipkin_health},

	{"GET", "/api/services", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, jaeger_services},
	{"GET", "/api/services/{service}/operations", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_service_operations},
	{"GET", "/api/operations", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, jaeger_operations},
	{"GET", "/api/traces", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, jaeger_traces},
	{"GET", "/api/traces/{id}", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, jaeger_trace},
	{"POST", "/api/archive/{id}", SERVICE_HTTP, ROLE_READ, ROUTE_SMALL_BODY, NULL,
	 jaeger_archive},
	{"GET", "/api/metrics/latencies", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_metrics_latencies},
	{"GET", "/api/metrics/calls", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_metrics_calls},
	{"GET", "/api/metrics/errors", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_metrics_errors},
	{"GET", "/api/metrics/minstep", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_metrics_min_step},
	{"GET", "/api/dependencies", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_dependencies},
	{"GET", "/api/v3/services", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_v3_services},
	{"GET", "/api/v3/operations", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_v3_operations},
	{"GET", "/api/v3/traces", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, jaeger_v3_traces},
	{"POST", "/api/v3/traces", SERVICE_HTTP, ROLE_READ, ROUTE_SMALL_BODY, NULL,
	 jaeger_v3_traces},
	{"GET", "/api/v3/traces/{id}", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_v3_trace},
	{"GET", "/api/v3/trace-summaries", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_v3_summaries},
	{"POST", "/api/v3/trace-summaries", SERVICE_HTTP, ROLE_READ, ROUTE_SMALL_BODY, NULL,
	 jaeger_v3_summaries},
	{"GET", "/api/v3/dependencies", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_v3_dependencies},
	{"GET", "/api/v3/capabilities", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL,
	 jaeger_v3_capabilities},
	{"POST", "/jaeger.api_v3.QueryService/GetServices", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, jaeger_grpc_services},
	{"POST", "/jaeger.api_v3.QueryService/GetOperations", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, jaeger_grpc_operations},
	{"POST", "/jaeger.api_v3.QueryService/GetDependencies", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, jaeger_grpc_dependencies},
	{"POST", "/jaeger.api_v3.QueryService/GetTrace", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, jaeger_grpc_trace},
	{"POST", "/jaeger.api_v3.QueryService/FindTraces", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, jaeger_grpc_traces},
	{"POST", "/jaeger.api_v3.QueryService/FindTraceSummaries", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, jaeger_grpc_summaries},
	{"POST", "/jaeger.api_v3.Capabilities/GetCapabilities", SERVICE_JAEGER_GRPC, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, jaeger_grpc_capabilities},
	/* Tempo's are also under /tempo on causet's own port: api/dispatch.c. */
	{"GET", "/api/echo", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL, tempo_echo},
	{"GET", "/api/status/buildinfo", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_buildinfo},
	{"GET", "/api/traces/{id}", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL, tempo_trace_v1},
	{"GET", "/api/v2/traces/{id}", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_trace_v2},
	{"GET", "/api/search", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL, tempo_search},
	{"GET", "/api/metrics/query_range", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_query_range},
	{"GET", "/api/metrics/query", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_query_instant},
	{"GET", "/api/search/tags", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL, tempo_tags_v1},
	{"GET", "/api/v2/search/tags", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_tags_v2},
	{"GET", "/api/search/tag/{tag}/values", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_values_v1},
	{"GET", "/api/v2/search/tag/{tag}/values", SERVICE_TEMPO, ROLE_READ, ROUTE_NO_BODY, NULL,
	 tempo_values_v2},
	{"POST", "/tempopb.StreamingQuerier/Search", SERVICE_TEMPO, ROLE_READ, ROUTE_SMALL_BODY,
	 NULL, NULL, tempo_stream_search},
	{"POST", "/tempopb.StreamingQuerier/SearchTags", SERVICE_TEMPO, ROLE_READ, ROUTE_SMALL_BODY,
	 NULL, NULL, tempo_stream_tags_v1},
	{"POST", "/tempopb.StreamingQuerier/SearchTagsV2", SERVICE_TEMPO, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, tempo_stream_tags_v2},
	{"POST", "/tempopb.StreamingQuerier/SearchTagValues", SERVICE_TEMPO, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, tempo_stream_values_v1},
	{"POST", "/tempopb.StreamingQuerier/SearchTagValuesV2", SERVICE_TEMPO, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, tempo_stream_values_v2},
	{"POST", "/tempopb.StreamingQuerier/MetricsQueryRange", SERVICE_TEMPO, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, tempo_stream_query_range},
	{"POST", "/tempopb.StreamingQuerier/MetricsQueryInstant", SERVICE_TEMPO, ROLE_READ,
	 ROUTE_SMALL_BODY, NULL, NULL, tempo_stream_query_instant},
	{"POST", "/api/transform", SERVICE_HTTP, ROLE_READ, 0, "application/json",
	 jaeger_transform},

	{"POST", "/api/query", SERVICE_HTTP, ROLE_QUERY, ROUTE_FILES_BODY, "application/json",
	 query_post},
	{"GET", "/api/query", SERVICE_HTTP, ROLE_QUERY, ROUTE_NO_BODY, NULL, queries_get},
	{"DELETE", "/api/query/{id}", SERVICE_HTTP, ROLE_QUERY, ROUTE_NO_BODY, NULL, query_delete},
	{"GET", "/api/tracepoints", SERVICE_HTTP, ROLE_QUERY, ROUTE_NO_BODY, NULL, tracepoints_get},
	{"POST", "/api/tracepoints", SERVICE_HTTP, ROLE_QUERY, ROUTE_QUERY_BODY, "application/json",
	 tracepoints_post},
	{"DELETE", "/api/tracepoints/{name}", SERVICE_HTTP, ROLE_QUERY, ROUTE_NO_BODY, NULL,
	 tracepoint_delete},
	{"GET", "/api/openapi.json", SERVICE_HTTP, ROLE_QUERY, ROUTE_NO_BODY, NULL, openapi_get},

	{"GET", "/api/v1/services", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, services_get},
	{"GET", "/api/v1/traces", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, traces_get},
	{"GET", "/api/v1/traces/{id}", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, trace_get},
	{"GET", "/api/v1/bulk", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, bulk_get},
	{"GET", "/api/v1/tools", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, tools_get},
	{"POST", "/api/v1/tools/{name}", SERVICE_HTTP, ROLE_READ, ROUTE_SMALL_BODY,
	 "application/json", tool_post},
	{"POST", "/api/mcp", SERVICE_HTTP, ROLE_READ, ROUTE_SMALL_BODY, "application/json",
	 mcp_post},
	{"GET", "/api/v1/export", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, export_get},
	{"GET", "/api/v1/alerts", SERVICE_HTTP, ROLE_READ, ROUTE_NO_BODY, NULL, alerts_get},
	{"POST", "/api/v1/alerts", SERVICE_HTTP, ROLE_ADMIN, ROUTE_QUERY_BODY, "application/json",
	 alerts_post},
	{"POST", "/api/v1/alerts/test", SERVICE_HTTP, ROLE_ADMIN, ROUTE_QUERY_BODY,
	 "application/json", alert_test},
	{"DELETE", "/api/v1/alerts/{name}", SERVICE_HTTP, ROLE_ADMIN, ROUTE_NO_BODY, NULL,
	 alert_delete},
	{"POST", "/api/v1/backup", SERVICE_HTTP, ROLE_ADMIN, ROUTE_NO_BODY, "application/json",
	 backup_post},
	{0},
};
