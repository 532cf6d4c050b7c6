/* api/metrics.c - the server's own numbers, for Prometheus.
 *
 * Modules count in structs of their own; here they are read and printed.  No registry: whoever adds
 * a counter adds a line here. */
#include "api/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/query_jobs.h"
#include "base/share.h"
#include "core/clock.h"
#include "feature/alert_consumer.h"
#include "ingest/ingest.h"

struct page {
	struct buffer *out;
	bool openmetrics;
};

/* Opens a family.  A counter's samples end in _total; OpenMetrics names the family without. */
static void family(struct page *p, const char *name, const char *type, const char *help)
{
	size_t n = strlen(name);

	if (p->openmetrics && strcmp(type, "counter") == 0 && n > 6)
		n -= 6; /* "_total" */
	buffer_printf(p->out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)n, name, help, (int)n, name,
		      type);
}

static void sample(struct page *p, const char *name, const char *labels, uint64_t value)
{
	buffer_printf(p->out, "%s%s %llu\n", name, labels, (unsigned long long)value);
}

static void counter(struct page *p, const char *name, const char *help, uint64_t value)
{
	family(p, name, "counter", help);
	sample(p, name, "", value);
}

static void gauge(struct page *p, const char *name, const char *help, uint64_t value)
{
	family(p, name, "gauge", help);
	sample(p, name, "", value);
}

static void gauge_seconds(struct page *p, const char *name, const char *type, const char *help,
			  double value)
{
	family(p, name, type, help);
	buffer_printf(p->out, "%s %.6f\n", name, value);
}

static void http_metrics(struct page *p, const struct http_counters *c)
{
	static const struct {
		int version;
		const char *labels;
	} versions[] = {
		{10, "{version=\"1.0\"}"}, {11, "{version=\"1.1\"}"}, {20, "{version=\"2\"}"}};

	counter(p, "causet_http_connections_total", "Connections accepted.", c->connections_total);
	gauge(p, "causet_http_connections_open", "Connections open now.", c->connections_open);
	family(p, "causet_http_requests_total", "counter", "Requests by HTTP version.");
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		sample(p, "causet_http_requests_total", versions[i].labels,
		       c->requests[versions[i].version]);
	family(p, "causet_http_responses_total", "counter", "Answers by class of status.");
	for (int class = 1; class <= 5; class ++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "{class=\"%dxx\"}", class);
		sample(p, "causet_http_responses_total", labels, c->responses[class]);
	}
	counter(p, "causet_http_grpc_errors_total", "gRPC answers with a status other than OK.",
		c->grpc_errors);
	counter(p, "causet_http_cancelled_total", "Requests whose client left before the answer.",
		c->cancelled);
	counter(p, "causet_http_received_bytes_total", "Bytes read from sockets.", c->bytes_in);
	counter(p, "causet_http_sent_bytes_total", "Bytes written to sockets.", c->bytes_out);
	gauge(p, "causet_http_body_bytes", "Memory that request bodies take now.", c->memory_bytes);
	counter(p, "causet_http_tls_failures_total", "Failed TLS handshakes.", c->tls_failures);
	family(p, "causet_http_refused_total", "counter",
	       "Requests and connections refused, by cause.");
	for (int i = 0; i < HTTP_REFUSALS; i++) {
		char labels[64];

		snprintf(labels, sizeof(labels), "{cause=\"%s\"}", http_refusal_name(i));
		sample(p, "causet_http_refused_total", labels, c->refused[i]);
	}
}

/* One family, a sample for each kind of request. */
static void by_kind(struct page *p, const struct ingest_counters *c, size_t field, const char *name,
		    const char *help)
{
	family(p, name, "counter", help);
	for (int kind = 0; kind < INGEST_KINDS; kind++) {
		const char *row = (const char *)&c->kinds[kind];
		char labels[32];

		snprintf(labels, sizeof(labels), "{kind=\"%s\"}", ingest_kind_name(kind));
		sample(p, name, labels, *(const _Atomic uint64_t *)(const void *)(row + field));
	}
}

static void ingest_metrics(struct page *p, const struct ingest_counters *c)
{
#define FIELD(name)                                                                                \
	(offsetof(struct ingest_counters, kinds[0].name) - offsetof(struct ingest_counters, kinds))
	by_kind(p, c, FIELD(requests), "causet_ingest_requests_total",
		"Requests to take something in.");
	by_kind(p, c, FIELD(bytes), "causet_ingest_bytes_total",
		"Bytes of their bodies, decompressed.");
	by_kind(p, c, FIELD(accepted), "causet_ingest_accepted_total",
		"Spans, log records and events acknowledged.");
	by_kind(p, c, FIELD(rejected), "causet_ingest_rejected_total",
		"Spans, log records, data points and events refused one by one.");
	by_kind(p, c, FIELD(malformed), "causet_ingest_malformed_total",
		"Requests that could not be read.");
	by_kind(p, c, FIELD(repeated), "causet_ingest_repeated_total",
		"Requests seen before: acknowledged, not stored again.");
	by_kind(p, c, FIELD(refused), "causet_ingest_refused_total",
		"Requests the store had no room for.");
	by_kind(p, c, FIELD(failed), "causet_ingest_failed_total",
		"Requests the store could not keep.");
#undef FIELD
	counter(p, "causet_ingest_sampled_out_total",
		"Events of traces that the second sampling (causet keep) leaves out.",
		c->sampled_out);
	counter(p, "causet_ingest_attributes_dropped_total",
		"Attributes dropped by redaction rules.", c->attributes_dropped);
	counter(p, "causet_ingest_attributes_hashed_total", "Attributes hashed by redaction rules.",
		c->attributes_hashed);
}

