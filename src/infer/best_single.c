/* infer/best_single.c - the model of a node with single calls: its memory and its score. */
#include "infer/best_single.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int single_model_new(uint16_t type_n, uint16_t endpoint_n, const uint8_t *slot,
		     struct single_model **ret_model)
{
	struct single_model *m = calloc(1, sizeof(*m));
	size_t e = endpoint_n, t = type_n, s = 0;

	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < e; i++) {
		m->slot[i] = slot ? slot[i] : (uint8_t)i;
		s = MAX(s, (size_t)m->slot[i] + 1);
	}
	if (t * (2 * s + 1) * e > SINGLE_DENSITIES_MAX)
		t = 1;
	m->type_n = (uint16_t)t;
	m->endpoint_n = endpoint_n;
	m->slot_n = (uint16_t)s;
	m->start = calloc(t * (2 * s + 1) * e + 1, sizeof(*m->start));
	m->end = calloc(t * e + 1, sizeof(*m->end));
	m->idle = calloc(t + 1, sizeof(*m->idle));
	m->parents = calloc(t + 1, sizeof(*m->parents));
	m->calls = calloc(t * e + 1, sizeof(*m->calls));
	m->sets = calloc(s <= SINGLE_SETS_MAX ? t << s : 1, sizeof(*m->sets));
	m->log_set = calloc(s <= SINGLE_SETS_MAX ? t << s : 1, sizeof(*m->log_set));
	m->log_called = calloc(t * s + 1, sizeof(*m->log_called));
	m->log_skipped = calloc(t * s + 1, sizeof(*m->log_skipped));
	m->log_choice = calloc(t * e + 1, sizeof(*m->log_choice));
	m->trigger = calloc(t * s + 1, sizeof(*m->trigger));
	if (!m->start || !m->end || !m->idle || !m->parents || !m->calls || !m->sets ||
	    !m->log_set || !m->log_called || !m->log_skipped || !m->log_choice || !m->trigger) {
		single_model_free(m);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t * s; i++)
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
	free(m->parents);
	free(m->calls);
	free(m->sets);
	free(m->log_set);
	free(m->log_called);
	free(m->log_skipped);
	free(m->log_choice);
	free(m->trigger);
	free(m);
	return NULL;
}

int single_init(struct single *s, const struct view *v, struct single_model *m)
{
	size_t cells = (size_t)v->parent_n * m->slot_n + 1;
	uint32_t at = 0;

	*s = (struct single){.view = v, .model = m};
	s->child = malloc(cells * sizeof(*s->child));
	s->member = malloc(((size_t)v->child_n + 1) * sizeof(*s->member));
	s->call_place = calloc((size_t)v->child_n + 1, sizeof(*s->call_place));
	s->parent_place = calloc(cells, sizeof(*s->parent_place));
	if (!s->child || !s->member || !s->call_place || !s->parent_place) {
		single_done(s);
		return -ENOMEM;
	}
	for (unsigned x = 0; x < m->slot_n; x++) {
		s->member_first[x] = at;
		for (uint32_t c = 0; c < v->child_n; c++)
			if (single_slot(s, c) == x)
				s->member[at++] = c;
	}
	s->member_first[m->slot_n] = at;
	single_clear(s);
	return 0;
}

void single_done(struct single *s)
{
	free(s->child);
	free(s->member);
	free(s->call_place);
	free(s->parent_place);
	*s = (struct single){0};
}

void single_clear(struct single *s)
{
	memset(s->child, 0xff, (size_t)s->view->parent_n * s->model->slot_n * sizeof(*s->child));
	memset(s->view->owner, 0xff, s->view->child_n * sizeof(*s->view->owner));
}

void single_take(struct single *s, const uint32_t *owner)
{
	const struct view *v = s->view;

	for (size_t i = 0; i < (size_t)v->parent_n * s->model->slot_n; i++)
		s->child[i] = VIEW_NONE;
	for (uint32_t c = 0; c < v->child_n; c++) {
		uint32_t p = owner[c];
		size_t at = (size_t)p * s->model->slot_n + single_slot(s, c);

		v->owner[c] = VIEW_NONE;
		if (p == VIEW_NONE || s->child[at] != VIEW_NONE)
			continue;
		v->owner[c] = p;
		s->child[at] = c;
	}
}

/* What it costs that a call and its parent are not at the same place in their queue. */
static float order_cost(const struct single *s, uint32_t parent, unsigned slot, uint32_t child)
{
	uint32_t a = s->parent_place[(size_t)slot * s->view->parent_n + parent];
	uint32_t b = s->call_place[child];

	return s->model->order_price[slot] *
	       (float)MIN(a > b ? a - b : b - a, (uint32_t)SINGLE_DISPLACED_MAX);
}

/* The delay of the call in slot x behind its trigger; behind the start of the parent where the call
 * that should have triggered it was skipped (a cache). */
