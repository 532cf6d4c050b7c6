/* infer/best_fit.c - what an answer teaches about a node with single calls: how often each endpoint
 * is called, how long after what, and what sets it off. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "infer/best_single.h"

#define TRIGGER_MIN_CALLS  5    /* a trigger is judged on that many calls or more */
#define TRIGGER_VIOLATIONS 0.03 /* of the calls may precede their trigger */
#define TRIGGER_BETTER     0.05 /* nats a call, over the one found before */
#define PROBABILITY_MIN    1e-3 /* of a call, and of none */

struct tally {
	double parents[VIEW_TYPES_MAX];
	double calls[VIEW_TYPES_MAX * SINGLE_ENDPOINTS_MAX];
};

static void scale(struct density *d, size_t n, float keep)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0; b < DENSITY_BINS; b++)
			d[i].weight[b] *= keep;
}

static void forget(struct single_model *m, float keep)
{
	size_t e = m->endpoint_n, t = m->type_n;

	scale(m->start, t * (2 * e + 1) * e, keep);
	scale(m->end, t * e, keep);
	scale(m->idle, t, keep);
}

static void fit_densities(struct single_model *m)
{
	int n = m->endpoint_n;

	for (unsigned t = 0; t < m->type_n; t++) {
		density_fit(&m->idle[t], false);
		for (int e = 0; e < n; e++) {
			density_fit(&m->end[t * (unsigned)n + (unsigned)e], false);
			for (int x = SINGLE_FROM_START; x < 2 * n; x++)
				if (x % n != e || x < 0)
					density_fit(single_start(m, t, x, (unsigned)e), x >= n);
		}
	}
}

static void fit_probabilities(struct single_model *m, const struct tally *tally)
{
	unsigned n = m->endpoint_n;

	for (unsigned t = 0; t < m->type_n; t++)
		for (unsigned e = 0; e < n; e++) {
			double p = (tally->calls[t * n + e] + 0.5) / (tally->parents[t] + 1);

			p = fmin(fmax(p, PROBABILITY_MIN), 1 - PROBABILITY_MIN);
			m->log_called[t * n + e] = (float)log(p);
			m->log_skipped[t * n + e] = (float)log(1 - p);
		}
}

static void add_starts(struct single *s, uint32_t p, unsigned t, const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	int n = m->endpoint_n;

	for (int e = 0; e < n; e++) {
		int64_t start;

		if (child[e] == VIEW_NONE)
			continue;
		start = v->child_start[child[e]];
		density_add(single_start(m, t, SINGLE_FROM_START, (unsigned)e),
			    start - v->parent_start[p], 1);
		for (int x = 0; x < n; x++) {
			if (x == e || child[x] == VIEW_NONE)
				continue;
			density_add(single_start(m, t, x, (unsigned)e),
				    start - v->child_end[child[x]], 1);
			density_signed_add(single_start(m, t, n + x, (unsigned)e),
					   start - v->child_start[child[x]], 1);
		}
	}
}

static void add_end(struct single *s, uint32_t p, unsigned t, const uint32_t *child)
{
	const struct view *v = s->view;
	unsigned n = s->model->endpoint_n, last = n;

	if (v->parent_end[p] == VIEW_OPEN)
		return;
	for (unsigned e = 0; e < n; e++)
		if (child[e] != VIEW_NONE &&
		    (last == n || v->child_end[child[e]] > v->child_end[child[last]]))
			last = e;
	if (last == n)
		density_add(&s->model->idle[t], v->parent_end[p] - v->parent_start[p], 1);
	else
		density_add(&s->model->end[t * n + last],
			    v->parent_end[p] - v->child_end[child[last]], 1);
}

/* Whether making x the trigger of e would close a circle. */
static bool circular(const struct single_model *m, unsigned t, int x, int e)
{
	int n = m->endpoint_n;

	for (int steps = 0; x >= 0 && steps <= n; steps++) {
		if (x % n == e)
			return true;
		x = m->trigger[t * (unsigned)n + (unsigned)(x % n)];
	}
	return false;
}

