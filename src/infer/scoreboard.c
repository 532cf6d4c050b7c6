/* infer/scoreboard.c - histograms of delays per (A, B, C). */
#include "infer/scoreboard.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"

#define SMOOTH_REACH 3 /* standard deviations */

void scoreboard_init(struct scoreboard *s, int64_t base_ns)
{
	*s = (struct scoreboard){0};
	map_init(&s->map);
	bins_init(&s->bins, base_ns);
}

void scoreboard_done(struct scoreboard *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->edges[i].by_n; k++)
			if (s->edges[i].by[k]) {
				free(s->edges[i].by[k]->smooth);
				free(s->edges[i].by[k]);
			}
		free(s->edges[i].by);
	}
	free(s->edges);
	free(s->callers);
	map_done(&s->map);
	s->edges = NULL;
	s->callers = NULL;
	s->n = s->callers_n = 0;
}

static bool same_edge(const void *context, uint32_t value, const void *key)
{
	const struct edge *a = &((const struct scoreboard *)context)->edges[value], *b = key;

	return a->caller == b->caller && a->callee == b->callee;
}

static int caller_rank(struct scoreboard *s, uint32_t node, uint32_t *ret_rank)
{
	if (node >= s->callers_n) {
		if (!vec_reserve(&s->callers, &s->callers_capacity, (size_t)node + 1,
				 sizeof(*s->callers)))
			return -ENOMEM;
		memset(s->callers + s->callers_n, 0,
		       (node + 1 - s->callers_n) * sizeof(*s->callers));
		s->callers_n = (size_t)node + 1;
	}
	*ret_rank = MIN(s->callers[node], SCOREBOARD_MAX_CALLERS - 1u);
	s->callers[node]++;
	return 0;
}

int scoreboard_edge(struct scoreboard *s, uint32_t caller, uint32_t callee, uint32_t *ret_edge)
{
	struct edge key = {.caller = caller, .callee = callee};
	uint64_t hash = hash_u64((uint64_t)caller << 32 | callee, s->map.seed);
	uint32_t at = map_get(&s->map, hash, same_edge, s, &key);

	if (at == MAP_NONE) {
		if (!vec_reserve(&s->edges, &s->capacity, s->n + 1, sizeof(*s->edges)) ||
		    caller_rank(s, callee, &key.rank) < 0 ||
		    !map_put(&s->map, hash, (uint32_t)s->n))
			return -ENOMEM;
		at = (uint32_t)s->n++;
		s->edges[at] = key;
	}
	*ret_edge = at;
	return 0;
}

struct histogram *scoreboard_histogram(struct scoreboard *s, uint32_t edge, uint32_t rank)
{
	struct edge *e = &s->edges[edge];

	if (rank >= e->by_n) {
		if (!vec_reserve(&e->by, &e->by_capacity, (size_t)rank + 1, sizeof(*e->by)))
			return NULL;
		memset(e->by + e->by_n, 0, (rank + 1 - e->by_n) * sizeof(*e->by));
		e->by_n = (size_t)rank + 1;
	}
	if (!e->by[rank])
		e->by[rank] = calloc(1, sizeof(*e->by[rank]));
	return e->by[rank];
}

static void convolve(const double *in, const double *kernel, int reach, double *out)
{
	for (int i = 0; i < BINS_N; i++) {
		double sum = 0;

		for (int k = -reach; k <= reach; k++)
			if (i + k >= 0 && i + k < BINS_N)
				sum += in[i + k] * kernel[k + reach];
		out[i] = sum;
	}
}

int scoreboard_smooth(struct scoreboard *s, uint32_t edge, double sd)
{
	int reach = MIN((int)ceil(SMOOTH_REACH * sd), BINS_N);
	double kernel[2 * BINS_N + 1], sum = 0;
	struct edge *e = &s->edges[edge];

	for (int k = -reach; k <= reach; k++)
		sum += kernel[k + reach] = exp(-0.5 * k * k / (sd * sd));
	for (int k = 0; k <= 2 * reach; k++)
		kernel[k] /= sum;
	for (size_t i = 0; i < e->by_n; i++) {
		struct histogram *h = e->by[i];

		if (!h)
			continue;
		if (!h->smooth)
			h->smooth = malloc(BINS_N * sizeof(*h->smooth));
		if (!h->smooth)
			return -ENOMEM;
		convolve(h->raw, kernel, reach, h->smooth);
	}
	return 0;
}

void scoreboard_fade(struct scoreboard *s, double factor)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->edges[i].by_n; k++)
			for (int b = 0; s->edges[i].by[k] && b < BINS_N; b++)
				s->edges[i].by[k]->raw[b] *= factor;
}
