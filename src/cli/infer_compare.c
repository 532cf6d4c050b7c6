/* cli/infer_compare.c - what differs between two runs: how much, at which node, between what.
 *
 *   +200ms at WS2 between AUTH and AP1: 20.0ms before, 220ms now, 4210 times, 842s in all
 *
 * The time of a node falls into stretches: from being called to its first call, from one return to
 * the next call, from the last return to its own.  A stretch is known by the node and by what
 * stands before and behind it, and its median is taken over all patterns, so that a difference is
 * named once and not by every pattern that has it.  Links are stretches, too, where both ends were
 * watched.  Of convolution's vertices, a stretch is the shift between a message in and a message
 * out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "cli/inferred.h"
#include "cli/text.h"
#include "core/hash.h"

#define LEAST_SHARE  0.05  /* a difference below that of either mean is none */
#define LEAST_ERRORS 4.0   /* standard errors */
#define LEAST_COUNT  5     /* of both runs */
#define LEAST_WEIGHT 0.05  /* of the heaviest: what costs less is not worth a line */
#define LEAST_PATHS  0.002 /* of all: rarer patterns are not asked */
#define LINES_MOST   50

enum stretch_kind { STRETCH_NODE, STRETCH_LINK };

struct stretch {
	uint32_t node, before, behind; /* NAMES_NONE: being called; returning */
	enum stretch_kind kind;
	double n[2], sum[2], sum2[2]; /* of the run before and of this one */
	struct part *parts;
	size_t part_n, part_capacity;
	double middle[2];
};

/* What one pattern adds. */
struct part {
	double value, n;
	int run;
};

struct stretches {
	struct names *names; /* of this run; names of the run before are added */
	struct stretch *at;
	size_t n, capacity;
	struct map map;
	bool failed;
};

static bool same_stretch(const void *context, uint32_t value, const void *key)
{
	const struct stretch *a = &((const struct stretches *)context)->at[value], *b = key;

	return a->node == b->node && a->before == b->before && a->behind == b->behind &&
	       a->kind == b->kind;
}

static uint32_t number(struct stretches *s, const struct names *from, uint32_t node)
{
	uint32_t n = NAMES_NONE;

	if (node != NAMES_NONE && names_intern(s->names, names_get(from, node), &n) < 0)
		s->failed = true;
	return n;
}

static void add(struct stretches *s, int run, struct stretch key, double n, double middle,
		double sd)
{
	struct stretch *x;

	uint64_t hash = hash_u64((uint64_t)key.before << 32 | key.behind,
				 s->map.seed + ((uint64_t)key.node << 1) + key.kind);
	uint32_t at = map_get(&s->map, hash, same_stretch, s, &key);

	if (at == MAP_NONE) {
		if (!vec_reserve(&s->at, &s->capacity, s->n + 1, sizeof(*s->at)) ||
		    !map_put(&s->map, hash, (uint32_t)s->n)) {
			s->failed = true;
			return;
		}
		at = (uint32_t)s->n;
		s->at[s->n++] = key;
	}
	x = &s->at[at];
	if (!vec_reserve(&x->parts, &x->part_capacity, x->part_n + 1, sizeof(*x->parts))) {
		s->failed = true;
		return;
	}
	x->parts[x->part_n++] = (struct part){middle, n, run};
	x->n[run] += n;
	x->sum[run] += n * middle;
	x->sum2[run] += n * (middle * middle + sd * sd);
}

static void add_spread(struct stretches *s, int run, struct stretch key, const struct spread *d)
{
	if (d->n > 0)
		add(s, run, key, (double)d->n, spread_quantile(d, 0.5), spread_sd(d));
}

static void patterns_collect(struct stretches *s, int run, const struct inferred *in)
{
	for (size_t i = 0; i < in->patterns.n && !s->failed; i++) {
		const struct pattern *p = &in->patterns.at[i];

		if ((double)p->count < LEAST_PATHS * (double)in->patterns.paths)
			continue;
		for (uint32_t k = 0; k < p->hop_n; k++) {
			const struct pattern_hop *h = &p->hops[k];
			uint32_t before = NAMES_NONE, last = NAMES_NONE,
				 node = number(s, &in->nodes, h->node), caller = p->client;

			for (uint32_t x = k; x-- > 0 && h->parent != PATTERN_NONE;)
				if (p->hops[x].parent == h->parent) {
					before = p->hops[x].node;
					break;
				}
			for (uint32_t x = k + 1; x < p->hop_n && p->hops[x].depth > h->depth; x++)
				if (p->hops[x].parent == k)
					last = p->hops[x].node;
			if (h->parent != PATTERN_NONE) {
				caller = p->hops[h->parent].node;
				add_spread(s, run,
					   (struct stretch){.node = number(s, &in->nodes, caller),
							    .before = number(s, &in->nodes, before),
							    .behind = node},
					   &h->gap);
			}
			add_spread(s, run,
				   (struct stretch){.node = node,
						    .before = number(s, &in->nodes, last),
						    .behind = NAMES_NONE},
				   &h->tail);
			add_spread(s, run,
				   (struct stretch){.node = node,
						    .before = number(s, &in->nodes, caller),
						    .behind = NAMES_NONE,
						    .kind = STRETCH_LINK},
				   &h->wire);
		}
	}
}

