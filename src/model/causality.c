/* model/causality.c - happened-before between the positions of a trace.
 *
 * What follows from the tree alone is answered from nested sets.  For the rest the order is written
 * out as a graph, once, by the first question that needs it, and searched.  Each node has two
 * labels from one depth-first search: when the search left it, and the lowest such number it can
 * reach; b can only be reached from nodes whose pair of labels encloses b's (GRAIL, Yildirim et al.
 * 2010), so a search walks little beside the way.
 *
 * Cycles (hostile or broken input) are cut once, at build time: every explicit edge and every unit
 * order that takes part in one is marked and orders nothing.  Where a unit's clock contradicts what
 * remains, it yields. */
#include "model/causality.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/causality_graph.h"
#include "model/trace_int.h"

struct causality {
	struct graph g;
	uint32_t *left;   /* when the search left a node: higher before lower */
	uint32_t *lowest; /* the lowest of those it can reach */
	uint32_t *seen;   /* the search that saw it */
	uint32_t *stack;
	uint32_t search;
	bool beyond_tree; /* edges or units add to the order of the tree */
	bool clocks;      /* the clock rule does */
};

struct causality *causality_free(struct causality *c)
{
	if (!c)
		return NULL;
	graph_done(&c->g);
	free(c->left);
	free(c->lowest);
	free(c->seen);
	free(c->stack);
	free(c);
	return NULL;
}

static void causality_freep(struct causality **c)
{
	causality_free(*c);
}

static void arcs_done(struct arc_list *l)
{
	free(l->arcs);
}

/* Units whose clock contradicts the causes that were told are not ordered by it. */
static int drop_clocks(const struct trace *t, struct arc_list *l, const uint32_t *component)
{
	_cleanup_(freep)
	uint8_t *wrong = calloc(t->unit_n + 1, 1);
	size_t kept = 0;

	if (!wrong)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		const struct arc *a = &l->arcs[i];

		if (a->to & ARC_CLOCK && component[a->from] == component[a->to & ~ARC_CLOCK])
			wrong[a->origin & ~ARC_UNIT] = 1;
	}
	for (size_t i = 0; i < l->n; i++)
		if (!(l->arcs[i].to & ARC_CLOCK) || !wrong[l->arcs[i].origin & ~ARC_UNIT])
			l->arcs[kept++] = l->arcs[i];
	l->n = kept;
	return 0;
}

/* The graph of all arcs, without cycles, and the order in which a search leaves its nodes. */
static int acyclic_graph(const struct trace *t, struct arc_list *arcs, struct graph *ret_graph,
			 uint32_t *left)
{
	_cleanup_(graph_done)
	struct graph g = {0};
	uint32_t components;
	int r;

	for (int attempt = 0; attempt < 2; attempt++) {
		r = graph_build(arcs, &g);
		if (r == 0)
			r = graph_components(&g, left, &components);
		if (r < 0)
			return r;
		if (components == g.node_n)
			break;
		graph_done(&g);
		r = drop_clocks(t, arcs, left);
		if (r < 0)
			return r;
	}
	*ret_graph = g;
	g = (struct graph){0};
	return 0;
}

/* Nodes by `left`, lowest first, then each takes the lowest of its successors, which come before.
 */
static void label(struct causality *c)
{
	uint32_t n = c->g.node_n;

	for (uint32_t i = 0; i < n; i++)
		c->stack[c->left[i]] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = c->stack[i], low = c->left[node];

		for (uint32_t a = c->g.first[node]; a < c->g.first[node + 1]; a++)
			low = MIN(low, c->lowest[c->g.to[a] & ~ARC_CLOCK]);
		c->lowest[node] = low;
	}
}

static int causality_get(struct trace *t, struct causality **ret)
{
	_cleanup_(causality_freep)
	struct causality *c = NULL;
	_cleanup_(arcs_done)
	struct arc_list arcs = {0};
	size_t n;
	int r;

	if (t->causality) {
		*ret = t->causality;
		return 0;
	}
	c = calloc(1, sizeof(*c));
	arcs_collect(t, true, &arcs);
	if (!c || arcs.failed)
		return -ENOMEM;
	n = (size_t)arcs.node_n + 1;
	c->left = malloc(n * sizeof(*c->left));
	c->lowest = malloc(n * sizeof(*c->lowest));
	c->seen = calloc(n, sizeof(*c->seen));
	c->stack = malloc(n * sizeof(*c->stack));
	if (!c->left || !c->lowest || !c->seen || !c->stack)
		return -ENOMEM;
	r = acyclic_graph(t, &arcs, &c->g, c->left);
	if (r < 0)
		return r;
	for (size_t i = 0; i < arcs.n; i++) {
		if (arcs.arcs[i].to & ARC_CLOCK)
			c->clocks = true;
		else if (arcs.arcs[i].origin != ARC_STRUCTURE)
			c->beyond_tree = true;
	}
	label(c);
	*ret = t->causality = TAKE_PTR(c);
	return 0;
}

/* Does an unbroken chain of "ends in its parent" lead from a's end to b's, b an ancestor of a? */
static bool ends_chain(const struct trace *t, uint32_t a, uint32_t b)
{
	return t->blocks[a].ends_in <= b;
}

