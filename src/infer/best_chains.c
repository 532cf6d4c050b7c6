/* infer/best_chains.c - first chains, and single calls that move between chains. */
#include "infer/best_chains.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define IMPROVEMENT 1e-4 /* nats a change must gain */

/* The end of a chain under construction. */
struct tip {
	uint32_t last;  /* child that started last, or VIEW_NONE */
	uint32_t final; /* child that ends last */
};

/* The last event of a chain before `time`: an end if nothing is out, else the last start. */
static double tip_step(const struct repeat_model *m, const struct view *v, const struct tip *t,
		       uint32_t parent, uint32_t child)
{
	int64_t now = v->child_start[child];
	uint32_t kind = m->type_n == 1 ? 0 : v->parent_type[parent];
	int64_t time = v->parent_start[parent];

	if (t->last != VIEW_NONE && v->child_end[t->final] <= now) {
		kind = repeat_ended(m, v->child_endpoint[t->final]);
		time = v->child_end[t->final];
	} else if (t->last != VIEW_NONE) {
		kind = repeat_begun(m, v->child_endpoint[t->last]);
		time = v->child_start[t->last];
	}
	return repeat_step(m, kind, v->child_endpoint[child], now - time);
}

int chains_begin(const struct repeat_model *m, struct chains *c)
{
	const struct view *v = c->view;
	_cleanup_(freep)
	struct tip *tips = malloc(((size_t)v->parent_n + 1) * sizeof(*tips));

	if (!tips)
		return -ENOMEM;
	for (uint32_t p = 0; p < v->parent_n; p++)
		tips[p] = (struct tip){VIEW_NONE, VIEW_NONE};
	for (uint32_t i = 0; i < v->child_n; i++) {
		double best = -INFINITY;

		v->owner[i] = VIEW_NONE;
		for (uint32_t k = v->candidate_first[i]; k < v->candidate_first[i + 1]; k++) {
			uint32_t p = v->candidate[k];
			double step = tip_step(m, v, &tips[p], p, i);

			if (step > best) {
				best = step;
				v->owner[i] = p;
			}
		}
		if (v->owner[i] != VIEW_NONE) {
			struct tip *t = &tips[v->owner[i]];

			t->last = i;
			if (t->final == VIEW_NONE || v->child_end[t->final] <= v->child_end[i])
				t->final = i;
		}
	}
	chains_build(c);
	return 0;
}

static void take_out(struct chains *c, uint32_t parent, uint32_t child)
{
	uint32_t *at = &c->first[parent];

	while (*at != child)
		at = &c->next[*at];
	*at = c->next[child];
}

static void put_in(struct chains *c, uint32_t parent, uint32_t child)
{
	uint32_t *at = &c->first[parent];

	while (*at != VIEW_NONE && *at < child) /* children are numbered by start */
		at = &c->next[*at];
	c->next[child] = *at;
	*at = child;
}

static double score_of(const struct repeat_model *m, const struct chains *c, uint32_t parent)
{
	return repeat_score(m, c, parent, c->first[parent]);
}

static bool contains(const struct view *v, uint32_t parent, uint32_t child)
{
	return v->parent_start[parent] <= v->child_start[child] &&
	       v->parent_end[parent] >= v->child_end[child];
}

/* Tries `child` of p at q, alone and against each call of q's to the same endpoint; leaves it where
 * it is best.  True when it moved. */
static bool try_at(const struct repeat_model *m, struct chains *c, uint32_t child, uint32_t p,
		   uint32_t q)
{
	const struct view *v = c->view;
	double before = score_of(m, c, p) + score_of(m, c, q);

	take_out(c, p, child);
	put_in(c, q, child);
	if (score_of(m, c, p) + score_of(m, c, q) > before + IMPROVEMENT) {
		v->owner[child] = q;
		return true;
	}
	for (uint32_t other = c->first[q], after; other != VIEW_NONE; other = after) {
		after = c->next[other];
		if (other == child || v->child_endpoint[other] != v->child_endpoint[child] ||
		    !contains(v, p, other))
			continue;
		take_out(c, q, other);
		put_in(c, p, other);
		if (score_of(m, c, p) + score_of(m, c, q) > before + IMPROVEMENT) {
			v->owner[child] = q;
			v->owner[other] = p;
			return true;
		}
		take_out(c, p, other);
		put_in(c, q, other);
	}
	take_out(c, q, child);
	put_in(c, p, child);
	return false;
}

int chains_move(const struct repeat_model *m, struct chains *c)
{
	const struct view *v = c->view;
	int moved = 0;

	for (uint32_t i = 0; i < v->child_n; i++) {
		bool gone = v->owner[i] == VIEW_NONE;

		for (uint32_t k = v->candidate_first[i]; k < v->candidate_first[i + 1] && !gone;
		     k++)
			if (v->candidate[k] != v->owner[i])
				gone = try_at(m, c, i, v->owner[i], v->candidate[k]);
		moved += gone && v->owner[i] != VIEW_NONE;
	}
	return moved;
}

double chains_total(const struct repeat_model *m, const struct chains *c)
{
	double sum = 0;

	for (uint32_t p = 0; p < c->view->parent_n; p++)
		sum += score_of(m, c, p);
	return sum;
}
