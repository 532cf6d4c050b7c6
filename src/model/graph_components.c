/* model/graph_components.c - the causality graph by source, and its cycles (Tarjan, iterative). */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/causality_graph.h"

int graph_build(const struct arc_list *list, struct graph *ret_graph)
{
	_cleanup_(graph_done)
	struct graph g = {.node_n = list->node_n};

	g.first = calloc((size_t)g.node_n + 2, sizeof(*g.first));
	g.to = malloc((list->n + 1) * sizeof(*g.to));
	if (!g.first || !g.to)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++)
		g.first[list->arcs[i].from + 2]++;
	for (size_t i = 2; i < (size_t)g.node_n + 2; i++)
		g.first[i] += g.first[i - 1];
	for (size_t i = 0; i < list->n; i++) {
		const struct arc *a = &list->arcs[i];

		g.to[g.first[a->from + 1]++] = a->to;
	}
	*ret_graph = g;
	g = (struct graph){0};
	return 0;
}

void graph_done(struct graph *g)
{
	free(g->first);
	free(g->to);
	*g = (struct graph){0};
}

struct search {
	const struct graph *g;
	uint32_t *component;
	uint32_t *index; /* when first met, from 1; 0: not yet */
	uint32_t *low;   /* the oldest node of the stack that it leads to */
	uint32_t *next;  /* its next arc */
	uint32_t *path, *stack;
	uint32_t met, components, path_n, stack_n;
};

static void enter(struct search *s, uint32_t node)
{
	s->index[node] = s->low[node] = ++s->met;
	s->next[node] = s->g->first[node];
	s->path[s->path_n++] = node;
	s->stack[s->stack_n++] = node;
}

static void leave(struct search *s, uint32_t node)
{
	uint32_t top;

	s->path_n--;
	if (s->path_n > 0) {
		uint32_t above = s->path[s->path_n - 1];

		s->low[above] = MIN(s->low[above], s->low[node]);
	}
	if (s->low[node] != s->index[node])
		return;
	do {
		top = s->stack[--s->stack_n];
		s->component[top] = s->components;
		s->low[top] = UINT32_MAX; /* off the stack: leads nobody to anything older */
	} while (top != node);
	s->components++;
}

static void walk(struct search *s, uint32_t start)
{
	enter(s, start);
	while (s->path_n > 0) {
		uint32_t node = s->path[s->path_n - 1], to;

		if (s->next[node] == s->g->first[node + 1]) {
			leave(s, node);
			continue;
		}
		to = s->g->to[s->next[node]++] & ~ARC_CLOCK;
		if (s->index[to] == 0)
			enter(s, to);
		else if (s->low[to] != UINT32_MAX)
			s->low[node] = MIN(s->low[node], s->index[to]);
	}
}

int graph_components(const struct graph *g, uint32_t *component, uint32_t *ret_n)
{
	size_t n = g->node_n;
	_cleanup_(freep)
	uint32_t *memory = calloc(5 * n + 1, sizeof(*memory));
	struct search s = {
		.g = g,
		.component = component,
		.index = memory,
		.low = memory + n,
		.next = memory + 2 * n,
		.path = memory + 3 * n,
		.stack = memory + 4 * n,
	};

	if (!memory)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (s.index[i] == 0)
			walk(&s, i);
	*ret_n = s.components;
	return 0;
}
