/* infer/convolution_tree.c - trees of vertices added up, window by window. */
#include "infer/convolution_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define ALIKE_QUANTA 2.0 /* by how much the shifts of one vertex may differ between windows, */
#define ALIKE_APART  0.1 /* or of the whole */

void convolution_tree_done(struct convolution_tree *t)
{
	free(t->at);
	*t = (struct convolution_tree){0};
}

static bool alike(const struct vertex *a, const struct vertex *b, int64_t quantum_ns)
{
	return a->node == b->node && fabs(a->centre_ns - b->centre_ns) <=
					     fmax(ALIKE_QUANTA * (double)quantum_ns,
						  ALIKE_APART * fmax(a->centre_ns, b->centre_ns));
}

/* Counts add up, shifts are averaged by them. */
static void vertex_add_up(struct tree_vertex *x, const struct vertex *from, uint64_t window)
{
	struct vertex *to = &x->v;
	double all = (double)to->count + (double)from->count;

	if (all > 0)
		to->centre_ns += (from->centre_ns - to->centre_ns) * (double)from->count / all;
	if (from->count > to->count)
		to->delay_ns = from->delay_ns;
	to->height = fmax(to->height, from->height);
	to->count += from->count;
	x->derived += from->derived ? from->count : 0;
	x->window = window;
}

/* The first below a vertex of the tree, or of the roots; 0 is none, numbers count from 1. */
static uint32_t *first_below(struct convolution_tree *t, uint32_t parent)
{
	return parent == 0 ? &t->first : &t->at[parent - 1].first;
}

static int vertex_put(struct convolution_tree *t, const struct vertex *v, uint32_t parent,
		      int64_t quantum_ns, uint32_t *ret_number)
{
	uint32_t at = *first_below(t, parent), last = 0;

	for (; at != 0; last = at, at = t->at[at - 1].next)
		if (t->at[at - 1].window != t->windows && alike(&t->at[at - 1].v, v, quantum_ns))
			break;
	*ret_number = at;
	if (at != 0) {
		vertex_add_up(&t->at[at - 1], v, t->windows);
		return 0;
	}
	if (t->n == CONVOLUTION_MAX_VERTICES) {
		t->cut = true;
		return 0;
	}
	if (!vec_reserve(&t->at, &t->capacity, t->n + 1, sizeof(*t->at)))
		return -ENOMEM;
	t->at[t->n] = (struct tree_vertex){.v = *v, .window = t->windows};
	t->at[t->n].derived = v->derived ? v->count : 0;
	*ret_number = (uint32_t)++t->n;
	if (last)
		t->at[last - 1].next = *ret_number;
	else
		*first_below(t, parent) = *ret_number;
	return 0;
}

int convolution_tree_add(struct convolution_tree *t, const struct convolution *c)
{
	_cleanup_(freep)
	uint32_t *number = calloc(c->n + 1, sizeof(*number));

	if (!number)
		return -ENOMEM;
	t->correlations += c->correlations;
	t->by_fft += c->by_fft;
	t->cut |= c->cut;
	t->windows++;
	for (size_t i = 0; i < c->n; i++) {
		uint32_t parent = c->at[i].parent;

		if (parent != NAMES_NONE && number[parent] == 0)
			continue; /* there was no room for what is above */
		if (vertex_put(t, &c->at[i], parent == NAMES_NONE ? 0 : number[parent],
			       c->quantum_ns, &number[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

int convolution_tree_take(const struct convolution_tree *t, struct convolution *ret)
{
	struct convolution c = {
		.correlations = t->correlations, .by_fft = t->by_fft, .cut = t->cut};
	/* Where on each level the walk is: as a number of the tree, as a place in c. */
	uint32_t path[CONVOLUTION_MAX_DEPTH + 2], place[CONVOLUTION_MAX_DEPTH + 2], depth = 0;

	c.at = malloc((t->n + 1) * sizeof(*c.at));
	if (!c.at)
		return -ENOMEM;
	c.capacity = t->n + 1;
	path[0] = t->first;
	for (;;) {
		const struct tree_vertex *x;

		if (path[depth] == 0) {
			if (depth-- == 0)
				break;
			path[depth] = t->at[path[depth] - 1].next;
			continue;
		}
		x = &t->at[path[depth] - 1];
		place[depth] = (uint32_t)c.n;
		c.at[c.n] = x->v;
		c.at[c.n].derived = 2 * x->derived > x->v.count;
		c.at[c.n++].parent = depth == 0 ? NAMES_NONE : place[depth - 1];
		path[++depth] = x->first;
	}
	*ret = c;
	return 0;
}
