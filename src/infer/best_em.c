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
#define LEARN_SWEEPS    3   /* in rounds that others follow */
#define SEEDS           3   /* two rules of correlation, and containment */
#define SEED_ROUNDS     3U  /* before the best is chosen */
#define MANY_CANDIDATES 2.0 /* per child: beyond, one seed is not enough */
#define SEED_MIN_START  0.3 /* of the children must stand out for a seed to be used */
#define SEED_MIN_END    0.1 /* of the parents */
#define TRIGGER_MARGIN  1.05
#define WARM_KEEP       0.8F

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
	struct series start, end;                                     /* of parents of one type */
	struct series begun[SINGLE_ENDPOINTS_MAX];                    /* of children, by endpoint */
	struct series ended[SINGLE_ENDPOINTS_MAX];                    /* the same */
	struct series emptied[SINGLE_ENDPOINTS_MAX];                  /* ends by slot */
	double ratio[SINGLE_ENDPOINTS_MAX][SINGLE_ENDPOINTS_MAX + 1]; /* by slot */
};

static void push(struct series *s, int64_t time)
{
	s->at[s->n++] = time;
}

static void sort(struct series *s)
{
	if (s->n > 0)
		qsort(s->at, s->n, sizeof(*s->at), compare_times);
}

/* memory: 2 × parents + 3 × children. */
static void seeding_init(struct seeding *d, struct single *s, enum seed_rule rule, int64_t *memory)
{
	const struct view *v = s->view;
	unsigned n = s->model->endpoint_n;

	*d = (struct seeding){.s = s, .rule = rule};
	for (uint32_t p = 0; p < v->parent_n; p++)
		if (v->parent_end[p] != VIEW_OPEN)
			d->longest = MAX(d->longest, v->parent_end[p] - v->parent_start[p]);
	d->start.at = memory;
	d->end.at = memory + v->parent_n;
	memory += 2 * (size_t)v->parent_n;
	for (unsigned e = 0; e < n; e++) {
		uint32_t members = v->member_first[e + 1] - v->member_first[e];

		d->begun[e].at = memory;
		d->ended[e].at = memory + members;
		memory += 2 * (size_t)members;
	}
	for (unsigned x = 0; x < s->model->slot_n; x++) {
		d->emptied[x].at = memory;
		memory += s->member_first[x + 1] - s->member_first[x];
	}
	for (uint32_t c = 0; c < v->child_n; c++) {
		push(&d->begun[v->child_endpoint[c]], v->child_start[c]);
		push(&d->ended[v->child_endpoint[c]], v->child_end[c]);
		push(&d->emptied[single_slot(s, c)], v->child_end[c]);
	}
	for (unsigned e = 0; e < n; e++) {
		sort(&d->ended[e]);
		sort(&d->emptied[e]);
	}
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

	d->start.n = d->end.n = 0;
	for (uint32_t p = 0; p < v->parent_n; p++) {
		if (single_type(d->s, p) != t)
			continue;
		push(&d->start, v->parent_start[p]);
		if (v->parent_end[p] != VIEW_OPEN)
			push(&d->end, v->parent_end[p]);
	}
	sort(&d->end);
	for (unsigned e = 0; e < m->endpoint_n; e++) {
		d->ratio[m->slot[e]][0] += correlate(d, &d->start, &d->begun[e],
						     SEED_MIN_START * d->begun[e].n / m->type_n,
						     single_start(m, t, SINGLE_FROM_START, e));
		correlate(d, &d->ended[e], &d->end, SEED_MIN_END * d->end.n,
			  &m->end[t * m->endpoint_n + e]);
	}
}

/* The end of another call as trigger, where it explains clearly more than the parent's start. */
static void seed_triggers(struct seeding *d)
{
	struct single_model *m = d->s->model;
	int n = m->slot_n;

	for (int x = 0; x < n; x++) {
		double best = d->ratio[x][0];
		int16_t trigger = SINGLE_FROM_START;

		for (int by = 0; by < n; by++) {
			bool circle = by == x;

			for (int up = by, steps = 0; up >= 0 && steps <= n; steps++) {
				circle |= up == x;
				up = m->trigger[up];
			}
			if (!circle && d->ratio[x][by + 1] > best * TRIGGER_MARGIN) {
				best = d->ratio[x][by + 1];
				trigger = (int16_t)by;
			}
		}
		for (unsigned t = 0; t < m->type_n; t++)
			m->trigger[t * (unsigned)n + (unsigned)x] = trigger;
	}
}

