/* cli/infer_paths.c - what convolution found, on a terminal: paths, and the tree they come from.
 *
 *   PATHS   DELAY  COSTS MOST    PATH
 *   4,210   160ms  WS2 200ms     C>WS2>AUTH>DB1>AUTH>WS2>AP1>DB2>AP1>WS2>C
 *
 * The delay of an edge is the time its sender took before sending, so it is that node's. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/inferred.h"
#include "cli/table.h"
#include "cli/text.h"

struct path {
	uint32_t end;
	uint64_t count;
	double total;
	double weight;
};

static int heavier(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->end < y->end ? -1 : 1;
}

/* The edge with the longest delay on the way to a vertex: its sender. */
static uint32_t costliest(const struct convolution *c, uint32_t vertex, double *ret_ns)
{
	uint32_t best = vertex;

	*ret_ns = 0;
	for (uint32_t x = vertex; c->at[x].parent != NAMES_NONE; x = c->at[x].parent)
		if (c->at[x].centre_ns >= *ret_ns) {
			*ret_ns = c->at[x].centre_ns;
			best = c->at[x].parent;
		}
	return best;
}

static struct path *paths_of(const struct inferred *in, size_t *ret_n)
{
	const struct convolution *c = &in->convolution;
	struct path *paths = malloc((c->n + 1) * sizeof(*paths));
	size_t n = 0;

	for (uint32_t i = 0; paths && i < c->n; i++) {
		struct path p = {.end = i, .count = c->at[i].count};

		if (c->at[i].derived || c->at[i].depth == 0 || !vertex_is_end(c, i))
			continue;
		for (uint32_t x = i; c->at[x].parent != NAMES_NONE; x = c->at[x].parent)
			p.total += c->at[x].centre_ns;
		p.weight = in->order == PATTERNS_BY_COUNT ? (double)p.count
							  : (double)p.count * p.total;
		paths[n++] = p;
	}
	if (paths)
		qsort(paths, n, sizeof(*paths), heavier);
	*ret_n = n;
	return paths;
}

static void tree(const struct inferred *in, struct buffer *out)
{
	const struct convolution *c = &in->convolution;
	size_t lines = 0, most = in->top ? 5 * in->top : SIZE_MAX, left = 0;

	buffer_byte(out, '\n');
	for (uint32_t i = 0; i < c->n; i++) {
		const struct vertex *x = &c->at[i];
		char delay[QUANTITY_TEXT_BYTES];

		if (x->derived)
			continue;
		if (lines++ >= most) {
			left++;
			continue;
		}
		text_repeat(out, "  ", x->depth);
		text_put(out, names_get(&in->nodes, x->node), 40);
		if (x->depth > 1)
			buffer_printf(out, "  +%s", duration_format((int64_t)x->centre_ns, delay));
		buffer_printf(out, "  %llu\n", (unsigned long long)x->count);
	}
	if (left)
		buffer_printf(out, "and %zu vertices more; --top 0 shows all\n", left);
}

void convolution_table(const struct inferred *in, struct buffer *out)
{
	static const struct table_column columns[] = {{"PATHS", true, false},
						      {"DELAY", true, false},
						      {"COSTS MOST", false, false},
						      {"PATH", false, true}};
	const struct convolution *c = &in->convolution;
	struct table t = table_of(columns, ARRAY_SIZE(columns), &in->cli->arena);
	_cleanup_(freep)
	struct path *paths = NULL;
	size_t n, shown;

	paths = paths_of(in, &n);
	if (!paths) {
		out->failed = true;
		return;
	}
	shown = in->top && in->top < n ? in->top : n;
	for (size_t i = 0; i < shown; i++) {
		_cleanup_(buffer_done)
		struct buffer text = {0};
		char cell[QUANTITY_TEXT_BYTES];
		double ns;
		uint32_t costs = costliest(c, paths[i].end, &ns);

		table_cell_u64(&t, paths[i].count);
		table_cell_text(&t, duration_format((int64_t)paths[i].total, cell));
		buffer_slice(&text, names_get(&in->nodes, c->at[costs].node));
		buffer_printf(&text, " %s", duration_format((int64_t)ns, cell));
		table_cell(&t, buffer_get(&text));
		buffer_clear(&text);
		vertex_path(c, paths[i].end, &in->nodes, &text);
		table_cell(&t, buffer_get(&text));
	}
	table_write(&t, in->cli->terminal ? in->cli->columns : 0, out);
	table_done(&t);
	if (shown < n)
		buffer_printf(out, "and %zu paths more; --top 0 shows all\n", n - shown);
	tree(in, out);
	if (c->cut)
		buffer_text(out,
			    "There was more than can be followed; a longer quantum or a higher "
			    "--least helps.\n");
}
