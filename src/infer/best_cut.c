/* infer/best_cut.c - chains exchange what comes after an instant.
 *
 * A parent is quiet at an instant when it is open and none of its calls is out.  Quiet parents may
 * exchange the rests of their chains; that changes two steps each: from the last event of the head
 * to the first call of the rest, and from the last event of the rest to the finish.  So the best
 * exchange among all quiet parents is a small assignment problem, solved exactly.  One pass goes
 * through the instants in the order of time; heads grow, rests shrink:
 *
 *   parent i   head ▪▪▪▪▪▪ ┊ rest ▪▪▪▪▪▪▪▪▪ finish
 *   parent j     head ▪▪▪  ┊   rest ▪▪▪▪ finish
 *                          cut, at the start of a call */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "infer/best_chains.h"

#define QUIET_MAX 24     /* parents in one exchange: the candidates that are quiet */
#define ALL_KEEP  1000.0 /* so that every head gets a rest */

struct half {
	uint32_t last;      /* head: child that started last, or VIEW_NONE */
	uint32_t ended;     /* head: child that ended last */
	uint32_t rest;      /* first child of the rest, or VIEW_NONE */
	uint32_t rest_last; /* child of the rest that ends last */
};

struct cutter {
	const struct repeat_model *m;
	struct chains *c;
	struct half *halves;
	uint32_t *holder; /* per child at the front of a rest: whose it is */
	double finish_weight;
	uint32_t quiet[QUIET_MAX];
	unsigned quiet_n;
	double gain[QUIET_MAX][QUIET_MAX]; /* of head i with rest j */
	struct assign assign;
	uint32_t first[QUIET_MAX + 1], column[QUIET_MAX * QUIET_MAX], taken[QUIET_MAX];
	double flat_gain[QUIET_MAX * QUIET_MAX];
};

static uint32_t last_to_end(const struct chains *c, uint32_t from)
{
	uint32_t last = from;

	for (uint32_t i = from; i != VIEW_NONE; i = c->next[i])
		if (c->view->child_end[i] >= c->view->child_end[last])
			last = i;
	return last;
}

static double gain_of(const struct cutter *x, uint32_t p, const struct half *rest)
{
	const struct view *v = x->c->view;
	const struct half *h = &x->halves[p];
	uint32_t kind = x->m->type_n == 1 ? 0 : v->parent_type[p];
	int64_t time = v->parent_start[p];
	double sum;

	if (h->last != VIEW_NONE) {
		kind = repeat_ended(x->m, v->child_endpoint[h->ended]);
		time = v->child_end[h->ended];
	}
	if (rest->rest != VIEW_NONE && time > v->child_start[rest->rest]) {
		kind = repeat_begun(x->m, v->child_endpoint[h->last]);
		time = v->child_start[h->last];
	}
	if (rest->rest == VIEW_NONE)
		return repeat_finish_step(x->m, v, p, kind, time);
	sum = repeat_step(x->m, kind, v->child_endpoint[rest->rest],
			  v->child_start[rest->rest] - time);
	return sum +
	       x->finish_weight *
		       repeat_finish_step(x->m, v, p,
					  repeat_ended(x->m, v->child_endpoint[rest->rest_last]),
					  v->child_end[rest->rest_last]);
}

/* Fills the gains; true when some head would rather have another rest. */
static bool fill_gains(struct cutter *x)
{
	bool other = false;

	for (unsigned i = 0; i < x->quiet_n; i++) {
		x->gain[i][i] = gain_of(x, x->quiet[i], &x->halves[x->quiet[i]]);
		for (unsigned j = 0; j < x->quiet_n; j++) {
			if (j == i)
				continue;
			x->gain[i][j] = gain_of(x, x->quiet[i], &x->halves[x->quiet[j]]);
			other |= x->gain[i][j] > x->gain[i][i];
		}
	}
	return other;
}

