/* feature/service_graph.h - who calls whom, from spans as they arrive: a client's span and the
 * server's span behind it are two halves of a call, which come in any order and minutes apart.
 *
 * A half waits for the other, for GRAPH_WAIT_NS at most and GRAPH_HALVES at most; the oldest gives
 * way.  A client whose server never came counts if it says whom it called (an unseen peer: a
 * database, a service without instrumentation).  One thread at a time. */
#ifndef CAUSET_FEATURE_SERVICE_GRAPH_H
#define CAUSET_FEATURE_SERVICE_GRAPH_H

#include "feature/label_series.h"
#include "model/batch.h"

#define GRAPH_HALVES  65536
#define GRAPH_WAIT_NS (10 * (int64_t)1000000000)
#define GRAPH_EDGES   2000 /* series */
#define GRAPH_NAMES   8192 /* services whose halves wait; more share SERIES_OVERFLOW */

/* Labels of an edge, in this order; and which of its latencies is whose. */
enum graph_label { GRAPH_CLIENT, GRAPH_SERVER, GRAPH_TYPE, GRAPH_LABELS };
enum graph_latency { GRAPH_SERVER_SECONDS, GRAPH_CLIENT_SECONDS, GRAPH_LATENCIES };

struct service_graph {
	struct series_set edges;
	uint64_t paired, unpaired; /* halves that found the other, or waited in vain */
	struct graph_wait *wait;   /* private */
};

/* -ENOMEM. */
int service_graph_init(struct service_graph *g);
void service_graph_done(struct service_graph *g);

/* One SPAN row.  `weight` is how many it stands for.  -ENOMEM. */
int service_graph_add(struct service_graph *g, struct event_ref ref, double weight, int64_t now_ns);

/* Gives up on halves that have waited long enough.  -ENOMEM. */
int service_graph_expire(struct service_graph *g, int64_t now_ns);

#endif