/* The order of the tree alone: block structure, and remote parents' pairs. */
static bool tree_before(const struct trace *t, struct trace_pos a, struct trace_pos b)
{
	uint32_t x = trace_pos_block(t, a), y = trace_pos_block(t, b);

	if (x == TRACE_NONE || y == TRACE_NONE)
		return false;
	if (a.kind == POS_BEGIN) {
		if (x == y)
			return b.kind != POS_BEGIN;
		if (trace_is_ancestor(t, x, y))
			return true;
	}
	if (b.kind != POS_END)
		return false;
	if (x == y)
		return a.kind != POS_END;
	if (!trace_is_ancestor(t, y, x))
		return false;
	if (ends_chain(t, x, y))
		return true;
	return a.kind == POS_BEGIN && t->blocks[x].bits & BLOCK_IN_PARENT &&
	       (t->blocks[x].parent == y || ends_chain(t, t->blocks[x].parent, y));
}

/* Can `to` be reached from `from`?  Nodes whose labels do not enclose the target's are left out. */
static bool search(struct causality *c, uint32_t from, uint32_t to, bool clocks)
{
	uint32_t n = 0;

	if (++c->search == 0) { /* wrapped around */
		memset(c->seen, 0, c->g.node_n * sizeof(*c->seen));
		c->search = 1;
	}
	c->stack[n++] = from;
	c->seen[from] = c->search;
	while (n > 0) {
		uint32_t node = c->stack[--n];

		for (uint32_t i = c->g.first[node]; i < c->g.first[node + 1]; i++) {
			uint32_t next = c->g.to[i] & ~ARC_CLOCK;

			if (c->g.to[i] & ARC_CLOCK && !clocks)
				continue;
			if (next == to)
				return true;
			if (c->seen[next] == c->search || c->left[next] < c->left[to] ||
			    c->lowest[next] > c->lowest[to])
				continue;
			c->seen[next] = c->search;
			c->stack[n++] = next;
		}
	}
	return false;
}

int trace_happened_before(struct trace *t, struct trace_pos a, struct trace_pos b, bool *ret_clock)
{
	struct causality *c;
	uint32_t from, to;
	int r;

	if (ret_clock)
		*ret_clock = false;
	if (trace_pos_eq(a, b))
		return 0;
	if (tree_before(t, a, b))
		return 1;
	r = causality_get(t, &c);
	if (r < 0)
		return r;
	from = trace_pos_number(t, a);
	to = trace_pos_number(t, b);
	if (c->left[from] < c->left[to] || c->lowest[from] > c->lowest[to])
		return 0;
	if (c->beyond_tree && search(c, from, to, false))
		return 1;
	if (!c->clocks || !search(c, from, to, true))
		return 0;
	if (ret_clock)
		*ret_clock = true;
	return 1;
}

int trace_reach(struct trace *t, const struct trace_pos *from, size_t n, uint64_t **ret_bits)
{
	_cleanup_(freep)
	uint64_t *bits = NULL;
	struct causality *c;
	uint32_t depth = 0;
	int r = causality_get(t, &c);

	if (r < 0)
		return r;
	bits = calloc(c->g.node_n / 64 + 1, sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t node = trace_pos_number(t, from[i]);

		if (bits[node / 64] >> (node % 64) & 1)
			continue;
		bits[node / 64] |= 1ULL << (node % 64);
		c->stack[depth++] = node;
	}
	while (depth > 0) {
		uint32_t node = c->stack[--depth];

		for (uint32_t i = c->g.first[node]; i < c->g.first[node + 1]; i++) {
			uint32_t next = c->g.to[i] & ~ARC_CLOCK;

			if (bits[next / 64] >> (next % 64) & 1)
				continue;
			bits[next / 64] |= 1ULL << (next % 64);
			c->stack[depth++] = next;
		}
	}
	*ret_bits = TAKE_PTR(bits);
	return 0;
}

/* Ancestors are numbered downwards, so the chain's top is one number per block. */
static void chain_ends(struct trace *t)
{
	for (uint32_t i = 0; i < t->block_n; i++) {
		struct trace_block *b = &t->blocks[i];

		b->ends_in = b->bits & BLOCK_ENDS_IN_PARENT ? t->blocks[b->parent].ends_in : i;
	}
}

int trace_mark_cycles(struct trace *t)
{
	_cleanup_(graph_done)
	struct graph g = {0};
	_cleanup_(arcs_done)
	struct arc_list arcs = {0};
	_cleanup_(freep)
	uint32_t *component = NULL;
	bool needed = false;
	uint32_t components;
	int r;

	chain_ends(t);
	/* without explicit edges and units there is only structure, which has no cycles */
	for (size_t i = 0; i < t->edge_n && !needed; i++)
		needed = t->edges[i].row != TRACE_NONE;
	for (size_t i = 0; i < t->unit_n && !needed; i++)
		needed = !t->units[i].from_clock;
	if (!needed)
		return 0;
	arcs_collect(t, false, &arcs);
	component = malloc(((size_t)arcs.node_n + 1) * sizeof(*component));
	if (arcs.failed || !component)
		return -ENOMEM;
	r = graph_build(&arcs, &g);
	if (r == 0)
		r = graph_components(&g, component, &components);
	if (r < 0 || components == g.node_n)
		return r;
	for (size_t i = 0; i < arcs.n; i++) {
		const struct arc *a = &arcs.arcs[i];

		if (component[a->from] != component[a->to] || a->origin == ARC_STRUCTURE)
			continue;
		if (a->origin & ARC_UNIT)
			t->units[a->origin & ~ARC_UNIT].repairs |= REPAIR_CYCLE;
		else
			t->edges[a->origin].repairs |= REPAIR_CYCLE;
	}
	return 0;
}
