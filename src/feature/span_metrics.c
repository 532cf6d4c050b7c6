/* feature/span_metrics.c - numbers about spans. */
#include "feature/span_metrics.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/hash.h"
#include "sampling/second.h"
#include "sampling/trace_sampling.h"

#define CACHE 512 /* a power of two */

int span_metrics_init(struct span_metrics *m)
{
	int r;

	*m = (struct span_metrics){.lock = PTHREAD_MUTEX_INITIALIZER};
	r = service_graph_init(&m->graph);
	if (r == 0)
		series_set_init(&m->spans, SPAN_LABELS, 1, SPAN_SERIES);
	return r;
}

void span_metrics_done(struct span_metrics *m)
{
	service_graph_done(&m->graph);
	series_set_done(&m->spans);
	pthread_mutex_destroy(&m->lock);
}

/* Spans of one batch say the same names over and over: which series that was. */
struct cache {
	struct {
		const struct batch *batch;
		uint32_t resource, name;
		int32_t kind, status;
		int64_t series;
	} rows[CACHE];
};

static struct slice kind_text(int32_t kind)
{
	static const struct slice names[] = {
		{"SPAN_KIND_UNSPECIFIED", 21}, {"SPAN_KIND_INTERNAL", 18},
		{"SPAN_KIND_SERVER", 16},      {"SPAN_KIND_CLIENT", 16},
		{"SPAN_KIND_PRODUCER", 18},    {"SPAN_KIND_CONSUMER", 18},
	};

	return names[kind >= 0 && (size_t)kind < ARRAY_SIZE(names) ? kind : 0];
}

static struct slice status_text(int32_t status)
{
	return status == STATUS_ERROR ? SLICE("STATUS_CODE_ERROR")
	       : status == STATUS_OK  ? SLICE("STATUS_CODE_OK")
				      : SLICE("STATUS_CODE_UNSET");
}

static int64_t series_of(struct span_metrics *m, struct cache *cache, struct event_ref ref)
{
	const struct event *e = event_get(ref);
	uint64_t hash = hash_u64((uint64_t)e->name << 32 | e->resource,
				 (uint64_t)(uintptr_t)ref.batch + (uint32_t)e->kind);
	size_t at = hash % CACHE;

	if (cache->rows[at].batch != ref.batch || cache->rows[at].resource != e->resource ||
	    cache->rows[at].name != e->name || cache->rows[at].kind != e->kind ||
	    cache->rows[at].status != e->status) {
		const struct slice labels[SPAN_LABELS] = {
			[SPAN_SERVICE] = batch_service(ref.batch, e),
			[SPAN_NAME] = batch_text(ref.batch, e->name),
			[SPAN_KIND] = kind_text(e->kind),
			[SPAN_STATUS] = status_text(e->status),
		};
		uint64_t before = m->spans.overflowed;
		int64_t series = series_get(&m->spans, labels);

		/* What found no room is looked up, and counted, each time. */
		if (series < 0 || m->spans.overflowed != before)
			return series;
		cache->rows[at].batch = ref.batch;
		cache->rows[at].resource = e->resource;
		cache->rows[at].name = e->name;
		cache->rows[at].kind = e->kind;
		cache->rows[at].status = e->status;
		cache->rows[at].series = series;
	}
	return cache->rows[at].series;
}

/* How many spans this one stands for. */
static double weight_of(struct event_ref ref)
{
	const struct event *e = event_get(ref);
	uint32_t state = batch_extra_get(ref.batch, e)->trace_state;
	uint64_t first = THRESHOLD_UNKNOWN;
	bool known;

	if (state == 0 && ref.batch->kept_threshold == 0)
		return 1;
	if (state) {
		first = trace_sampling_parse(batch_text(ref.batch, state), e->trace_id).threshold;
		if (first >= THRESHOLD_NEVER)
			first = THRESHOLD_UNKNOWN;
	}
	return second_weight(first, ref.batch->kept_threshold, &known);
}

static int count_span(struct span_metrics *m, struct cache *cache, struct event_ref ref,
		      int64_t now_ns)
{
	const struct event *e = event_get(ref);
	struct exemplar exemplar = {.trace = e->trace_id,
				    .time_ns =
					    e->end_ns > INT64_MAX ? INT64_MAX : (int64_t)e->end_ns};
	int64_t at = series_of(m, cache, ref);
	double weight = weight_of(ref);
	struct series *s;

	if (at < 0)
		return (int)at;
	s = &m->spans.rows[at];
	s->calls += weight;
	latency_add(&s->latencies[0], e->end_ns > e->time_ns ? e->end_ns - e->time_ns : 0, weight,
		    &exemplar);
	m->seen++;
	return service_graph_add(&m->graph, ref, weight, now_ns);
}

int span_metrics_add(struct span_metrics *m, const struct event_ref *refs, size_t n, int64_t now_ns)
{
	struct cache cache = {0};
	int r = 0;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (event_get(refs[i])->type == EVENT_SPAN)
			r = count_span(m, &cache, refs[i], now_ns);
	if (r == 0)
		r = service_graph_expire(&m->graph, now_ns);
	pthread_mutex_unlock(&m->lock);
	return r;
}
