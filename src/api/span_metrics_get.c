/* api/span_metrics_get.c - /metrics/spans: calls, latencies and the service graph for Prometheus.
 *
 * Names and labels are those of Tempo's metrics generator, because Grafana's panels ask for them.
 * Exemplars stand only in OpenMetrics, which is given to who accepts it. */
#include "api/span_metrics_get.h"

#include "core/clock.h"
#include "core/utf8.h"
#include "feature/span_consumer.h"

struct page {
	struct buffer *out;
	bool openmetrics;
};

/* What stands between the braces of a sample. */
struct labels {
	const char *const *names;
	size_t n;
};

static const char *const span_names[SPAN_LABELS] = {
	[SPAN_SERVICE] = "service",
	[SPAN_NAME] = "span_name",
	[SPAN_KIND] = "span_kind",
	[SPAN_STATUS] = "status_code",
};
static const char *const graph_names[GRAPH_LABELS] = {
	[GRAPH_CLIENT] = "client",
	[GRAPH_SERVER] = "server",
	[GRAPH_TYPE] = "connection_type",
};
static const struct labels span_labels = {span_names, SPAN_LABELS};
static const struct labels graph_labels = {graph_names, GRAPH_LABELS};

static void put_value(struct buffer *out, struct slice text)
{
	size_t at = 0;

	while (at < text.n) {
		size_t good = utf8_valid_prefix(slice_from(text, at));

		for (size_t end = at + good; at < end; at++) {
			if (text.p[at] == '\\' || text.p[at] == '"')
				buffer_byte(out, '\\');
			if (text.p[at] == '\n')
				buffer_text(out, "\\n");
			else
				buffer_byte(out, text.p[at]);
		}
		if (at < text.n) {
			buffer_text(out, "\xef\xbf\xbd");
			at++;
		}
	}
}

static void put_labels(struct page *p, const struct labels *l, const struct series *s)
{
	for (size_t i = 0; i < l->n; i++) {
		buffer_printf(p->out, "%s%s=\"", i ? "," : "{", l->names[i]);
		put_value(p->out, s->labels[i]);
		buffer_byte(p->out, '"');
	}
}

static void family(struct page *p, const char *name, const char *type, const char *help)
{
	size_t n = strlen(name);

	if (p->openmetrics && strcmp(type, "counter") == 0)
		n -= 6; /* "_total" */
	buffer_printf(p->out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)n, name, help, (int)n, name,
		      type);
}

static void sample(struct page *p, const char *name, const struct labels *l, const struct series *s,
		   double value)
{
	buffer_text(p->out, name);
	put_labels(p, l, s);
	buffer_printf(p->out, "} %.15g\n", value);
}

static void put_exemplar(struct page *p, const struct exemplar *e)
{
	char id[TRACE_ID_HEX + 1];

	if (!p->openmetrics || e->time_ns == 0)
		return;
	trace_id_format(e->trace, id);
	buffer_printf(p->out, " # {trace_id=\"%s\"} %.9g %.3f", id, e->value,
		      (double)e->time_ns / (double)NS_PER_S);
}

static void histogram(struct page *p, const char *name, const struct labels *l,
		      const struct series *s, const struct latency *latency)
{
	double count = 0;

	for (size_t i = 0; i <= LATENCY_BUCKETS; i++) {
		count += latency->counts[i];
		buffer_printf(p->out, "%s_bucket", name);
		put_labels(p, l, s);
		if (i < LATENCY_BUCKETS)
			buffer_printf(p->out, ",le=\"%.15g\"} %.15g", latency_bound(i), count);
		else
			buffer_printf(p->out, ",le=\"+Inf\"} %.15g", count);
		put_exemplar(p, &latency->exemplars[i]);
		buffer_byte(p->out, '\n');
	}
	buffer_printf(p->out, "%s_sum", name);
	put_labels(p, l, s);
	buffer_printf(p->out, "} %.15g\n%s_count", latency->sum, name);
	put_labels(p, l, s);
	buffer_printf(p->out, "} %.15g\n", count);
}

