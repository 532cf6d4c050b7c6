/* infer/scoreboard.h - how often which delay separates a call A→B from a call B→C inside it.
 *
 * One histogram per (A, B, C).  Calls from A to B are an edge; an edge is found once per call, and
 * a histogram from two edges by plain indexing, since it is asked for once per candidate. */
#ifndef CAUSET_INFER_SCOREBOARD_H
#define CAUSET_INFER_SCOREBOARD_H

#include "base/map.h"
#include "infer/bins.h"

/* Callers of one node that have histograms of their own; further ones share the last. */
#define SCOREBOARD_MAX_CALLERS 1024

struct histogram {
	double raw[BINS_N];
	double *smooth; /* BINS_N, the same after smoothing; NULL without */
};

struct edge {
	uint32_t caller, callee;
	uint32_t rank;         /* among the edges that lead to the callee */
	struct histogram **by; /* by the rank of the edge before this one; entries may be NULL */
	size_t by_n, by_capacity;
};

struct scoreboard {
	struct bins bins;
	struct edge *edges;
	size_t n, capacity;
	struct map map;
	uint32_t *callers; /* by node: how many edges lead to it */
	size_t callers_n, callers_capacity;
};

void scoreboard_init(struct scoreboard *s, int64_t base_ns);
void scoreboard_done(struct scoreboard *s);

/* The edge of calls from caller to callee; -ENOMEM. */
int scoreboard_edge(struct scoreboard *s, uint32_t caller, uint32_t callee, uint32_t *ret_edge);

/* The histogram of delays between a call of rank `rank` at a node and a call by `edge` from it,
 * made when there is none; NULL when out of memory. */
struct histogram *scoreboard_histogram(struct scoreboard *s, uint32_t edge, uint32_t rank);

/* Convolves every histogram of an edge with a Gaussian of `sd` bins, into `smooth`.  -ENOMEM. */
int scoreboard_smooth(struct scoreboard *s, uint32_t edge, double sd);

/* Multiplies every score: what is long ago counts less. */
void scoreboard_fade(struct scoreboard *s, double factor);

#endif
