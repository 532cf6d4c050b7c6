/* infer/best_confidence_chains.c - confidence of the links of a node with repeated calls.
 *
 * Two parents may exchange a stretch of their chains: they leave their own tracks at one start of a
 * call where both are quiet and return at a later one, or never.  A call is in doubt by all the
 * stretches it lies in.  The sum over stretches factors into those that leave before it and those
 * that return behind it, so a pair of parents costs one merge of their chains:
 *
 *   p  ▪▪ a ▪▪▪ c ▪▪ b ▪▪     others(c) += (sum over a of leaving) × (sum over b of returning)
 *   q  ▪▪   ▪▪▪▪▪▪▪▪   ▪▪                                                                     */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "infer/best_confidence.h"

#define BETTER_MAX 2.0 /* nats: an exchange should not be better than the answer */

/* One of the two chains, as far as the merge has come. */
struct track {
	uint32_t parent, rest;
	uint32_t kind; /* of the last event */
	int64_t time, busy;
};

struct stop {
	uint32_t child;
	bool of_p, movable; /* whose it is; whether the other contains it */
	double leaving, leaving_last, returning;
};

struct doubt {
	const struct repeat_model *m;
	const struct chains *c;
	double *others; /* per child */
	uint32_t *seen; /* per parent: the last it was paired with */
	struct stop *stops;
	size_t stop_n, stop_capacity;
};

static struct track track_of(const struct doubt *d, uint32_t parent)
{
	const struct view *v = d->c->view;

	return (struct track){
		.parent = parent,
		.rest = d->c->first[parent],
		.kind = d->m->type_n == 1 ? 0 : v->parent_type[parent],
		.time = v->parent_start[parent],
		.busy = v->parent_start[parent],
	};
}

/* From the last event of `head` to the first of `rest`, or to the finish of `own`. */
static double step(const struct doubt *d, const struct track *head, const struct track *rest,
		   const struct track *own)
{
	const struct view *v = d->c->view;

	if (rest->rest != VIEW_NONE)
		return repeat_step(d->m, head->kind, v->child_endpoint[rest->rest],
				   v->child_start[rest->rest] - head->time);
	return repeat_finish_step(d->m, v, own->parent, head->kind, head->time);
}

static double weight(double change)
{
	return exp(fmin(change, BETTER_MAX));
}

static void advance(const struct doubt *d, struct track *t)
{
	const struct view *v = d->c->view;
	uint32_t i = t->rest;

	t->rest = d->c->next[i];
	if (v->child_end[i] >= t->busy) {
		t->busy = t->time = v->child_end[i];
		t->kind = repeat_ended(d->m, v->child_endpoint[i]);
	}
}

static bool contains(const struct view *v, uint32_t parent, uint32_t child)
{
	return v->parent_start[parent] <= v->child_start[child] &&
	       v->parent_end[parent] >= v->child_end[child];
}

/* Merges the chains of p and q; fills the stops.  -ENOMEM. */
static int merge(struct doubt *d, struct track *p, struct track *q)
{
	const struct view *v = d->c->view;

	d->stop_n = 0;
	while (p->rest != VIEW_NONE || q->rest != VIEW_NONE) {
		bool of_p = q->rest == VIEW_NONE || (p->rest != VIEW_NONE && p->rest < q->rest);
		uint32_t i = of_p ? p->rest : q->rest;
		struct stop *s;

		if (!vec_reserve(&d->stops, &d->stop_capacity, d->stop_n + 1, sizeof(*d->stops)))
			return -ENOMEM;
		s = &d->stops[d->stop_n++];
		*s = (struct stop){.child = i, .of_p = of_p};
		s->movable = contains(v, of_p ? q->parent : p->parent, i);
		if (p->busy <= v->child_start[i] && q->busy <= v->child_start[i]) {
			double now = step(d, p, p, p) + step(d, q, q, q);
			double left = weight(step(d, p, q, p) + step(d, q, p, q) - now);

			s->returning = weight(step(d, q, p, p) + step(d, p, q, q) - now);
			if (p->rest == VIEW_NONE || q->rest == VIEW_NONE)
				s->leaving_last = left;
			else
				s->leaving = left;
		}
		advance(d, of_p ? p : q);
	}
	return 0;
}

static int doubt_pair(struct doubt *d, uint32_t parent, uint32_t other)
{
	struct track p = track_of(d, parent), q = track_of(d, other);
	double never, never_last, before = 0, before_last = 0, behind;
	int r = merge(d, &p, &q);

	if (r < 0)
		return r;
	/* Both tracks are at their ends now: finishes exchanged, both or p's calls alone. */
	never = weight(step(d, &q, &p, &p) + step(d, &p, &q, &q) - step(d, &p, &p, &p) -
		       step(d, &q, &q, &q));
	never_last = weight(step(d, &p, &q, &q) - step(d, &p, &p, &p));
	behind = never;
	for (size_t i = d->stop_n; i-- > 0;) { /* returning becomes the sum behind the stop */
		double here = d->stops[i].returning;

		d->stops[i].returning = behind;
		behind = here + (d->stops[i].movable ? behind : 0);
	}
	for (size_t i = 0; i < d->stop_n; i++) {
		struct stop *s = &d->stops[i];

		before = s->movable ? before + s->leaving : 0;
		before_last = s->movable ? before_last + s->leaving_last : 0;
		if (s->of_p)
			d->others[s->child] += before * s->returning + before_last * never_last;
	}
	return 0;
}

static int doubt_parent(struct doubt *d, uint32_t parent)
{
	const struct view *v = d->c->view;
	int r = 0;

	for (uint32_t i = d->c->first[parent]; i != VIEW_NONE; i = d->c->next[i])
		for (uint32_t k = v->candidate_first[i]; k < v->candidate_first[i + 1] && r == 0;
		     k++) {
			uint32_t other = v->candidate[k];

			if (other == parent || d->seen[other] == parent)
				continue;
			d->seen[other] = parent;
			r = doubt_pair(d, parent, other);
		}
	return r;
}

int confidence_chains(const struct repeat_model *m, const struct chains *c)
{
	const struct view *v = c->view;
	_cleanup_(freep)
	double *others = calloc((size_t)v->child_n + 1, sizeof(*others));
	_cleanup_(freep)
	uint32_t *seen = malloc(((size_t)v->parent_n + 1) * sizeof(*seen));
	struct doubt d = {.m = m, .c = c, .others = others, .seen = seen};
	int r = 0;

	if (!others || !seen)
		return -ENOMEM;
	for (uint32_t p = 0; p < v->parent_n; p++)
		seen[p] = VIEW_NONE;
	for (uint32_t p = 0; p < v->parent_n && r == 0; p++)
		r = doubt_parent(&d, p);
	for (uint32_t i = 0; i < v->child_n; i++) {
		uint32_t candidates = v->candidate_first[i + 1] - v->candidate_first[i];

		v->confidence[i] = v->owner[i] == VIEW_NONE ? 0.5F
				   : candidates > 1         ? confidence_of(others[i], candidates)
							    : 1;
	}
	confidence_settle(v);
	free(d.stops);
	return r;
}
