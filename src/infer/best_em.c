/* infer/best_em.c - hard expectation maximisation from convolution seeds. */
#include "infer/best_em.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "infer/best_confidence.h"
#include "infer/best_fifo.h"
#include "infer/best_seed.h"

#define SWEEPS          8
#define MANY_CANDIDATES 2.0 /* per child: beyond, one seed is not enough */
#define SEED_MIN_START  0.3 /* of the children must stand out for a seed to be used */
#define SEED_MIN_END    0.1 /* of the parents */
#define TRIGGER_MARGIN  1.05
#define WARM_KEEP       0.5F

/* Sorted times of one kind of event. */
struct series {
	int64_t *at;
	uint32_t n;
};

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct seeding {
	struct single *s;
	enum seed_rule rule;
	int64_t longest;
	struct series start, end;                  /* of parents of one type */
	struct series begun[SINGLE_ENDPOINTS_MAX]; /* of children */
	struct series finished[SINGLE_ENDPOINTS_MAX];
	double ratio[SINGLE_ENDPOINTS_MAX][SINGLE_ENDPOINTS_MAX + 1];
};

static int seeding_init(struct seeding *d, struct single *s, enum seed_rule rule, int64_t *memory)
{
	const struct view *v = s->view;

	*d = (struct seeding){.s = s, .rule = rule};
	for (uint32_t p = 0; p < v->parent_n; p++)
		if (v->parent_end[p] != VIEW_OPEN)
			d->longest = MAX(d->longest, v->parent_end[p] - v->parent_start[p]);
	d->start.at = memory;
	d->end.at = memory + v->parent_n;
	memory += 2 * (size_t)v->parent_n;
	for (unsigned e = 0; e < s->model->endpoint_n; e++) {
		uint32_t n = v->member_first[e + 1] - v->member_first[e];

		d->begun[e] = (struct series){memory, n};
		d->finished[e] = (struct series){memory + n, n};
		memory += 2 * (size_t)n;
		for (uint32_t i = 0; i < n; i++) {
			d->begun[e].at[i] = v->child_start[v->member[v->member_first[e] + i]];
			d->finished[e].at[i] = v->child_end[v->member[v->member_first[e] + i]];
		}
		qsort(d->finished[e].at, n, sizeof(int64_t), compare_times);
	}
	return 0;
}

static double correlate(struct seeding *d, const struct series *x, const struct series *y,
			double least, struct density *into)
{
	struct density found;
	double ratio = seed_correlate(&found, x->at, x->n, y->at, y->n, d->longest, d->rule);

	if (density_mass(&found) > least) {
		memcpy(into->weight, found.weight, sizeof(found.weight));
		density_fit(into, false);
	}
	return ratio;
}

static void seed_type(struct seeding *d, unsigned t)
{
	struct single_model *m = d->s->model;
	const struct view *v = d->s->view;
	unsigned n = m->endpoint_n;

	d->start.n = d->end.n = 0;
	for (uint32_t p = 0; p < v->parent_n; p++) {
		if (single_type(d->s, p) != t)
			continue;
		d->start.at[d->start.n++] = v->parent_start[p];
		if (v->parent_end[p] != VIEW_OPEN)
			d->end.at[d->end.n++] = v->parent_end[p];
	}
	qsort(d->end.at, d->end.n, sizeof(int64_t), compare_times);
	for (unsigned e = 0; e < n; e++) {
		d->ratio[e][0] += correlate(d, &d->start, &d->begun[e],
					    SEED_MIN_START * d->begun[e].n / m->type_n,
					    single_start(m, t, SINGLE_FROM_START, e));
		correlate(d, &d->finished[e], &d->end, SEED_MIN_END * d->end.n, &m->end[t * n + e]);
	}
}

/* The end of another call as trigger, where it explains clearly more than the parent's start. */
static void seed_triggers(struct seeding *d)
{
	struct single_model *m = d->s->model;
	int n = m->endpoint_n;

	for (int e = 0; e < n; e++) {
		double best = d->ratio[e][0];
		int16_t trigger = SINGLE_FROM_START;

		for (int x = 0; x < n; x++) {
			bool circle = x == e;

			for (int up = x, steps = 0; up >= 0 && steps <= n; steps++) {
				circle |= up == e;
				up = m->trigger[up];
			}
			if (!circle && d->ratio[e][x + 1] > best * TRIGGER_MARGIN) {
				best = d->ratio[e][x + 1];
				trigger = (int16_t)x;
			}
		}
		for (unsigned t = 0; t < m->type_n; t++)
			m->trigger[t * (unsigned)n + (unsigned)e] = trigger;
	}
}