static float start_score(const struct single *s, uint32_t parent, unsigned x, const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	unsigned type = single_type(s, parent);
	int trigger = m->trigger[type * m->slot_n + x], n = m->slot_n;
	unsigned e = v->child_endpoint[child[x]];
	int64_t start = v->child_start[child[x]];

	if (trigger >= n && child[trigger - n] != VIEW_NONE)
		return density_signed_log(single_start(m, type, trigger, e),
					  start - v->child_start[child[trigger - n]]);
	if (trigger >= 0 && trigger < n && child[trigger] != VIEW_NONE)
		return density_log(single_start(m, type, trigger, e),
				   start - v->child_end[child[trigger]]);
	return density_log(single_start(m, type, SINGLE_FROM_START, e),
			   start - v->parent_start[parent]);
}

/* The parent's end behind the call that ended last (VIEW_NONE: behind its own start).  An end that
 * was not seen is as likely as ends usually are, or calls would flock to parents without one. */
static float end_score(const struct single *s, uint32_t parent, unsigned type, uint32_t last)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	const struct density *d = last == VIEW_NONE
					  ? &m->idle[type]
					  : &m->end[type * m->endpoint_n + v->child_endpoint[last]];
	int64_t from = last == VIEW_NONE ? v->parent_start[parent] : v->child_end[last];

	return v->parent_end[parent] == VIEW_OPEN ? d->mean
						  : density_log(d, v->parent_end[parent] - from);
}

double single_score(const struct single *s, uint32_t parent, const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	unsigned type = single_type(s, parent), n = m->slot_n, last = n, set = 0;
	int64_t end = 0;
	double sum = 0;

	for (unsigned x = 0; x < n; x++) {
		if (child[x] == VIEW_NONE) {
			sum += n > SINGLE_SETS_MAX ? m->log_skipped[type * n + x] : 0;
			continue;
		}
		set |= 1U << x;
		sum += m->log_choice[type * m->endpoint_n + v->child_endpoint[child[x]]] +
		       start_score(s, parent, x, child);
		if (n > SINGLE_SETS_MAX)
			sum += m->log_called[type * n + x];
		if (m->order_price[x] > 0)
			sum -= order_cost(s, parent, x, child[x]);
		if (last == n || v->child_end[child[x]] > end) {
			end = v->child_end[child[x]];
			last = x;
		}
	}
	if (n <= SINGLE_SETS_MAX)
		sum += m->log_set[type << n | set];
	return sum + end_score(s, parent, type, last == n ? VIEW_NONE : child[last]);
}

double single_owed(const struct single *s, uint32_t parent, const uint32_t *child)
{
	const struct single_model *m = s->model;
	const struct view *v = s->view;
	unsigned type = single_type(s, parent);
	int n = m->slot_n, last = -1;
	double sum = 0;

	for (int x = 0; x < n; x++) {
		int by = m->trigger[type * m->slot_n + (unsigned)x];
		int64_t start;
		unsigned e;

		if (child[x] == VIEW_NONE)
			continue;
		start = v->child_start[child[x]];
		e = v->child_endpoint[child[x]];
		if (last < 0 || v->child_end[child[x]] > v->child_end[child[last]])
			last = x;
		if (by >= n && child[by - n] != VIEW_NONE)
			sum += density_owed(single_start(m, type, by, e),
					    start - v->child_start[child[by - n]], true);
		else if (by >= 0 && by < n && child[by] != VIEW_NONE)
			sum += density_owed(single_start(m, type, by, e),
					    start - v->child_end[child[by]], false);
		else
			sum += density_owed(single_start(m, type, SINGLE_FROM_START, e),
					    start - v->parent_start[parent], false);
	}
	if (last >= 0 && v->parent_end[parent] != VIEW_OPEN)
		sum += density_owed(&m->end[type * m->endpoint_n + v->child_endpoint[child[last]]],
				    v->parent_end[parent] - v->child_end[child[last]], false);
	return sum;
}

double single_total(const struct single *s)
{
	double sum = 0;

	for (uint32_t p = 0; p < s->view->parent_n; p++)
		sum += single_score(s, p, s->child + (size_t)p * s->model->slot_n);
	for (uint32_t c = 0; c < s->view->child_n; c++)
		if (s->view->owner[c] == VIEW_NONE)
			sum -= SINGLE_ORPHAN_ODDS;
	return sum;
}

uint32_t single_subtree(const struct single_model *m, unsigned x)
{
	unsigned n = m->slot_n;
	uint32_t block = 1U << x, before = 0;

	while (block != before) {
		before = block;
		for (unsigned y = 0; y < n; y++)
			if (m->trigger[y] >= 0 && block >> ((unsigned)m->trigger[y] % n) & 1)
				block |= 1U << y;
	}
	return block;
}
