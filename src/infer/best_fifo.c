/* infer/best_fifo.c - whether a node keeps the order of its parents.
 *
 * The test puts the calls of the present answer into strict order, the k-th call to the k-th parent
 * that has one.  A node keeps order if that breaks containment for next to no call, in all of its
 * queues, and if, where it changes the answer, delays hardly object: what was changed had been
 * chosen by noise.  Order then enters the score as a price on displacement: the difference between
 * a call's place among the calls of its queue and its parent's among the parents that have one.
 * Judging queues one by one, or softly, was tried and does harm where order is only frequent. */
#include "infer/best_fifo.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SHARED_MAX    0.02  /* of the rarer endpoint's calls, for two to be in one queue */
#define BROKEN_MAX    0.003 /* of the calls of a queue */
#define OBJECTION_MAX 4.0   /* nats, on average, a parent whose call changes */
#define PRICE         2.0F  /* nats a place: an exchange displaces two calls by one */

/* Endpoints that (nearly) never share a parent are one queue. */
static void find_queues(struct single *s)
{
	const struct view *v = s->view;
	unsigned n = s->model->endpoint_n;
	uint32_t count[SINGLE_ENDPOINTS_MAX] = {0};
	uint32_t shared[SINGLE_ENDPOINTS_MAX][SINGLE_ENDPOINTS_MAX] = {{0}};

	for (uint32_t p = 0; p < v->parent_n; p++) {
		const uint32_t *child = s->child + (size_t)p * n;

		for (unsigned e = 0; e < n; e++) {
			if (child[e] == VIEW_NONE)
				continue;
			count[e]++;
			for (unsigned f = 0; f < e; f++)
				shared[e][f] += child[f] != VIEW_NONE;
		}
	}
	for (unsigned e = 0; e < n; e++) {
		s->queue[e] = (uint8_t)e;
		for (unsigned f = 0; f < e && s->queue[e] == e; f++) {
			bool apart = s->queue[f] == f;

			for (unsigned g = f; g < e; g++)
				if (s->queue[g] == f)
					apart &= shared[e][g] <=
						 SHARED_MAX * MIN(count[e], count[g]);
			if (apart)
				s->queue[e] = (uint8_t)f;
		}
	}
}

static bool in_queue(const struct single *s, uint32_t parent, unsigned queue)
{
	unsigned n = s->model->endpoint_n;

	for (unsigned e = 0; e < n; e++)
		if (s->queue[e] == queue && s->child[(size_t)parent * n + e] != VIEW_NONE)
			return true;
	return false;
}

/* Places: of a call among the calls, of a parent among the parents that have a call.  A parent that
 * has none stands where it would if it had. */
static uint32_t place(struct single *s, unsigned queue, uint32_t *calls)
{
	const struct view *v = s->view;
	uint32_t n = 0, at = 0;

	for (uint32_t c = 0; c < v->child_n; c++) {
		if (s->queue[v->child_endpoint[c]] != queue)
			continue;
		s->call_place[c] = n;
		if (v->owner[c] != VIEW_NONE)
			calls[n++] = c;
	}
	for (uint32_t p = 0; p < v->parent_n; p++) {
		s->parent_place[(size_t)queue * v->parent_n + p] = at;
		at += in_queue(s, p, queue);
	}
	return n;
}

static bool contains(const struct view *v, uint32_t parent, uint32_t child)
{
	return v->parent_start[parent] <= v->child_start[child] &&
	       v->parent_end[parent] >= v->child_end[child];
}

/* What delays lose when `parent` has `call` instead of its own in the queue. */
static double objection(const struct single *s, uint32_t parent, unsigned queue, uint32_t call)
{
	const struct view *v = s->view;
	unsigned n = s->model->endpoint_n;
	const uint32_t *child = s->child + (size_t)parent * n;
	uint32_t with[SINGLE_ENDPOINTS_MAX];

	for (unsigned e = 0; e < n; e++)
		with[e] = s->queue[e] == queue ? VIEW_NONE : child[e];
	with[v->child_endpoint[call]] = call;
	return single_score(s, parent, child) - single_score(s, parent, with);
}

static bool keeps_order(const struct single *s, unsigned queue, const uint32_t *calls, uint32_t n)
{
	const struct view *v = s->view;
	uint32_t at = 0, changed = 0, broken = 0;
	double objections = 0;

	for (uint32_t p = 0; p < v->parent_n && at < n; p++) {
		uint32_t call = calls[at];

		if (!in_queue(s, p, queue))
			continue;
		at++;
		if (v->owner[call] == p)
			continue;
		changed++;
		if (contains(v, p, call))
			objections += objection(s, p, queue, call);
		else
			broken++;
	}
	return broken <= BROKEN_MAX * n && objections <= OBJECTION_MAX * changed;
}

int fifo_fit(struct single *s)
{
	const struct view *v = s->view;
	struct single_model *m = s->model;
	_cleanup_(freep)
	uint32_t *calls = malloc(((size_t)v->child_n + 1) * sizeof(*calls));
	bool ordered = true;

	if (!calls)
		return -ENOMEM;
	for (unsigned e = 0; e < m->endpoint_n; e++)
		m->order_price[e] = 0;
	find_queues(s);
	for (unsigned q = 0; ordered && q < m->endpoint_n; q++)
		if (s->queue[q] == q)
			ordered = keeps_order(s, q, calls, place(s, q, calls));
	for (unsigned e = 0; ordered && e < m->endpoint_n; e++)
		m->order_price[e] = PRICE;
	return 0;
}