static void disk_metrics(struct page *p, const struct store_stats *s)
{
	family(p, "causet_store_thinned_traces_total", "counter",
	       "Traces judged by rules for thinning, by what became of them.");
	for (int i = 0; i < THIN_FATES; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "{fate=\"%s\"}", thinned_name(i));
		sample(p, "causet_store_thinned_traces_total", labels, s->thinned[i]);
	}
	gauge(p, "causet_store_segments", "Segments.", s->segments);
	gauge(p, "causet_store_segment_bytes", "Bytes of their files.", s->segment_bytes);
	gauge(p, "causet_store_log_files", "Files of the log.", s->log_files);
	gauge(p, "causet_store_log_bytes", "Bytes of their records not in segments yet, about.",
	      s->log_bytes);
	counter(p, "causet_store_log_records_total", "Batches written to the log.", s->log_records);
	counter(p, "causet_store_log_written_bytes_total", "Bytes written to the log.",
		s->log_written_bytes);
	counter(p, "causet_store_log_syncs_total", "Times the log was synced.", s->log_syncs);
	counter(p, "causet_store_log_failures_total", "Writes and syncs of the log that failed.",
		s->log_failures);
	counter(p, "causet_store_flushes_total", "Segments written from memory.", s->flushes);
	counter(p, "causet_store_flush_failures_total", "Times that failed; it is tried again.",
		s->flush_failures);
	counter(p, "causet_store_flushed_events_total", "Events written to them.",
		s->flushed_events);
	counter(p, "causet_store_flushed_bytes_total", "Bytes written to them.", s->flushed_bytes);
	counter(p, "causet_store_compactions_total", "Segments made of several others.",
		s->compactions);
	counter(p, "causet_store_compaction_failures_total",
		"Times that failed; it is tried again.", s->compaction_failures);
	counter(p, "causet_store_compacted_events_total", "Events written again.",
		s->compacted_events);
	counter(p, "causet_store_compacted_bytes_total", "Bytes written again.",
		s->compacted_bytes);
	counter(p, "causet_store_removed_segments_total", "Segments removed by retention.",
		s->removed_segments);
	counter(p, "causet_store_removed_events_total", "Events in them.", s->removed_events);
	counter(p, "causet_store_removed_bytes_total", "Bytes of them.", s->removed_bytes);
	counter(p, "causet_store_damaged_total", "Files and blocks that could not be read.",
		s->damaged);
}

static void store_metrics(struct page *p, struct store *store)
{
	struct store_stats s = store_stats(store);

	gauge(p, "causet_store_batches", "Batches kept.", s.batches);
	gauge(p, "causet_store_events", "Events kept.", s.events);
	gauge(p, "causet_store_spans", "Spans kept.", s.spans);
	gauge(p, "causet_store_traces", "Traces kept.", s.traces);
	gauge(p, "causet_store_bytes", "Memory that events take.", s.bytes);
	gauge(p, "causet_store_limit_bytes", "Memory that events may take.", s.bytes_limit);
	family(p, "causet_store_refused_total", "counter", "Batches refused, by cause.");
	for (int i = 0; i < STORE_REFUSALS; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "{cause=\"%s\"}", store_refusal_name(i));
		sample(p, "causet_store_refused_total", labels, s.refused[i]);
	}
	if (s.durable)
		disk_metrics(p, &s);
}

static void pool_metrics(struct page *p, struct pool *pool, const struct share *share)
{
	struct pool_stats s = pool_stats(pool);

	counter(p, "causet_api_jobs_total", "Questions answered by worker threads.", s.done);
	counter(p, "causet_api_jobs_refused_total",
		"Questions refused because too many were waiting.", s.refused);
	if (share) {
		counter(p, "causet_api_waits_total",
			"Times that a question was kept waiting because ingest needed the "
			"processors.",
			atomic_load(&share->waits));
		counter(p, "causet_api_waited_milliseconds_total", "How long, in all.",
			atomic_load(&share->waited_ns) / NS_PER_MS);
	}
	gauge(p, "causet_api_jobs_waiting", "Questions waiting for a worker thread.", s.waiting);
	gauge(p, "causet_api_jobs_running", "Questions being answered.", s.running);
}