static void put_spans(struct page *p, const struct series_set *set)
{
	family(p, "traces_spanmetrics_calls_total", "counter", "Spans by operation.");
	for (size_t i = 0; i < set->n; i++)
		sample(p, "traces_spanmetrics_calls_total", &span_labels, &set->rows[i],
		       set->rows[i].calls);
	family(p, "traces_spanmetrics_latency", "histogram", "How long they took, in seconds.");
	for (size_t i = 0; i < set->n; i++)
		histogram(p, "traces_spanmetrics_latency", &span_labels, &set->rows[i],
			  &set->rows[i].latencies[0]);
}

static void put_graph(struct page *p, const struct series_set *set)
{
	static const char *const names[GRAPH_LATENCIES] = {
		[GRAPH_SERVER_SECONDS] = "traces_service_graph_request_server_seconds",
		[GRAPH_CLIENT_SECONDS] = "traces_service_graph_request_client_seconds",
	};

	family(p, "traces_service_graph_request_total", "counter", "Calls from client to server.");
	for (size_t i = 0; i < set->n; i++)
		sample(p, "traces_service_graph_request_total", &graph_labels, &set->rows[i],
		       set->rows[i].calls);
	family(p, "traces_service_graph_request_failed_total", "counter",
	       "Of these, calls that failed on either side.");
	for (size_t i = 0; i < set->n; i++)
		sample(p, "traces_service_graph_request_failed_total", &graph_labels, &set->rows[i],
		       set->rows[i].failed);
	for (size_t k = 0; k < GRAPH_LATENCIES; k++) {
		family(p, names[k], "histogram",
		       k == GRAPH_SERVER_SECONDS ? "How long they took for the server."
						 : "How long they took for the client.");
		for (size_t i = 0; i < set->n; i++)
			histogram(p, names[k], &graph_labels, &set->rows[i],
				  &set->rows[i].latencies[k]);
	}
}

static void put_number(struct page *p, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	family(p, name, type, help);
	buffer_printf(p->out, "%s %llu\n", name, (unsigned long long)value);
}

/* About itself: what was left out, and how far it is. */
static void put_own(struct page *p, const struct span_metrics *m)
{
	put_number(p, "causet_span_metrics_spans_total", "counter", "Spans counted.", m->seen);
	put_number(p, "causet_span_metrics_overflowed_total", "counter",
		   "Spans and calls counted under causet_overflow.",
		   m->spans.overflowed + m->graph.edges.overflowed);
	put_number(p, "causet_span_metrics_skipped_rows_total", "counter",
		   "Rows not counted because they may have been counted before.", m->skipped);
	put_number(p, "causet_span_metrics_series", "gauge", "Series, histograms counted as one.",
		   m->spans.n + m->graph.edges.n);
	put_number(p, "causet_service_graph_unpaired_total", "counter",
		   "Halves of calls whose other half did not come in time.", m->graph.unpaired);
}

static void work(struct http_request *req, struct api *api)
{
	struct slice accept = http_header_get(req, "accept");
	struct buffer out = {0};
	struct page p = {.out = &out,
			 .openmetrics = accept.n > 0 && memmem(accept.p, accept.n,
							       "application/openmetrics-text", 28)};
	struct span_metrics *m = span_consumer_metrics(api->spans);
	int r = span_consumer_catch_up(api->spans);

	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	pthread_mutex_lock(&m->lock);
	put_spans(&p, &m->spans);
	put_graph(&p, &m->graph.edges);
	put_own(&p, m);
	pthread_mutex_unlock(&m->lock);
	if (p.openmetrics)
		buffer_text(&out, "# EOF\n");
	http_reply_buffer(req, 200,
			  p.openmetrics
				  ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				  : "text/plain; version=0.0.4; charset=utf-8",
			  &out);
	buffer_done(&out);
}

void span_metrics_get(struct http_request *req, struct api *api)
{
	if (!api->spans)
		api_fail(req, 404, "span metrics are off: set span-metrics = on");
	else
		api_work(req, work);
}
