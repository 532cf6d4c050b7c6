/* model/causality_graph.h - the order of a trace as a graph of positions: what causality.c
 * searches.
 *
 * Nodes are positions by number, and behind them ticks: nodes without meaning that stand between
 * two groups of positions of a unit, so that "all of these before all of those" costs as many arcs
 * as there are positions and not their product. */
#ifndef CAUSET_MODEL_CAUSALITY_GRAPH_H
#define CAUSET_MODEL_CAUSALITY_GRAPH_H

#include "model/trace.h"

#define ARC_CLOCK (1u << 31) /* set in a target: this arc leans on a clock */

/* Where an arc comes from, beyond the blocks' own structure. */
#define ARC_STRUCTURE UINT32_MAX
#define ARC_UNIT      (1u << 31) /* | unit; below it: the number of an edge */

struct arc {
	uint32_t from, to; /* to may have ARC_CLOCK set */
	uint32_t origin;
};

struct arc_list {
	struct arc *arcs;
	size_t n, capacity;
	uint32_t node_n; /* positions and ticks */
	bool failed;     /* out of memory; sticky */
};

/* All arcs but those of edges and units marked REPAIR_CYCLE. */
void arcs_collect(const struct trace *t, bool clocks, struct arc_list *ret_list);

/* Arcs by source: those of node i lead to to[first[i]] … to[first[i + 1]]. */
struct graph {
	uint32_t node_n;
	uint32_t *first;
	uint32_t *to; /* may have ARC_CLOCK set */
};

int graph_build(const struct arc_list *list, struct graph *ret_graph);
void graph_done(struct graph *g);

/* Strongly connected components, numbered in the order their search ended: an arc between two
 * components leads from the higher number to the lower.  *ret_n is how many there are; component
 * has node_n entries.  No recursion.  -ENOMEM. */
int graph_components(const struct graph *g, uint32_t *component, uint32_t *ret_n);

#endif