static void query_metrics(struct page *p, struct query_jobs *jobs)
{
	struct query_counters *c = query_jobs_counters(jobs);

	counter(p, "causet_queries_total", "Queries started.", atomic_load(&c->started));
	counter(p, "causet_queries_refused_total", "Queries refused because too many were running.",
		atomic_load(&c->refused));
	counter(p, "causet_queries_failed_total", "Queries that failed or went over a budget.",
		atomic_load(&c->failed));
	counter(p, "causet_queries_cancelled_total", "Queries cancelled, also by going away.",
		atomic_load(&c->cancelled));
	counter(p, "causet_query_rows_total", "Rows that queries have given.",
		atomic_load(&c->rows));
	gauge(p, "causet_queries_running", "Queries running.", query_jobs_running(jobs));
}

static void alert_metrics(struct page *p, const struct alert_counters *c)
{
	gauge(p, "causet_alert_rules", "Rules that are evaluated.", atomic_load(&c->rules));
	gauge(p, "causet_alert_pending", "Alerts that are pending.", atomic_load(&c->pending));
	gauge(p, "causet_alert_firing", "Alerts that fire.", atomic_load(&c->firing));
	gauge(p, "causet_alert_notifications_waiting", "Notifications not delivered yet.",
	      atomic_load(&c->waiting));
	counter(p, "causet_alert_evaluations_total", "Evaluations of rules.",
		atomic_load(&c->evaluations));
	counter(p, "causet_alert_evaluation_failures_total", "Evaluations that failed.",
		atomic_load(&c->evaluation_failures));
	counter(p, "causet_alert_windows_skipped_total",
		"Windows of rules that were too far behind to be caught up with.",
		atomic_load(&c->windows_skipped));
	counter(p, "causet_alert_overflowed_total", "Alerts that found no room.",
		atomic_load(&c->overflowed));
	counter(p, "causet_alert_late_rows_total",
		"Rows that came too late for every window of a rule.", atomic_load(&c->late_rows));
	counter(p, "causet_alert_notifications_total", "Notifications that webhooks took.",
		atomic_load(&c->notifications));
	counter(p, "causet_alert_notification_failures_total",
		"Tries to notify a webhook that failed.", atomic_load(&c->notification_failures));
	counter(p, "causet_alert_notifications_dropped_total",
		"Notifications dropped because too many were waiting.",
		atomic_load(&c->notifications_dropped));
}

static uint64_t count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (!folder)
		return 0;
	while (readdir(folder))
		n++;
	closedir(folder);
	return n > 3 ? n - 3 : 0; /* ".", ".." and the folder itself */
}

static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long size = 0, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Prometheus' standard names for any process. */
static void process_metrics(struct page *p, int64_t started_ns)
{
	struct rusage usage;
	struct rlimit files;

	getrusage(RUSAGE_SELF, &usage);
	gauge_seconds(p, "process_cpu_seconds_total", "counter", "CPU time, user and system.",
		      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	gauge(p, "process_resident_memory_bytes", "Resident memory.", resident_bytes());
	gauge(p, "process_open_fds", "Open file descriptors.", count_fds());
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		gauge(p, "process_max_fds", "File descriptors that may be open.", files.rlim_cur);
	gauge_seconds(p, "process_start_time_seconds", "gauge", "Start, in seconds since 1970.",
		      (double)started_ns / 1e9);
}

void metrics_write(struct api *api, bool openmetrics, struct buffer *out)
{
	struct page p = {out, openmetrics};
	const struct http_counters *counters = atomic_load(&api->counters);

	family(&p, "causet_build_info", "gauge", "What this program is; always 1.");
	sample(&p, "causet_build_info", "{version=\"" CAUSET_VERSION "\"}", 1);
	gauge(&p, "causet_ready", "1 while the server is ready for work.",
	      atomic_load(&api->ready));
	if (counters)
		http_metrics(&p, counters);
	if (api->ingest)
		ingest_metrics(&p, ingest_counters(api->ingest));
	store_metrics(&p, api->store);
	pool_metrics(&p, api->pool, api->share);
	if (api->queries)
		query_metrics(&p, api->queries);
	if (api->alerts)
		alert_metrics(&p, alert_consumer_counters(api->alerts));
	process_metrics(&p, api->started_ns);
	if (openmetrics)
		buffer_text(out, "# EOF\n");
}

void metrics_get(struct http_request *req, struct api *api)
{
	struct slice accept = http_header_get(req, "accept");
	bool openmetrics =
		accept.n > 0 && memmem(accept.p, accept.n, "application/openmetrics-text", 28);
	struct buffer out = {0};

	metrics_write(api, openmetrics, &out);
	http_reply_buffer(req, 200,
			  openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				      : "text/plain; version=0.0.4; charset=utf-8",
			  &out);
	buffer_done(&out);
}
