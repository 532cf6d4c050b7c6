/* infer/best_single.c - the model of a node with single calls: its memory and its score. */
#include "infer/best_single.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int single_model_new(uint16_t type_n, uint16_t endpoint_n, struct single_model **ret_model)
{
	struct single_model *m = calloc(1, sizeof(*m));
	size_t e = endpoint_n, t = type_n;

	if (!m)
		return -ENOMEM;
	if (t * (2 * e + 1) * e > SINGLE_DENSITIES_MAX)
		t = 1;
	m->type_n = (uint16_t)t;
	m->endpoint_n = endpoint_n;
	m->start = calloc(t * (2 * e + 1) * e + 1, sizeof(*m->start));
	m->end = calloc(t * e + 1, sizeof(*m->end));
	m->idle = calloc(t + 1, sizeof(*m->idle));
	m->log_called = calloc(t * e + 1, sizeof(*m->log_called));
	m->log_skipped = calloc(t * e + 1, sizeof(*m->log_skipped));
	m->trigger = calloc(t * e + 1, sizeof(*m->trigger));
	m->order_price = calloc(e + 1, sizeof(*m->order_price));
	if (!m->start || !m->end || !m->idle || !m->log_called || !m->log_skipped || !m->trigger ||
	    !m->order_price) {
		single_model_free(m);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t * e; i++)
		m->trigger[i] = SINGLE_FROM_START;
	*ret_model = m;
	return 0;
}

struct single_model *single_model_free(struct single_model *m)
{
	if (!m)
		return NULL;
	free(m->start);
	free(m->end);
	free(m->idle);
	free(m->log_called);
	free(m->log_skipped);
	free(m->trigger);
	free(m->order_price);
	free(m);
	return NULL;
}

/* What it costs that a call and its parent are not at the same place in their queue. */
static float order_cost(const struct single *s, uint32_t parent, unsigned e, uint32_t child)
{
	size_t at = (size_t)s->queue[e] * s->view->parent_n + parent;
	uint32_t a = s->parent_place[at], b = s->call_place[child];

	return s->model->order_price[e] *
	       (float)MIN(a > b ? a - b : b - a, (uint32_t)SINGLE_DISPLACED_MAX);
}

/* The delay of child c of endpoint e behind its trigger; behind the start of the parent where the
 * call that should have triggered it was skipped (a cache). */
static float start_score(const struct single *s, uint32_t parent, unsigned type, unsigned e,
			 const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	int trigger = m->trigger[type * m->endpoint_n + e], n = m->endpoint_n;
	int64_t start = v->child_start[child[e]];

	if (trigger >= n && child[trigger - n] != VIEW_NONE)
		return density_signed_log(single_start(m, type, trigger, e),
					  start - v->child_start[child[trigger - n]]);
	if (trigger >= 0 && trigger < n && child[trigger] != VIEW_NONE)
		return density_log(single_start(m, type, trigger, e),
				   start - v->child_end[child[trigger]]);
	return density_log(single_start(m, type, SINGLE_FROM_START, e),
			   start - v->parent_start[parent]);
}

double single_score(const struct single *s, uint32_t parent, const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	unsigned type = single_type(s, parent), n = m->endpoint_n, last = n;
	int64_t end = 0;
	double sum = 0;

	for (unsigned e = 0; e < n; e++) {
		if (child[e] == VIEW_NONE) {
			sum += m->log_skipped[type * n + e];
			continue;
		}
		sum += m->log_called[type * n + e] + start_score(s, parent, type, e, child);
		if (m->order_price[e] > 0)
			sum -= order_cost(s, parent, e, child[e]);
		if (last == n || v->child_end[child[e]] > end) {
			end = v->child_end[child[e]];
			last = e;
		}
	}
	if (v->parent_end[parent] == VIEW_OPEN)
		return sum;
	if (last == n)
		return sum +
		       density_log(&m->idle[type], v->parent_end[parent] - v->parent_start[parent]);
	return sum + density_log(&m->end[type * n + last], v->parent_end[parent] - end);
}

double single_total(const struct single *s)
{
	double sum = 0;

	for (uint32_t p = 0; p < s->view->parent_n; p++)
		sum += single_score(s, p, s->child + (size_t)p * s->model->endpoint_n);
	for (uint32_t c = 0; c < s->view->child_n; c++)
		if (s->view->owner[c] == VIEW_NONE)
			sum -= SINGLE_ORPHAN;
	return sum;
}

uint32_t single_subtree(const struct single_model *m, unsigned e)
{
	unsigned n = m->endpoint_n;
	uint32_t block = 1U << e, before = 0;

	while (block != before) {
		before = block;
		for (unsigned f = 0; f < n; f++)
			if (m->trigger[f] >= 0 && block >> ((unsigned)m->trigger[f] % n) & 1)
				block |= 1U << f;
	}
	return block;
}
