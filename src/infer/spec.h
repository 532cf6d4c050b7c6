/* infer/spec.h - what a made-up trace shall look like, as text.
 *
 *   # comment
 *   duration 500s                      how long
 *   seed 1
 *   sightings both                     plain, both, sent, recv
 *   ids none                           leave the ids away; else: shown
 *   call normal 30ms 10%               time before a node makes a call
 *   ret normal 8ms 10%                 time before it returns
 *   think uniform 0ms 1200ms           time between two invocations of an instance
 *   instances 16                       how many run at the same time
 *   node DB1 ret exponential 5ms       a node's own times
 *   link A B constant 2ms              time on the way between two nodes, each direction
 *   add 200ms at WS2 after AUTH        extra time before the call that follows one to AUTH;
 *   add 50ms at DB1 share 0.01         before returning; in a share of the cases
 *   loss queue 64 rate 605             a sniffer's queue and messages a second
 *   loss share 0.01                    or at random
 *   skew WS2 30ms                      a node's clock is fast
 *   tracelet T1 instances 61 think uniform 0ms 1200ms: C -> WS1|WS2 { AUTH { DB1|DB2 }; AP1 }
 *   route mail: A -> B -> C            free-form messages, each sent on after `call`
 *
 * In a tracelet `;` separates calls made one after the other, `||` calls made at the same time,
 * `|` names of which one is chosen each time, `?0.3` behind a name makes the call that often, `*3`
 * makes it three times in a row, `!` before it makes it after the reply.  `think` and `instances`
 * hold for the tracelets behind them.  Distributions: constant D, uniform A B, normal MEAN SD,
 * lognormal MEAN SD, exponential MEAN, pareto LEAST SHAPE; an SD may be a percentage of the mean.
 */
#ifndef CAUSET_INFER_SPEC_H
#define CAUSET_INFER_SPEC_H

#include "base/arena.h"
#include "base/error.h"
#include "infer/names.h"

#define SPEC_MAX_BYTES     (1 << 20)
#define SPEC_MAX_CHOICES   64    /* of one call */
#define SPEC_MAX_CALLS     10000 /* in a spec */
#define SPEC_MAX_DEPTH     100   /* of a tracelet */
#define SPEC_MAX_REPEAT    1000
#define SPEC_MAX_INSTANCES 1000000

enum dist_kind {
	DIST_CONSTANT,
	DIST_UNIFORM,
	DIST_NORMAL,
	DIST_LOGNORMAL,
	DIST_EXPONENTIAL,
	DIST_PARETO
};

struct dist {
	enum dist_kind kind;
	double a, b; /* ns; the shape of PARETO is a plain number */
};

struct spec_call {
	uint32_t choices[SPEC_MAX_CHOICES];
	uint32_t choice_n;
	double probability;
	uint32_t repeat;
	bool after_reply;
	bool parallel; /* at the same time as the one before it */
	struct spec_call *children, *next;
};

struct spec_tracelet {
	struct slice name;
	bool route; /* messages, not calls */
	uint32_t client;
	struct spec_call *call; /* a route: a chain of first children */
	int64_t instances;
	struct dist think;
	struct spec_tracelet *next;
};

struct spec_node {
	bool has_call, has_ret;
	struct dist call, ret;
	int64_t skew_ns;
};

struct spec_link {
	uint32_t from, to;
	struct dist delay;
	struct spec_link *next;
};

struct spec_extra {
	uint32_t node;
	uint32_t after; /* NAMES_NONE: before returning */
	int64_t delay_ns;
	double share;
	struct spec_extra *next;
};

enum spec_sightings { SPEC_PLAIN, SPEC_BOTH, SPEC_SENT, SPEC_RECV };

struct spec {
	struct arena arena;
	struct names names;
	struct spec_node *nodes; /* by number */
	size_t node_n, node_capacity;
	struct spec_tracelet *tracelets;
	struct spec_link *links;
	struct spec_extra *extras;
	struct dist call, ret, think;
	int64_t instances, duration_ns;
	uint64_t seed;
	enum spec_sightings sightings;
	bool no_ids;
	double loss_rate;  /* messages a second; 0: none lost that way */
	double loss_share; /* at random */
	int64_t loss_queue;
};

/* -EINVAL with "line N: …", -ENOMEM.  Call spec_done() after success only. */
int spec_parse(struct spec *s, struct slice text, struct error *error);
void spec_done(struct spec *s);

#endif
