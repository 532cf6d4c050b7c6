/* infer/convolution_derived.c - short cuts among paths.
 *
 * Beside A→B→C→B→A convolution finds A→B→A.  Such derived paths are told by frequency and time: a
 * vertex that longer paths reach at the same time, with most of its messages, is their short cut.
 */
#include <math.h>

#include "infer/convolution_int.h"

#define DERIVED_SHARE  0.5  /* of its messages that longer paths explain */
#define DERIVED_QUANTA 0.75 /* by how much the times may differ, */
#define DERIVED_APART  0.1  /* or of the whole */

/* The time from vertex `top` to `x` below it, along a way that is no short cut itself and does not
 * take the last edge of `x` before; negative when there is no such way. */
static double way(const struct convolution *c, uint32_t x, uint32_t top)
{
	const struct vertex *last = &c->at[x];
	double sum = 0;

	for (uint32_t at = x; at != NAMES_NONE; at = c->at[at].parent) {
		const struct vertex *v = &c->at[at];

		if (at == top)
			return sum;
		if (v->derived || (at != x && v->node == last->node &&
				   c->at[v->parent].node == c->at[last->parent].node))
			return -1;
		sum += v->centre_ns;
	}
	return -1;
}

/* Does the path to b explain vertex a: the same last edge, further down below the same vertex, and
 * there at the same time? */
static bool explains(const struct convolution *c, uint32_t b, uint32_t a)
{
	const struct vertex *x = &c->at[a], *y = &c->at[b];
	double late;

	if (y->depth <= x->depth || y->node != x->node ||
	    c->at[y->parent].node != c->at[x->parent].node)
		return false;
	late = way(c, b, x->parent);
	return late >= 0 &&
	       fabs(late - x->centre_ns) <=
		       fmax(DERIVED_QUANTA * (double)c->quantum_ns, DERIVED_APART * late);
}

static void derived_decide(struct convolution *c, uint32_t i)
{
	uint32_t top = c->at[i].parent;
	double longer = 0;

	/* What is below a vertex stands right behind it. */
	for (uint32_t k = top + 1; k < c->n && c->at[k].depth > c->at[top].depth; k++)
		if (explains(c, k, i))
			longer += (double)c->at[k].count;
	c->at[i].derived = longer >= DERIVED_SHARE * (double)c->at[i].count && longer > 0;
}

/* The longer paths that explain a vertex carry most of its messages: it is their short cut.  So is
 * whatever goes on from it; it goes on from them as well.  The deepest are decided first, since a
 * short cut explains nothing. */
void convolution_mark_derived(struct convolution *c)
{
	for (uint32_t depth = CONVOLUTION_MAX_DEPTH; depth >= 2; depth--)
		for (uint32_t i = 0; i < c->n; i++)
			if (c->at[i].depth == depth)
				derived_decide(c, i);
	for (uint32_t i = 0; i < c->n; i++)
		c->at[i].derived |= c->at[i].parent != NAMES_NONE && c->at[c->at[i].parent].derived;
}