/* Nats per call when x sets e off; -INFINITY when it cannot. */
static double trigger_score(const struct single *s, unsigned t, int x, int e)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	int n = m->endpoint_n;
	const struct density *d = single_start(m, t, x, (unsigned)e);
	const struct density *alone = single_start(m, t, SINGLE_FROM_START, (unsigned)e);
	double sum = 0, calls = 0, violations = 0;

	for (uint32_t p = 0; p < v->parent_n; p++) {
		const uint32_t *child = s->child + (size_t)p * (size_t)n;
		int64_t start;

		if (single_type(s, p) != t || child[e] == VIEW_NONE)
			continue;
		start = v->child_start[child[e]];
		calls++;
		if (x < 0 || child[x % n] == VIEW_NONE) {
			sum += density_log(alone, start - v->parent_start[p]);
		} else if (x >= n) {
			sum += density_signed_log(d, start - v->child_start[child[x - n]]);
		} else if (start < v->child_end[child[x]]) {
			violations++;
		} else {
			sum += density_log(d, start - v->child_end[child[x]]);
		}
	}
	if (calls < TRIGGER_MIN_CALLS || violations > TRIGGER_VIOLATIONS * calls)
		return -INFINITY;
	return sum / (calls - violations);
}

static void fit_triggers(struct single *s)
{
	struct single_model *m = s->model;
	int n = m->endpoint_n;

	for (unsigned t = 0; t < m->type_n; t++) {
		for (int e = 0; e < n; e++)
			m->trigger[t * (unsigned)n + (unsigned)e] = SINGLE_FROM_START;
		for (int e = 0; e < n; e++) {
			double best = -INFINITY;
			int16_t trigger = SINGLE_FROM_START;

			for (int x = SINGLE_FROM_START; x < 2 * n; x++) {
				double score;

				if (x >= 0 && (x % n == e || circular(m, t, x, e)))
					continue;
				score = trigger_score(s, t, x, e);
				if (score > best + TRIGGER_BETTER ||
				    (isinf(best) && score > best)) {
					best = score;
					trigger = (int16_t)x;
				}
			}
			m->trigger[t * (unsigned)n + (unsigned)e] = trigger;
		}
	}
}

void single_fit(struct single *s, float keep)
{
	struct single_model *m = s->model;
	struct tally tally = {0};

	forget(m, keep);
	for (uint32_t p = 0; p < s->view->parent_n; p++) {
		const uint32_t *child = s->child + (size_t)p * m->endpoint_n;
		unsigned t = single_type(s, p);

		tally.parents[t]++;
		for (unsigned e = 0; e < m->endpoint_n; e++)
			tally.calls[t * m->endpoint_n + e] += child[e] != VIEW_NONE;
		add_starts(s, p, t, child);
		add_end(s, p, t, child);
	}
	fit_densities(m);
	fit_probabilities(m, &tally);
	fit_triggers(s);
	m->fitted = true;
}

void single_fit_candidates(struct single *s)
{
	struct single_model *m = s->model;
	const struct view *v = s->view;
	struct tally tally = {0};

	forget(m, 0);
	for (uint32_t p = 0; p < v->parent_n; p++) {
		tally.parents[single_type(s, p)]++;
		if (v->parent_end[p] != VIEW_OPEN)
			density_add(&m->idle[single_type(s, p)],
				    v->parent_end[p] - v->parent_start[p], 1);
	}
	for (uint32_t c = 0; c < v->child_n; c++) {
		uint32_t from = v->candidate_first[c], to = v->candidate_first[c + 1];
		unsigned e = v->child_endpoint[c];
		float share = to > from ? 1.0F / (float)(to - from) : 0;

		for (uint32_t k = from; k < to; k++) {
			uint32_t p = v->candidate[k];
			unsigned t = single_type(s, p);

			density_add(single_start(m, t, SINGLE_FROM_START, e),
				    v->child_start[c] - v->parent_start[p], share);
			if (v->parent_end[p] != VIEW_OPEN)
				density_add(&m->end[t * m->endpoint_n + e],
					    v->parent_end[p] - v->child_end[c], share);
			tally.calls[t * m->endpoint_n + e] += (double)share;
		}
	}
	fit_densities(m);
	fit_probabilities(m, &tally);
	for (unsigned i = 0; i < (unsigned)m->type_n * m->endpoint_n; i++)
		m->trigger[i] = SINGLE_FROM_START;
	m->fitted = false;
}