static int exchange(struct cutter *x, struct assign_scratch *scratch)
{
	struct half old[QUIET_MAX];
	unsigned n = x->quiet_n, arc = 0;
	int changed = 0, r;

	for (unsigned i = 0; i < n; i++) {
		x->first[i] = arc;
		old[i] = x->halves[x->quiet[i]];
		for (unsigned j = 0; j < n; j++) {
			x->column[arc] = j;
			x->flat_gain[arc++] = x->gain[i][j] + ALL_KEEP + (i == j ? 1e-6 : 0);
		}
	}
	x->first[n] = arc;
	x->assign = (struct assign){n, n, x->first, x->column, x->flat_gain, x->taken};
	r = assign_solve(&x->assign, scratch);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++)
		if (x->taken[i] == ASSIGN_NONE)
			return 0;
	for (unsigned i = 0; i < n; i++) {
		struct half *h = &x->halves[x->quiet[i]];

		if (x->taken[i] == i)
			continue;
		changed++;
		h->rest = old[x->taken[i]].rest;
		h->rest_last = old[x->taken[i]].rest_last;
		*(h->last == VIEW_NONE ? &x->c->first[x->quiet[i]] : &x->c->next[h->last]) =
			h->rest;
		if (h->rest != VIEW_NONE)
			x->holder[h->rest] = x->quiet[i];
	}
	return changed;
}

/* The candidates of the child that are quiet when it starts, the latest ones if they are many, and
 * its holder. */
static void find_quiet(struct cutter *x, uint32_t child)
{
	const struct view *v = x->c->view;
	int64_t now = v->child_start[child];
	uint32_t holder = x->holder[child];

	x->quiet[0] = holder;
	x->quiet_n = 1;
	for (uint32_t k = v->candidate_first[child + 1];
	     k-- > v->candidate_first[child] && x->quiet_n < QUIET_MAX;) {
		const struct half *h = &x->halves[v->candidate[k]];

		if (v->candidate[k] != holder &&
		    (h->last == VIEW_NONE || v->child_end[h->ended] <= now))
			x->quiet[x->quiet_n++] = v->candidate[k];
	}
}

/* The child goes from the front of a rest into its head. */
static void advance(struct cutter *x, uint32_t child)
{
	const struct view *v = x->c->view;
	uint32_t holder = x->holder[child];
	struct half *h = &x->halves[holder];

	h->last = child;
	if (h->ended == VIEW_NONE || v->child_end[h->ended] <= v->child_end[child])
		h->ended = child;
	h->rest = x->c->next[child];
	if (h->rest != VIEW_NONE)
		x->holder[h->rest] = holder;
	if (h->rest_last == child)
		h->rest_last = last_to_end(x->c, h->rest);
}

int chains_cut(const struct repeat_model *m, struct chains *c, double finish_weight,
	       struct assign_scratch *scratch)
{
	const struct view *v = c->view;
	_cleanup_(freep)
	struct half *halves = malloc(((size_t)v->parent_n + 1) * sizeof(*halves));
	_cleanup_(freep)
	uint32_t *holder = malloc(((size_t)v->child_n + 1) * sizeof(*holder));
	_cleanup_(freep)
	struct cutter *x = malloc(sizeof(*x));
	int changed = 0;

	if (!halves || !holder || !x)
		return -ENOMEM;
	x->m = m;
	x->c = c;
	x->halves = halves;
	x->holder = holder;
	x->finish_weight = finish_weight;
	for (uint32_t p = 0; p < v->parent_n; p++) {
		halves[p] = (struct half){VIEW_NONE, VIEW_NONE, c->first[p],
					  last_to_end(c, c->first[p])};
		if (c->first[p] != VIEW_NONE)
			holder[c->first[p]] = p;
	}
	for (uint32_t i = 0; i < v->child_n; i++) {
		if (v->owner[i] == VIEW_NONE)
			continue;
		find_quiet(x, i);
		if (x->quiet_n > 1 && fill_gains(x)) {
			int r = exchange(x, scratch);

			if (r < 0)
				return r;
			changed += r;
		}
		advance(x, i);
	}
	for (uint32_t p = 0; p < v->parent_n; p++)
		for (uint32_t i = c->first[p]; i != VIEW_NONE; i = c->next[i])
			v->owner[i] = p;
	return changed;
}
