/* infer/best_fit.c - what an answer teaches about a node with single calls: which slots are filled,
 * how long after what, and what sets each off. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "infer/best_single.h"

#define TRIGGER_MIN_CALLS  5    /* a trigger is judged on that many calls or more */
#define TRIGGER_VIOLATIONS 0.03 /* of the calls may precede their trigger */
#define TRIGGER_BETTER     0.05 /* nats a call, over the one found before */
#define PROBABILITY_MIN    1e-3 /* of a call, and of none */
#define SET_PRIOR          3.0  /* parents' worth of belief that slots are independent */

static void scale(struct density *d, size_t n, float keep)
{
	for (size_t i = 0; i < n; i++)
		for (int b = 0; b < DENSITY_BINS; b++)
			d[i].weight[b] *= keep;
}

static void scale_counts(double *counts, size_t n, float keep)
{
	for (size_t i = 0; i < n; i++)
		counts[i] *= (double)keep;
}

static void forget(struct single_model *m, float keep)
{
	size_t e = m->endpoint_n, t = m->type_n, s = m->slot_n;

	scale(m->start, t * (2 * s + 1) * e, keep);
	scale(m->end, t * e, keep);
	scale(m->idle, t, keep);
	scale_counts(m->parents, t, keep);
	scale_counts(m->calls, t * e, keep);
	if (s <= SINGLE_SETS_MAX)
		scale_counts(m->sets, t << s, keep);
}

static void fit_densities(struct single_model *m)
{
	int n = m->slot_n;

	for (unsigned t = 0; t < m->type_n; t++) {
		density_fit(&m->idle[t], false);
		for (unsigned e = 0; e < m->endpoint_n; e++) {
			density_fit(&m->end[t * m->endpoint_n + e], false);
			for (int x = SINGLE_FROM_START; x < 2 * n; x++)
				if (x < 0 || x % n != m->slot[e])
					density_fit(single_start(m, t, x, e), x >= n);
		}
	}
}

static void fit_slots(struct single_model *m, unsigned t)
{
	unsigned n = m->slot_n;
	double filled[SINGLE_ENDPOINTS_MAX] = {0};

	for (unsigned e = 0; e < m->endpoint_n; e++)
		filled[m->slot[e]] += m->calls[t * m->endpoint_n + e];
	for (unsigned e = 0; e < m->endpoint_n; e++)
		m->log_choice[t * m->endpoint_n + e] =
			(float)log((m->calls[t * m->endpoint_n + e] + 0.1) /
				   (filled[m->slot[e]] + 0.1 * m->endpoint_n));
	for (unsigned x = 0; x < n; x++) {
		double p = (filled[x] + 0.5) / (m->parents[t] + 1);

		p = fmin(fmax(p, PROBABILITY_MIN), 1 - PROBABILITY_MIN);
		m->log_called[t * n + x] = (float)log(p);
		m->log_skipped[t * n + x] = (float)log(1 - p);
	}
}

/* A set's probability: as often as it was seen, backed off to that of independent slots. */
static void fit_sets(struct single_model *m, unsigned t, bool seen)
{
	unsigned n = m->slot_n;

	for (unsigned set = 0; n <= SINGLE_SETS_MAX && set < 1U << n; set++) {
		double log_p = 0, count = seen ? m->sets[t << n | set] : 0;
		double parents = seen ? m->parents[t] : 0;

		for (unsigned x = 0; x < n; x++)
			log_p += (double)(set >> x & 1 ? m->log_called[t * n + x]
						       : m->log_skipped[t * n + x]);
		m->log_set[t << n | set] =
			(float)log((count + SET_PRIOR * exp(log_p)) / (parents + SET_PRIOR));
	}
}

static void add_starts(struct single *s, uint32_t p, unsigned t, const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	int n = m->slot_n;

	for (int x = 0; x < n; x++) {
		int64_t start;
		unsigned e;

		if (child[x] == VIEW_NONE)
			continue;
		start = v->child_start[child[x]];
		e = v->child_endpoint[child[x]];
		density_add(single_start(m, t, SINGLE_FROM_START, e), start - v->parent_start[p],
			    1);
		for (int y = 0; y < n; y++) {
			if (y == x || child[y] == VIEW_NONE)
				continue;
			density_add(single_start(m, t, y, e), start - v->child_end[child[y]], 1);
			density_signed_add(single_start(m, t, n + y, e),
					   start - v->child_start[child[y]], 1);
		}
	}
}

static void add_end(struct single *s, uint32_t p, unsigned t, const uint32_t *child)
{
	const struct view *v = s->view;
	unsigned n = s->model->slot_n, last = n;

	if (v->parent_end[p] == VIEW_OPEN)
		return;
	for (unsigned x = 0; x < n; x++)
		if (child[x] != VIEW_NONE &&
		    (last == n || v->child_end[child[x]] > v->child_end[child[last]]))
			last = x;
	if (last == n)
		density_add(&s->model->idle[t], v->parent_end[p] - v->parent_start[p], 1);
	else
		density_add(
			&s->model->end[t * s->model->endpoint_n + v->child_endpoint[child[last]]],
			v->parent_end[p] - v->child_end[child[last]], 1);
}