static int seed_model(struct single *s, enum seed_rule rule)
{
	struct single_model *m = s->model;
	const struct view *v = s->view;
	_cleanup_(freep)
	int64_t *memory = NULL;
	struct seeding d;

	memory = malloc((2 * (size_t)v->parent_n + 3 * (size_t)v->child_n + 1) * sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	seeding_init(&d, s, rule, memory);
	for (unsigned t = 0; t < m->type_n; t++)
		seed_type(&d, t);
	for (unsigned e = 0; e < m->endpoint_n; e++)
		for (unsigned x = 0; x < m->slot_n; x++) {
			struct density *first = single_start(m, 0, (int)x, e);

			if (x == m->slot[e])
				continue;
			d.ratio[m->slot[e]][x + 1] +=
				correlate(&d, &d.emptied[x], &d.begun[e], -1, first);
			for (unsigned t = 1; t < m->type_n; t++)
				*single_start(m, t, (int)x, e) = *first;
		}
	seed_triggers(&d);
	return 0;
}

static int rounds(struct single *s, unsigned n, bool learn, struct blocks_scratch *scratch)
{
	for (unsigned i = 0; i < n; i++) {
		int r = blocks_search(s, i + 1 < n ? LEARN_SWEEPS : SWEEPS, scratch);

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

/* One seed, for n rounds. */
static int climb(struct single *s, int seed, unsigned n, struct blocks_scratch *scratch)
{
	int r = 0;

	single_clear(s);
	single_fit_candidates(s);
	if (seed < 2)
		r = seed_model(s, (enum seed_rule)seed);
	return r < 0 ? r : rounds(s, n, true, scratch);
}

/* Every seed for some rounds, the one that got highest for all. */
static int climb_all(struct single *s, unsigned n, struct blocks_scratch *scratch,
		     double *ret_total)
{
	_cleanup_(freep)
	uint32_t *best = malloc(((size_t)s->view->child_n + 1) * sizeof(*best));
	double highest = -INFINITY;
	int r;

	if (!best)
		return -ENOMEM;
	for (int seed = 0; seed < SEEDS; seed++) {
		double total;

		r = climb(s, seed, MIN(n, SEED_ROUNDS), scratch);
		if (r < 0)
			return r;
		total = single_total(s);
		if (total > highest) {
			highest = total;
			memcpy(best, s->view->owner, s->view->child_n * sizeof(*best));
		}
	}
	single_take(s, best);
	single_fit(s, 0);
	r = fifo_fit(s);
	if (r == 0)
		r = rounds(s, n > SEED_ROUNDS ? n - SEED_ROUNDS : 1, true, scratch);
	*ret_total = single_total(s);
	return r;
}

/* Learns from containment and correlation alone. */
static int solve_cold(struct single *s, unsigned n, struct blocks_scratch *scratch,
		      double *ret_total)
{
	const struct view *v = s->view;
	int r;

	if (v->candidate_first[v->child_n] > MANY_CANDIDATES * v->child_n)
		return climb_all(s, n, scratch, ret_total);
	r = climb(s, SEED_SPIKES, n, scratch);
	if (r == 0)
		*ret_total = single_total(s);
	return r;
}

/* Adjusts what was learnt before. */
static int solve_warm(struct single *s, struct blocks_scratch *scratch, double *ret_total)
{
	int r = rounds(s, 1, false, scratch);

	if (r == 0) {
		single_fit(s, WARM_KEEP);
		r = fifo_fit(s);
	}
	if (r == 0)
		r = rounds(s, 1, false, scratch);
	if (r == 0)
		*ret_total = single_total(s);
	return r;
}

/* Learns from the truth; seeks the answer from what was found without it, and from nothing. */
static int solve_told(struct single *s, const struct em_options *o, struct blocks_scratch *scratch,
		      double *ret_total)
{
	const struct view *v = s->view;
	_cleanup_(freep)
	uint32_t *found = malloc(((size_t)v->child_n + 1) * sizeof(*found));
	double from_found, from_nothing;
	int r;

	if (!found)
		return -ENOMEM;
	r = solve_cold(s, o->rounds, scratch, &from_found);
	if (r < 0)
		return r;
	memcpy(found, v->owner, v->child_n * sizeof(*found));
	single_take(s, o->truth);
	single_fit(s, 0);
	r = fifo_fit(s);
	single_take(s, found);
	if (r == 0)
		r = rounds(s, 1, false, scratch);
	from_found = single_total(s);
	memcpy(found, v->owner, v->child_n * sizeof(*found));
	single_clear(s);
	if (r == 0)
		r = rounds(s, 1, false, scratch);
	from_nothing = single_total(s);
	if (from_found > from_nothing)
		single_take(s, found);
	*ret_total = fmax(from_found, from_nothing);
	return r;
}

int em_solve(const struct view *view, struct single_model *model, const struct em_options *options,
	     struct blocks_scratch *scratch, double *ret_total)
{
	struct single s;
	int r = single_init(&s, view, model);

	if (r == 0)
		r = options->truth  ? solve_told(&s, options, scratch, ret_total)
		    : model->fitted ? solve_warm(&s, scratch, ret_total)
				    : solve_cold(&s, options->rounds, scratch, ret_total);
	if (r == 0)
		r = confidence_single(&s);
	single_done(&s);
	return r;
}
