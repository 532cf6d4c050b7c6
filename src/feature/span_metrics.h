/* feature/span_metrics.h - numbers about spans for Prometheus: calls and latencies by operation,
 * and who calls whom.
 *
 * Names and labels are those that Grafana's panels ask for: docs/use-with.md.  Counts are weighted
 * by how the traces were sampled, where that was said. */
#ifndef CAUSET_FEATURE_SPAN_METRICS_H
#define CAUSET_FEATURE_SPAN_METRICS_H

#include <pthread.h>

#include "feature/service_graph.h"
#include "store/store.h"

#define SPAN_SERIES 4000

enum span_label { SPAN_SERVICE, SPAN_NAME, SPAN_KIND, SPAN_STATUS, SPAN_LABELS };

/* Any thread takes the lock to look or to add. */
struct span_metrics {
	pthread_mutex_t lock;
	struct series_set spans; /* labels: enum span_label; one latency */
	struct service_graph graph;
	uint64_t seen;    /* spans */
	uint64_t skipped; /* rows that may have been counted before */
	uint64_t cursor;  /* of the feed: everything up to it has been counted */
};

/* -ENOMEM. */
int span_metrics_init(struct span_metrics *m);
void span_metrics_done(struct span_metrics *m);

/* Counts the SPAN rows among these; takes the lock.  -ENOMEM. */
int span_metrics_add(struct span_metrics *m, const struct event_ref *refs, size_t n,
		     int64_t now_ns);

#endif
