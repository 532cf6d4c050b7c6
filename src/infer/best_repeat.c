/* infer/best_repeat.c - the model of a node with repeated calls: its memory, score and fit.
 *
 * Score and fit walk a chain the same way: calls that are out are kept by their ends; before each
 * start, and before the finish, those that have ended are taken in the order of their ends. */
#include "infer/best_repeat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NEXT_FLOOR 2e-3 /* of a kind's successors may be ones never seen */

int repeat_model_new(uint16_t type_n, uint16_t endpoint_n, struct repeat_model **ret_model)
{
	struct repeat_model *m = calloc(1, sizeof(*m));
	size_t cells;

	if (!m)
		return -ENOMEM;
	m->type_n = type_n;
	m->endpoint_n = endpoint_n;
	m->before_n = type_n + 2U * endpoint_n;
	m->after_n = endpoint_n + 1U;
	cells = (size_t)m->before_n * m->after_n;
	m->delay = calloc(cells, sizeof(struct density *));
	m->log_next = calloc(cells, sizeof(*m->log_next));
	m->next = calloc(cells, sizeof(*m->next));
	m->log_wait = calloc(m->before_n, sizeof(*m->log_wait));
	m->wait = calloc(m->before_n, sizeof(*m->wait));
	m->flat = calloc(1, sizeof(*m->flat));
	if (!m->delay || !m->log_next || !m->next || !m->log_wait || !m->wait || !m->flat) {
		repeat_model_free(m);
		return -ENOMEM;
	}
	density_fit(m->flat, false);
	*ret_model = m;
	return 0;
}

struct repeat_model *repeat_model_free(struct repeat_model *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; m->delay && i < (size_t)m->before_n * m->after_n; i++)
		free(m->delay[i]);
	free(m->delay);
	free(m->log_next);
	free(m->next);
	free(m->log_wait);
	free(m->wait);
	free(m->flat);
	free(m);
	return NULL;
}

void chains_build(struct chains *c)
{
	const struct view *v = c->view;

	for (uint32_t p = 0; p < v->parent_n; p++)
		c->first[p] = VIEW_NONE;
	for (uint32_t i = v->child_n; i-- > 0;) {
		uint32_t p = v->owner[i];

		c->next[i] = VIEW_NONE;
		if (p == VIEW_NONE)
			continue;
		c->next[i] = c->first[p];
		c->first[p] = i;
	}
}

/* A walk along a parent's own events. */
struct walk {
	const struct repeat_model *m;
	const struct view *v;
	uint32_t kind;                /* of the last event */
	int64_t time;                 /* of the last event */
	uint32_t out[REPEAT_OUT_MAX]; /* calls that are out */
	unsigned out_n;
};

static struct walk walk_from(const struct repeat_model *m, const struct view *v, uint32_t parent)
{
	struct walk w;

	w.m = m;
	w.v = v;
	w.kind = m->type_n == 1 ? 0 : v->parent_type[parent];
	w.time = v->parent_start[parent];
	w.out_n = 0;
	return w;
}

/* Takes the call that ended first, if that was by `until`.  The kind of event that waited for it is
 * in *ret_waited. */
static bool walk_end(struct walk *w, int64_t until, uint32_t *ret_waited)
{
	unsigned first = 0;

	if (w->out_n == 0)
		return false;
	for (unsigned i = 1; i < w->out_n; i++)
		if (w->v->child_end[w->out[i]] < w->v->child_end[w->out[first]])
			first = i;
	if (w->v->child_end[w->out[first]] > until)
		return false;
	*ret_waited = w->kind;
	w->kind = repeat_ended(w->m, w->v->child_endpoint[w->out[first]]);
	w->time = w->v->child_end[w->out[first]];
	w->out[first] = w->out[--w->out_n];
	return true;
}

static void walk_start(struct walk *w, uint32_t child)
{
	w->kind = repeat_begun(w->m, w->v->child_endpoint[child]);
	w->time = w->v->child_start[child];
	if (w->out_n == REPEAT_OUT_MAX)
		w->out_n--;
	w->out[w->out_n++] = child;
}

double repeat_score(const struct repeat_model *m, const struct chains *c, uint32_t parent,
		    uint32_t first)
{
	const struct view *v = c->view;
	struct walk w = walk_from(m, v, parent);
	double sum = 0;
	uint32_t waited;

	for (uint32_t i = first; i != VIEW_NONE; i = c->next[i]) {
		while (walk_end(&w, v->child_start[i], &waited))
			sum += m->log_wait[waited];
		sum += repeat_step(m, w.kind, v->child_endpoint[i], v->child_start[i] - w.time);
		walk_start(&w, i);
	}
	while (walk_end(&w, v->parent_end[parent], &waited))
		sum += m->log_wait[waited];
	sum += repeat_finish_step(m, v, parent, w.kind, w.time);
	return sum + (double)DENSITY_NEVER * w.out_n;
}

static int count_step(struct repeat_model *m, uint32_t before, uint32_t after, int64_t gap)
{
	size_t at = (size_t)before * m->after_n + after;

	if (!m->delay[at] && !(m->delay[at] = calloc(1, sizeof(*m->delay[at]))))
		return -ENOMEM;
	m->next[at]++;
	density_add(m->delay[at], gap, 1);
	return 0;
}

static int count_chain(struct repeat_model *m, const struct chains *c, uint32_t parent)
{
	const struct view *v = c->view;
	struct walk w = walk_from(m, v, parent);
	uint32_t waited;
	int r = 0;

	for (uint32_t i = c->first[parent]; i != VIEW_NONE && r == 0; i = c->next[i]) {
		while (walk_end(&w, v->child_start[i], &waited))
			m->wait[waited]++;
		r = count_step(m, w.kind, v->child_endpoint[i], v->child_start[i] - w.time);
		walk_start(&w, i);
	}
	while (walk_end(&w, v->parent_end[parent], &waited))
		m->wait[waited]++;
	if (r == 0 && v->parent_end[parent] != VIEW_OPEN)
		r = count_step(m, w.kind, repeat_finish(m), v->parent_end[parent] - w.time);
	return r;
}

static void fit_counts(struct repeat_model *m)
{
	for (uint32_t x = 0; x < m->before_n; x++) {
		double sum = m->wait[x] + 0.5;

		for (uint32_t y = 0; y < m->after_n; y++)
			sum += m->next[(size_t)x * m->after_n + y];
		for (uint32_t y = 0; y < m->after_n; y++) {
			size_t at = (size_t)x * m->after_n + y;

			m->log_next[at] = (float)log((m->next[at] + NEXT_FLOOR * sum / m->after_n) /
						     sum / (1 + NEXT_FLOOR));
			if (m->delay[at])
				density_fit(m->delay[at], false);
		}
		m->log_wait[x] =
			(float)log((m->wait[x] + (x < m->type_n ? 1e-4 : 0.5)) / sum + 1e-4);
	}
}

static void forget(struct repeat_model *m, double keep)
{
	for (size_t i = 0; i < (size_t)m->before_n * m->after_n; i++) {
		m->next[i] *= keep;
		for (unsigned b = 0; m->delay[i] && b < DENSITY_BINS; b++)
			m->delay[i]->weight[b] *= (float)keep;
	}
	for (uint32_t x = 0; x < m->before_n; x++)
		m->wait[x] *= keep;
}

int repeat_fit(struct repeat_model *m, const struct chains *c, double keep)
{
	forget(m, keep);
	for (uint32_t p = 0; p < c->view->parent_n; p++) {
		int r = count_chain(m, c, p);

		if (r < 0)
			return r;
	}
	fit_counts(m);
	m->fitted = true;
	return 0;
}