static void vertices_collect(struct stretches *s, int run, const struct inferred *in)
{
	const struct convolution *c = &in->convolution;

	for (size_t i = 0; i < c->n && !s->failed; i++) {
		const struct vertex *x = &c->at[i];
		double n = (double)x->count;

		if (x->depth < 2 || x->derived)
			continue;
		add(s, run,
		    (struct stretch){
			    .node = number(s, &in->nodes, c->at[x->parent].node),
			    .before = number(s, &in->nodes, c->at[c->at[x->parent].parent].node),
			    .behind = number(s, &in->nodes, x->node)},
		    n, x->centre_ns, 0);
	}
}

static double mean(const struct stretch *x, int run)
{
	return x->n[run] > 0 ? x->sum[run] / x->n[run] : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = ((const struct part *)a)->value, y = ((const struct part *)b)->value;

	return x < y ? -1 : x > y;
}

/* The value that half of the cases do not exceed: what rare patterns have, wrongly inferred ones
 * most of all, does not move it. */
static void middle_find(struct stretch *x)
{
	double seen[2] = {0};

	qsort(x->parts, x->part_n, sizeof(*x->parts), by_value);
	for (size_t i = 0; i < x->part_n; i++) {
		const struct part *p = &x->parts[i];

		if (seen[p->run] < x->n[p->run] / 2)
			x->middle[p->run] = p->value;
		seen[p->run] += p->n;
	}
}

static double change(const struct stretch *x)
{
	return x->middle[1] - x->middle[0];
}

/* Large enough to be one, and not chance. */
static bool differs(const struct stretch *x, double least_ns)
{
	double error = 0;

	if (x->n[0] < LEAST_COUNT || x->n[1] < LEAST_COUNT)
		return false;
	for (int run = 0; run < 2; run++) {
		double m = mean(x, run);

		error += fmax(x->sum2[run] / x->n[run] - m * m, 0) / x->n[run];
	}
	return fabs(change(x)) > least_ns && fabs(change(x)) > LEAST_ERRORS * sqrt(error) &&
	       fabs(change(x)) > LEAST_SHARE * fmax(x->middle[0], x->middle[1]);
}

static int weightier(const void *a, const void *b)
{
	double x = fabs(change(a) * ((const struct stretch *)a)->n[1]),
	       y = fabs(change(b) * ((const struct stretch *)b)->n[1]);

	return x != y ? (x > y ? -1 : 1) : 0;
}

static void stretch_name(const struct stretches *s, const struct stretch *x, struct buffer *out)
{
	struct slice node = names_get(s->names, x->node);

	if (x->kind == STRETCH_LINK) {
		buffer_text(out, "on the link between ");
		text_put(out, names_get(s->names, x->before), SIZE_MAX);
		buffer_text(out, " and ");
		text_put(out, node, SIZE_MAX);
		return;
	}
	buffer_text(out, "at ");
	text_put(out, node, SIZE_MAX);
	if (x->before == NAMES_NONE && x->behind == NAMES_NONE)
		return;
	buffer_text(out, x->before == NAMES_NONE   ? " before "
			 : x->behind == NAMES_NONE ? " after "
						   : " between ");
	if (x->before != NAMES_NONE)
		text_put(out, names_get(s->names, x->before), SIZE_MAX);
	if (x->before != NAMES_NONE && x->behind != NAMES_NONE)
		buffer_text(out, " and ");
	if (x->behind != NAMES_NONE)
		text_put(out, names_get(s->names, x->behind), SIZE_MAX);
}

static void stretch_line(const struct stretches *s, const struct stretch *x, struct buffer *out)
{
	char a[QUANTITY_TEXT_BYTES], b[QUANTITY_TEXT_BYTES], c[QUANTITY_TEXT_BYTES],
		d[QUANTITY_TEXT_BYTES];

	buffer_printf(out, "%s%s ", change(x) > 0 ? "+" : "",
		      duration_format((int64_t)change(x), a));
	stretch_name(s, x, out);
	buffer_printf(out, ": %s before, %s now, %.0f times, %s%s in all\n",
		      duration_format((int64_t)x->middle[0], b),
		      duration_format((int64_t)x->middle[1], c), x->n[1], change(x) > 0 ? "+" : "",
		      duration_format((int64_t)(change(x) * x->n[1]), d));
}

void inferred_compare(const struct inferred *before, const struct inferred *in, struct buffer *out)
{
	struct names names;
	struct stretches s = {.names = &names};
	/* Convolution tells nothing finer than its quantum. */
	double least_ns =
		1.5 * (double)MAX(before->convolution.quantum_ns, in->convolution.quantum_ns);
	size_t lines = 0;
	double most = 0;

	names_init(&names);
	map_init(&s.map);
	patterns_collect(&s, 0, before);
	patterns_collect(&s, 1, in);
	vertices_collect(&s, 0, before);
	vertices_collect(&s, 1, in);
	for (size_t i = 0; i < s.n; i++)
		middle_find(&s.at[i]);
	if (s.n > 0)
		qsort(s.at, s.n, sizeof(*s.at), weightier);
	for (size_t i = 0; i < s.n; i++) {
		double weight = fabs(change(&s.at[i]) * s.at[i].n[1]);

		if (!differs(&s.at[i], least_ns) || weight < LEAST_WEIGHT * most)
			continue;
		most = fmax(most, weight);
		if (lines++ < LINES_MOST)
			stretch_line(&s, &s.at[i], out);
	}
	if (lines == 0)
		buffer_text(out, "no stretch of time differs\n");
	if (lines > LINES_MOST)
		buffer_printf(out, "and %zu more\n", lines - LINES_MOST);
	out->failed |= s.failed;
	for (size_t i = 0; i < s.n; i++)
		free(s.at[i].parts);
	free(s.at);
	map_done(&s.map);
	names_done(&names);
}