/* Whether making `by` the trigger of slot x would close a circle. */
static bool circular(const struct single_model *m, unsigned t, int by, int x)
{
	int n = m->slot_n;

	for (int steps = 0; by >= 0 && steps <= n; steps++) {
		if (by % n == x)
			return true;
		by = m->trigger[t * (unsigned)n + (unsigned)(by % n)];
	}
	return false;
}

/* Nats per call when `by` sets slot x off; -INFINITY when it cannot. */
static double trigger_score(const struct single *s, unsigned t, int by, int x)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	int n = m->slot_n;
	double sum = 0, calls = 0, violations = 0;

	for (uint32_t p = 0; p < v->parent_n; p++) {
		const uint32_t *child = s->child + (size_t)p * (size_t)n;
		int64_t start;
		unsigned e;

		if (single_type(s, p) != t || child[x] == VIEW_NONE)
			continue;
		start = v->child_start[child[x]];
		e = v->child_endpoint[child[x]];
		calls++;
		if (by < 0 || child[by % n] == VIEW_NONE)
			sum += density_log(single_start(m, t, SINGLE_FROM_START, e),
					   start - v->parent_start[p]);
		else if (by >= n)
			sum += density_signed_log(single_start(m, t, by, e),
						  start - v->child_start[child[by - n]]);
		else if (start < v->child_end[child[by]])
			violations++;
		else
			sum += density_log(single_start(m, t, by, e),
					   start - v->child_end[child[by]]);
	}
	if (calls < TRIGGER_MIN_CALLS || violations > TRIGGER_VIOLATIONS * calls)
		return -INFINITY;
	return sum / (calls - violations);
}

static void fit_triggers(struct single *s, unsigned t)
{
	struct single_model *m = s->model;
	int n = m->slot_n;
	int16_t *trigger = m->trigger + (size_t)t * m->slot_n;

	for (int x = 0; x < n; x++)
		trigger[x] = SINGLE_FROM_START;
	for (int x = 0; x < n; x++) {
		double best = -INFINITY;
		int16_t chosen = SINGLE_FROM_START;

		for (int by = SINGLE_FROM_START; by < 2 * n; by++) {
			double score;

			if (by >= 0 && (by % n == x || circular(m, t, by, x)))
				continue;
			score = trigger_score(s, t, by, x);
			if (score > best + TRIGGER_BETTER || (isinf(best) && score > best)) {
				best = score;
				chosen = (int16_t)by;
			}
		}
		trigger[x] = chosen;
	}
}

void single_fit(struct single *s, float keep)
{
	struct single_model *m = s->model;

	forget(m, keep);
	for (uint32_t p = 0; p < s->view->parent_n; p++) {
		const uint32_t *child = s->child + (size_t)p * m->slot_n;
		unsigned t = single_type(s, p), set = 0;

		for (unsigned x = 0; x < m->slot_n; x++) {
			if (child[x] == VIEW_NONE)
				continue;
			set |= 1U << x;
			m->calls[t * m->endpoint_n + s->view->child_endpoint[child[x]]]++;
		}
		m->parents[t]++;
		if (m->slot_n <= SINGLE_SETS_MAX)
			m->sets[t << m->slot_n | set]++;
		add_starts(s, p, t, child);
		add_end(s, p, t, child);
	}
	fit_densities(m);
	for (unsigned t = 0; t < m->type_n; t++) {
		fit_slots(m, t);
		fit_sets(m, t, true);
		fit_triggers(s, t);
	}
	m->fitted = true;
}

static void add_candidates(struct single *s, uint32_t c)
{
	struct single_model *m = s->model;
	const struct view *v = s->view;
	uint32_t from = v->candidate_first[c], to = v->candidate_first[c + 1];
	unsigned e = v->child_endpoint[c];

	for (uint32_t k = from; k < to; k++) {
		uint32_t p = v->candidate[k];
		unsigned t = single_type(s, p);
		float share = 1.0F / (float)(to - from);

		density_add(single_start(m, t, SINGLE_FROM_START, e),
			    v->child_start[c] - v->parent_start[p], share);
		if (v->parent_end[p] != VIEW_OPEN)
			density_add(&m->end[t * m->endpoint_n + e],
				    v->parent_end[p] - v->child_end[c], share);
		m->calls[t * m->endpoint_n + e] += (double)share;
	}
}

void single_fit_candidates(struct single *s)
{
	struct single_model *m = s->model;
	const struct view *v = s->view;

	forget(m, 0);
	for (uint32_t p = 0; p < v->parent_n; p++) {
		m->parents[single_type(s, p)]++;
		if (v->parent_end[p] != VIEW_OPEN)
			density_add(&m->idle[single_type(s, p)],
				    v->parent_end[p] - v->parent_start[p], 1);
	}
	for (uint32_t c = 0; c < v->child_n; c++)
		add_candidates(s, c);
	fit_densities(m);
	for (unsigned t = 0; t < m->type_n; t++) {
		fit_slots(m, t);
		fit_sets(m, t, false);
	}
	for (unsigned i = 0; i < (unsigned)m->type_n * m->slot_n; i++)
		m->trigger[i] = SINGLE_FROM_START;
	memset(m->order_price, 0, sizeof(m->order_price));
	m->fitted = false;
}
