/* tests/unit/infer/simulate.h - calls with known parents: a small world of nodes that call others.
 */
#ifndef CAUSET_TESTS_UNIT_INFER_SIMULATE_H
#define CAUSET_TESTS_UNIT_INFER_SIMULATE_H

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "infer/infer.h"
#include "infer/names.h"

#define SIM_STEPS  5
#define SIM_CLIENT 0 /* a node that only calls */

/* What a node does next, in the order of its steps. */
struct sim_step {
	uint32_t callee; /* 0: no further step */
	double probability;
	unsigned repeat; /* up to so many times, one after the other; 0 is 1 */
	bool parallel;   /* at the same time as the step before */
};

struct sim_node {
	double work_us,
		sigma; /* before each call and before the reply: median, log-normal spread */
	struct sim_step steps[SIM_STEPS];
};

struct sim {
	const struct sim_node *nodes;
	struct rng rng;
	struct calls calls;
	struct call_link *truth;
};

static double sim_normal(struct sim *s)
{
	return sqrt(-2 * log(1 - rng_unit(&s->rng))) * cos(6.283185307179586 * rng_unit(&s->rng));
}

static int64_t sim_work(struct sim *s, uint32_t node)
{
	const struct sim_node *n = &s->nodes[node];

	return (int64_t)(n->work_us * exp(n->sigma * sim_normal(s)) * 1000);
}

/* Calls `callee`; returns when it came back.  The parent of a call is noted in its id for now. */
static int64_t sim_call(struct sim *s, uint32_t caller, uint32_t callee, int64_t start,
			uint32_t parent)
{
	uint32_t me = (uint32_t)s->calls.n++;
	int64_t now = start + 20000, latest = now, begun = now;

	s->calls.at[me] = (struct call){
		.start_ns = start,
		.id = parent,
		.caller = caller,
		.callee = callee,
		.name = NAMES_NONE,
	};
	s->calls.served[me].recv_ns = now;
	for (int i = 0; i < SIM_STEPS && s->nodes[callee].steps[i].callee; i++) {
		const struct sim_step *step = &s->nodes[callee].steps[i];
		uint64_t times = step->repeat > 1 ? 1 + rng_below(&s->rng, step->repeat) : 1;

		if (rng_unit(&s->rng) >= step->probability)
			continue;
		for (uint64_t k = 0; k < times; k++) {
			begun = (step->parallel ? begun : latest) + sim_work(s, callee);
			latest = MAX(latest, sim_call(s, callee, step->callee, begun, me));
		}
	}
	latest += sim_work(s, callee);
	s->calls.served[me].reply_ns = latest;
	s->calls.at[me].end_ns = latest + 20000;
	return latest + 20000;
}

/* `paths` calls of node 1 by the client, at random with a mean distance of gap_us. */
static struct sim sim_run(const struct sim_node *nodes, uint32_t paths, double gap_us,
			  uint64_t seed)
{
	struct sim s = {.nodes = nodes, .rng = {seed}};
	size_t room = (size_t)paths * 64;
	uint32_t *place = NULL;
	int64_t now = 1000000;

	s.calls.at = calloc(room, sizeof(*s.calls.at));
	s.calls.served = calloc(room, sizeof(*s.calls.served));
	for (uint32_t i = 0; i < paths && s.calls.n + 64 < room; i++) {
		now += (int64_t)(-log(1 - rng_unit(&s.rng)) * gap_us * 1000);
		sim_call(&s, SIM_CLIENT, 1, now, LINK_NONE);
	}
	s.truth = calloc(s.calls.n, sizeof(*s.truth));
	if (calls_order(&s.calls, &place) < 0 || (place && calls_reorder(&s.calls, place) < 0))
		abort();
	for (uint32_t i = 0; i < s.calls.n; i++) {
		uint32_t parent = (uint32_t)s.calls.at[i].id;

		s.truth[i] = (struct call_link){
			.parent = parent == LINK_NONE || !place ? parent : place[parent],
			.decided = true};
		s.calls.at[i].id = i + 1;
	}
	free(place);
	return s;
}

static void sim_done(struct sim *s)
{
	calls_done(&s->calls);
	free(s->truth);
}

/* The share of calls with a parent whose parent was found. */
static double sim_right(const struct sim *s, const struct call_link *links)
{
	size_t n = 0, right = 0;

	for (size_t i = 0; i < s->calls.n; i++) {
		if (s->truth[i].parent == LINK_NONE)
			continue;
		n++;
		right += links[i].parent == s->truth[i].parent;
	}
	return n ? (double)right / (double)n : 1;
}

#endif
