/* cli/infer_svg.c - patterns as a picture: each one's tree beside its timeline.
 *
 * Dark is time of the node's own, light is waiting for others, so that parallel calls and internal
 * delays can be seen.  The node that costs most is marked.  No script, no style sheet, readable in
 * any browser; titles tell the distribution. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/inferred.h"

#define WIDTH    1000.0
#define NAMES_W  300.0
#define ROW_H    20.0
#define HEAD_H   34.0
#define SVG_ROWS 2000 /* a picture longer than that is no help */

static void escaped(struct buffer *out, struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		switch (text.p[i]) {
		case '<':
			buffer_text(out, "&lt;");
			break;
		case '&':
			buffer_text(out, "&amp;");
			break;
		case '"':
			buffer_text(out, "&quot;");
			break;
		default:
			if ((unsigned char)text.p[i] >= ' ')
				buffer_byte(out, text.p[i]);
		}
}

static void bar(struct buffer *out, double x, double y, double w, const char *colour)
{
	buffer_printf(out,
		      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>", x,
		      y + 4, w > 1 ? w : 1, ROW_H - 8, colour);
}

static void hop_svg(const struct inferred *in, const struct pattern *p, uint32_t i, double y,
		    double scale, bool costs, struct buffer *out)
{
	const struct pattern_hop *h = &p->hops[i];
	double start = inferred_offset(p, i), x = NAMES_W + start * scale;
	char mean[QUANTITY_TEXT_BYTES], p50[QUANTITY_TEXT_BYTES], p99[QUANTITY_TEXT_BYTES],
		own[QUANTITY_TEXT_BYTES];

	buffer_printf(out, "<g><title>");
	escaped(out, names_get(&in->nodes, h->node));
	buffer_printf(out, ": mean %s, median %s, p99 %s, own %s</title>",
		      duration_format((int64_t)spread_mean(&h->latency), mean),
		      duration_format((int64_t)spread_quantile(&h->latency, 0.5), p50),
		      duration_format((int64_t)spread_quantile(&h->latency, 0.99), p99),
		      duration_format((int64_t)spread_mean(&h->own), own));
	buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", 10.0 + 14.0 * h->depth, y + 14,
		      costs ? " font-weight=\"bold\" fill=\"#a00\"" : "");
	escaped(out, names_get(&in->nodes, h->node));
	buffer_printf(out, " %s</text>", mean);
	bar(out, x, y, spread_mean(&h->latency) * scale, costs ? "#c33" : "#47a");
	for (uint32_t k = i + 1; k < p->hop_n && p->hops[k].depth > h->depth; k++)
		if (p->hops[k].parent == i)
			bar(out, NAMES_W + inferred_offset(p, k) * scale, y,
			    spread_mean(&p->hops[k].latency) * scale, "#cde");
	buffer_text(out, "</g>\n");
}

static double pattern_svg(const struct inferred *in, const struct pattern *p, size_t number,
			  double y, struct buffer *out)
{
	double own, length = 1, all = inferred_latency(in);
	uint32_t costs = pattern_costliest(p, &own);
	char mean[QUANTITY_TEXT_BYTES];

	for (uint32_t i = 0; i < p->hop_n; i++)
		length = MAX(length, inferred_offset(p, i) + spread_mean(&p->hops[i].latency));
	buffer_printf(out, "<text x=\"4\" y=\"%.1f\" font-weight=\"bold\">#%zu ", y + 24, number);
	escaped(out, names_get(&in->nodes, p->client));
	buffer_text(out, " → ");
	escaped(out, names_get(&in->nodes, p->hops[0].node));
	buffer_printf(out, ": %llu paths, %s on average, %.1f%% of all latency</text>\n",
		      (unsigned long long)p->count,
		      duration_format((int64_t)spread_mean(&p->hops[0].latency), mean),
		      all > 0 ? 100 * pattern_total_ns(p) / all : 0);
	y += HEAD_H;
	for (uint32_t i = 0; i < p->hop_n; i++, y += ROW_H)
		hop_svg(in, p, i, y, (WIDTH - NAMES_W - 10) / length,
			p->hops[i].node == p->hops[costs].node, out);
	return y;
}

void inferred_svg(const struct inferred *in, struct buffer *out)
{
	_cleanup_(buffer_done)
	struct buffer body = {0};
	size_t rows = 0;
	double y = 0;

	for (size_t i = 0; i < inferred_shown(in) && rows < SVG_ROWS; i++) {
		const struct pattern *p = &in->patterns.at[in->rank[i]];

		rows += p->hop_n;
		y = pattern_svg(in, p, i + 1, y, &body);
	}
	buffer_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		      "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		      WIDTH, y + 10, WIDTH, y + 10);
	buffer_slice(out, buffer_get(&body));
	buffer_text(out, "</svg>\n");
}
