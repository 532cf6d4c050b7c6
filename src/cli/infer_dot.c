/* cli/infer_dot.c - what was inferred, for Graphviz's dot.
 *
 * Of patterns, as the paper describes its Figure 8: how often and how long at the first edge, in
 * each ellipse the node and the mean latency of it and what it calls, on each arrow the mean time
 * between entering the parent and entering the child.  Of convolution's vertices, as in its Figure
 * 9: on each arrow how many messages and after which delays. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/inferred.h"

/* In double quotes: quote and backslash escaped. */
static void quoted(struct buffer *out, struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			buffer_byte(out, '\\');
		if ((unsigned char)text.p[i] >= ' ')
			buffer_byte(out, text.p[i]);
	}
}

static void pattern_dot(const struct inferred *in, const struct pattern *p, size_t number,
			struct buffer *out)
{
	char a[QUANTITY_TEXT_BYTES], b[QUANTITY_TEXT_BYTES];
	double own;
	uint32_t costs = pattern_costliest(p, &own);

	buffer_printf(out, "  subgraph cluster_%zu {\n    label=\"#%zu\";\n", number, number);
	buffer_printf(out, "    p%zu [label=\"", number);
	quoted(out, names_get(&in->nodes, p->client));
	buffer_text(out, "\"];\n");
	for (uint32_t i = 0; i < p->hop_n; i++) {
		const struct pattern_hop *h = &p->hops[i];

		buffer_printf(out, "    p%zu_%u [label=\"", number, i);
		quoted(out, names_get(&in->nodes, h->node));
		buffer_printf(
			out, "\\n%s\"%s];\n", duration_format((int64_t)spread_mean(&h->latency), a),
			h->node == p->hops[costs].node ? ", style=filled, fillcolor=gray80" : "");
		if (i == 0)
			buffer_printf(out,
				      "    p%zu -> p%zu_0 [label=\"%llu times\\n%s in all\"];\n",
				      number, number, (unsigned long long)p->count,
				      duration_format((int64_t)pattern_total_ns(p), b));
		else
			buffer_printf(out, "    p%zu_%u -> p%zu_%u [label=\"%s\"];\n", number,
				      h->parent, number, i,
				      duration_format((int64_t)spread_mean(&h->delay), b));
	}
	buffer_text(out, "  }\n");
}

void inferred_dot(const struct inferred *in, struct buffer *out)
{
	buffer_text(out, "digraph inferred {\n  node [shape=ellipse];\n");
	for (size_t i = 0; i < inferred_shown(in); i++)
		pattern_dot(in, &in->patterns.at[in->rank[i]], i + 1, out);
	buffer_text(out, "}\n");
}

void convolution_dot(const struct inferred *in, struct buffer *out)
{
	const struct convolution *c = &in->convolution;
	char text[QUANTITY_TEXT_BYTES];

	buffer_text(out, "digraph inferred {\n  node [shape=ellipse];\n");
	for (uint32_t i = 0; i < c->n; i++) {
		const struct vertex *x = &c->at[i];

		if (x->derived)
			continue;
		buffer_printf(out, "  x%u [label=\"", i);
		quoted(out, names_get(&in->nodes, x->node));
		buffer_text(out, "\"];\n");
		if (x->parent == NAMES_NONE)
			continue;
		buffer_printf(out, "  x%u -> x%u [label=\"%llu\\n%s\"];\n", x->parent, i,
			      (unsigned long long)x->count, duration_format(x->delay_ns, text));
	}
	buffer_text(out, "}\n");
}