static int seed_model(struct single *s, enum seed_rule rule)
{
	struct single_model *m = s->model;
	const struct view *v = s->view;
	_cleanup_(freep)
	int64_t *memory = NULL;
	struct seeding d;

	memory = malloc((2 * (size_t)v->parent_n + 2 * (size_t)v->child_n + 1) * sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	seeding_init(&d, s, rule, memory);
	for (unsigned t = 0; t < m->type_n; t++)
		seed_type(&d, t);
	for (unsigned e = 0; e < m->endpoint_n; e++)
		for (unsigned x = 0; x < m->endpoint_n; x++) {
			struct density *first = single_start(m, 0, (int)x, e);

			if (x == e)
				continue;
			d.ratio[e][x + 1] = correlate(&d, &d.finished[x], &d.begun[e], -1, first);
			for (unsigned t = 1; t < m->type_n; t++)
				*single_start(m, t, (int)x, e) = *first;
		}
	seed_triggers(&d);
	return 0;
}

static void clear_answer(struct single *s)
{
	for (size_t i = 0; i < (size_t)s->view->parent_n * s->model->endpoint_n; i++)
		s->child[i] = VIEW_NONE;
	for (uint32_t c = 0; c < s->view->child_n; c++)
		s->view->owner[c] = VIEW_NONE;
}

static void take_answer(struct single *s, const uint32_t *owner)
{
	clear_answer(s);
	for (uint32_t c = 0; c < s->view->child_n; c++) {
		size_t at = (size_t)owner[c] * s->model->endpoint_n + s->view->child_endpoint[c];

		if (owner[c] == VIEW_NONE || s->child[at] != VIEW_NONE)
			continue;
		s->view->owner[c] = owner[c];
		s->child[at] = c;
	}
}

static int rounds(struct single *s, unsigned n, bool learn, struct blocks_scratch *scratch)
{
	for (unsigned i = 0; i < n; i++) {
		int r = blocks_search(s, SWEEPS, scratch);

		if (r < 0)
			return r;
		if (learn && i + 1 < n) {
			single_fit(s, 0);
			r = fifo_fit(s);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* One seed, to the end. */
static int climb(struct single *s, int seed, unsigned n, struct blocks_scratch *scratch)
{
	int r = 0;

	clear_answer(s);
	single_fit_candidates(s);
	memset(s->model->order_price, 0, s->model->endpoint_n * sizeof(float));
	if (seed < 2)
		r = seed_model(s, (enum seed_rule)seed);
	return r < 0 ? r : rounds(s, n, true, scratch);
}

static int climb_all(struct single *s, unsigned n, struct blocks_scratch *scratch,
		     double *ret_total)
{
	_cleanup_(freep)
	uint32_t *best = malloc(((size_t)s->view->child_n + 1) * sizeof(*best));
	double highest = -INFINITY;

	if (!best)
		return -ENOMEM;
	for (int seed = 0; seed < 3; seed++) {
		double total;
		int r = climb(s, seed, n, scratch);

		if (r < 0)
			return r;
		total = single_total(s);
		if (total > highest) {
			highest = total;
			memcpy(best, s->view->owner, s->view->child_n * sizeof(*best));
		}
	}
	take_answer(s, best);
	single_fit(s, 0);
	*ret_total = highest;
	return 0;
}

static int solve(struct single *s, const struct em_options *o, struct blocks_scratch *scratch,
		 double *ret_total)
{
	const struct view *v = s->view;
	bool many = v->candidate_first[v->child_n] > MANY_CANDIDATES * v->child_n;
	int r;

	if (o->truth) {
		take_answer(s, o->truth);
		single_fit(s, 0);
		clear_answer(s);
		r = rounds(s, 1, false, scratch);
	} else if (s->model->fitted) {
		clear_answer(s);
		r = rounds(s, 1, false, scratch);
		if (r == 0)
			single_fit(s, WARM_KEEP);
		if (r == 0)
			r = rounds(s, 1, false, scratch);
	} else if (many) {
		return climb_all(s, o->rounds, scratch, ret_total);
	} else {
		r = climb(s, SEED_SPIKES, o->rounds, scratch);
	}
	if (r == 0)
		*ret_total = single_total(s);
	return r;
}

int em_solve(const struct view *view, struct single_model *model, const struct em_options *options,
	     struct blocks_scratch *scratch, double *ret_total)
{
	size_t cells = (size_t)view->parent_n * model->endpoint_n + 1;
	_cleanup_(freep)
	uint32_t *child = malloc(cells * sizeof(*child));
	_cleanup_(freep)
	uint32_t *places = calloc(cells, sizeof(*places));
	_cleanup_(freep)
	uint32_t *place = calloc((size_t)view->child_n + 1, sizeof(*place));
	struct single s = {
		.view = view,
		.model = model,
		.child = child,
		.call_place = place,
		.parent_place = places,
	};

	int r;

	if (!child || !places || !place)
		return -ENOMEM;
	r = solve(&s, options, scratch, ret_total);
	if (r == 0)
		confidence_single(&s);
	return r;
}
