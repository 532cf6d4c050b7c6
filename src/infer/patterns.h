/* infer/patterns.h - paths of the same shape added up.
 *
 * A path is a root call with everything it caused.  Its pattern is the tree of nodes it visited: a
 * client, the node it called, that node's calls in the order of their starts, and so on.  Calls of
 * one parent that overlap in time have no order that means anything; they stand by name.
 *
 * A hop is one call in the pattern, told by the node that is called:
 *
 *   parent  recv ├──gap──┐             ┌─gap─┐          ┌──…
 *   child                ├──latency────┤     ├─latency──┤
 *                          ├ own … tail ┤
 *
 *   delay    from the call of the parent to this call (the paper's call_delay)
 *   latency  from this call to its return, as the caller sees it
 *   gap      from the last thing that happened at the parent to this call: the part of the parent's
 *            time that is to be explained here
 *   tail     from the last return at this node to its own
 *   own      the time in which this node waited for nobody
 *   wire     latency minus the time between arrival and reply at the callee; only of calls that
 *            were seen at both ends
 *
 * The first hop has neither delay nor gap.
 *
 * One thread. */
#ifndef CAUSET_INFER_PATTERNS_H
#define CAUSET_INFER_PATTERNS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"
#include "infer/infer.h"
#include "infer/names.h"
#include "infer/spread.h"

#define PATTERN_MAX_HOPS 1000 /* what a path has beyond is counted, not shown */
#define PATTERN_NONE     UINT32_MAX

struct pattern_hop {
	uint32_t node;   /* called */
	uint32_t parent; /* hop; PATTERN_NONE for the first */
	uint32_t depth;  /* 0 for the first */
	struct spread delay, latency, gap, tail, own, wire;
};

struct pattern {
	uint32_t client; /* who makes the first call */
	uint32_t hop_n;
	struct pattern_hop *hops; /* in the order of the tree, parents first */
	uint64_t count;
	double sure;       /* sum over the instances of the product of their links' confidences */
	uint64_t cut_hops; /* beyond PATTERN_MAX_HOPS, over all instances */
	/* The slowest instance: of its first call. */
	uint64_t slowest_id;
	int64_t slowest_start_ns, slowest_ns;
	int64_t *slowest_own; /* of the same: each hop's own time; hop_n */
};

struct patterns {
	const struct names *nodes;
	struct pattern *at;
	size_t n, capacity;
	struct map map;
	struct arena arena;
	uint64_t paths, calls; /* added */
	uint64_t rare_paths;   /* of them, in patterns that were let go */
	uint64_t rare_most;    /* paths in one of those */
	uint64_t *hashes;      /* of the nodes' names */
	size_t hash_n, hash_capacity;
};

/* The names must outlive the patterns. */
void patterns_init(struct patterns *p, const struct names *nodes);
void patterns_done(struct patterns *p);

/* Adds every path whose root has returned by cut_ns.  ret_pattern_of, if not NULL, has calls->n
 * items and gets for each root its pattern, for all other calls PATTERN_NONE.  -ENOMEM. */
int patterns_add(struct patterns *p, const struct calls *calls, const struct call_link *links,
		 int64_t cut_ns, uint32_t *ret_pattern_of);

/* Lets go of the patterns with the least latency in sum when all of them take more than that.
 * -ENOMEM; nothing has changed then. */
int patterns_bound(struct patterns *p, size_t most_bytes);

/* The pattern of the same shape as one of another table (by the names of nodes), or NULL. */
const struct pattern *patterns_find(const struct patterns *p, const struct patterns *other,
				    const struct pattern *like);

enum patterns_order { PATTERNS_BY_COUNT, PATTERNS_BY_LATENCY };

/* Numbers of the patterns, most frequent (or with most latency in sum) first; freed by the caller.
 * NULL when out of memory. */
uint32_t *patterns_rank(const struct patterns *p, enum patterns_order order);

/* Sum of the latencies of all its instances. */
static inline double pattern_total_ns(const struct pattern *p)
{
	return p->hops[0].latency.sum;
}

/* The hop whose node adds the most time of its own, and that time per instance. */
uint32_t pattern_costliest(const struct pattern *p, double *ret_own_ns);

/* Time of each hop's own that the path had to wait for, on average: of calls at the same time only
 * the one that returns last.  `ret_ns` has hop_n items. */
void pattern_critical(const struct pattern *p, double *ret_ns);

/* The hop that made the slowest instance slow, and by how much its own time was above the usual;
 * PATTERN_NONE when nothing stands out: there are too few instances, or the slowest is no
 * exception. */
uint32_t pattern_outlier(const struct pattern *p, double *ret_excess_ns);

/* Adds up patterns that differ only in which of several like nodes did the work: nodes that can be
 * exchanged in two patterns of similar counts and delays are one.  `ret` and `names`, both
 * uninitialised, get the patterns and the names, "WS1|WS2" for a group.  -ENOMEM, -E2BIG. */
int patterns_alike(const struct patterns *p, struct patterns *ret, struct names *names);

/* "A>B(C,D(E))", as stable text. */
void pattern_format(const struct pattern *p, const struct names *nodes, struct buffer *out);

#endif
