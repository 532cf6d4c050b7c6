/* feature/label_series.h - a bounded set of time series: counters and histograms by label.
 *
 * However many names come in, there are never more than so many series: what finds no room is
 * counted under SERIES_OVERFLOW, first for its second label alone, then for the first, too, so
 * sums stay right.  One thread at a time. */
#ifndef CAUSET_FEATURE_LABEL_SERIES_H
#define CAUSET_FEATURE_LABEL_SERIES_H

#include "base/arena.h"
#include "base/map.h"
#include "core/ids.h"

#define SERIES_LABELS      4
#define SERIES_OVERFLOW    "causet_overflow"
#define SERIES_LABEL_BYTES 256 /* of a value; what is longer is cut */

/* Upper bounds in seconds: 2 ms doubled 13 times.  One more bucket is for the rest. */
#define LATENCY_BUCKETS 14

double latency_bound(size_t bucket);

/* The span that was last counted in a bucket. */
struct exemplar {
	struct trace_id trace;
	double value;    /* seconds */
	int64_t time_ns; /* when it ended; 0: none yet */
};

struct latency {
	double counts[LATENCY_BUCKETS + 1]; /* not cumulative */
	double sum;                         /* seconds */
	struct exemplar exemplars[LATENCY_BUCKETS + 1];
};

struct series {
	struct slice labels[SERIES_LABELS]; /* in the set's arena */
	double calls, failed;
	struct latency *latencies; /* latency_n of the set */
};

struct series_set {
	size_t label_n, latency_n;
	size_t most; /* ordinary ones */
	struct series *rows;
	size_t n, capacity;
	struct map by_label;
	struct arena arena;
	uint64_t overflowed; /* how often something found no room */
};

void series_set_init(struct series_set *s, size_t label_n, size_t latency_n, size_t most);
void series_set_done(struct series_set *s);

/* The index of the series with these labels (label_n of them), made if there is room, else the one
 * that stands in for it.  -ENOMEM. */
int64_t series_get(struct series_set *s, const struct slice *labels);

/* Counts one duration, `weight` times. */
void latency_add(struct latency *l, uint64_t duration_ns, double weight,
		 const struct exemplar *exemplar);

#endif
