/* infer/best_repeat_seed.c - first delays between the events of a node with repeated calls.
 *
 * Every kind of event is correlated with every kind that may follow it.  Events also correlate
 * across the ones between them; such indirect delays are spread wider, so each density counts by
 * its sharpness. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "infer/best_repeat.h"
#include "infer/best_seed.h"

#define WAIT_ENDED 0.1 /* of the ends are followed by nothing, at first */
#define WAIT_BEGUN 0.9 /* of the starts */

struct series {
	int64_t *at;
	uint32_t n;
};

struct sources {
	struct series *before, *after;
	int64_t longest;
};

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void push(struct series *s, int64_t time)
{
	s->at[s->n++] = time;
}

/* Series share one piece of memory; counts first, then places, then times. */
static int sources_fill(const struct repeat_model *m, const struct view *v, struct sources *s,
			int64_t *memory)
{
	uint32_t finish = repeat_finish(m), kinds = m->before_n + m->after_n;
	struct series *all = s->before;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < kinds; k++) {
			if (pass == 1) {
				all[k].at = memory;
				memory += all[k].n;
			}
			all[k].n = 0;
		}
		for (uint32_t p = 0; p < v->parent_n; p++) {
			uint32_t t = m->type_n == 1 ? 0 : v->parent_type[p];

			if (pass == 0) {
				s->before[t].n++;
				s->after[finish].n++;
				continue;
			}
			push(&s->before[t], v->parent_start[p]);
			if (v->parent_end[p] != VIEW_OPEN)
				push(&s->after[finish], v->parent_end[p]);
		}
		for (uint32_t i = 0; i < v->child_n; i++) {
			unsigned e = v->child_endpoint[i];

			if (pass == 0) {
				s->before[repeat_begun(m, e)].n++;
				s->before[repeat_ended(m, e)].n++;
				s->after[e].n++;
				continue;
			}
			push(&s->before[repeat_begun(m, e)], v->child_start[i]);
			push(&s->before[repeat_ended(m, e)], v->child_end[i]);
			push(&s->after[e], v->child_start[i]);
		}
	}
	for (uint32_t k = 0; k < kinds; k++)
		if (all[k].n > 1)
			qsort(all[k].at, all[k].n, sizeof(int64_t), compare_times);
	return 0;
}

static double sharpness(const struct density *d, double mass)
{
	double mean = 0, spread = 0, by;

	for (unsigned b = 0; b < DENSITY_BINS; b++)
		mean += b * (double)d->weight[b];
	mean /= mass;
	for (unsigned b = 0; b < DENSITY_BINS; b++)
		spread += d->weight[b] * (b - mean) * (b - mean);
	by = fmin(4.0 / (sqrt(spread / mass) + 1), 1);
	return by * by;
}

static int seed_pair(struct repeat_model *m, const struct sources *s, uint32_t x, uint32_t y)
{
	size_t at = (size_t)x * m->after_n + y;
	struct density found;
	double mass, by;

	seed_correlate(&found, s->before[x].at, s->before[x].n, s->after[y].at, s->after[y].n,
		       s->longest, SEED_SPIKES);
	mass = density_mass(&found);
	if (mass <= 0)
		return 0;
	by = sharpness(&found, mass);
	if (!m->delay[at] && !(m->delay[at] = calloc(1, sizeof(found))))
		return -ENOMEM;
	memcpy(m->delay[at]->weight, found.weight, sizeof(found.weight));
	m->next[at] = mass * by;
	density_fit(m->delay[at], false);
	return 0;
}

static void seed_counts(struct repeat_model *m, const struct sources *s)
{
	for (uint32_t x = 0; x < m->before_n; x++) {
		bool begun = x >= m->type_n && (x - m->type_n) % 2 == 0;
		double sum = 0, wait = x < m->type_n ? 1e-3 : begun ? WAIT_BEGUN : WAIT_ENDED;

		for (uint32_t y = 0; y < m->after_n; y++)
			sum += m->next[(size_t)x * m->after_n + y];
		sum = fmax(sum, 0.5 * s->before[x].n + 1);
		for (uint32_t y = 0; y < m->after_n; y++) {
			size_t at = (size_t)x * m->after_n + y;

			m->log_next[at] = (float)log((1 - wait) *
						     (m->next[at] + 0.01 * sum / m->after_n) / sum);
		}
		m->log_wait[x] = (float)log(wait);
	}
}

int repeat_seed(struct repeat_model *m, const struct view *v)
{
	size_t kinds = m->before_n + m->after_n;
	_cleanup_(freep)
	struct series *series = calloc(kinds, sizeof(*series));
	_cleanup_(freep)
	int64_t *memory = NULL;
	struct sources s = {.before = series, .after = series + m->before_n};
	int r = 0;

	memory = malloc((2 * (size_t)v->parent_n + 3 * (size_t)v->child_n + 1) * sizeof(*memory));
	if (!series || !memory)
		return -ENOMEM;
	for (uint32_t p = 0; p < v->parent_n; p++)
		if (v->parent_end[p] != VIEW_OPEN)
			s.longest = MAX(s.longest, v->parent_end[p] - v->parent_start[p]);
	sources_fill(m, v, &s, memory);
	for (uint32_t x = 0; x < m->before_n && r == 0; x++)
		for (uint32_t y = 0; y < m->after_n && r == 0; y++)
			r = seed_pair(m, &s, x, y);
	seed_counts(m, &s);
	return r;
}
