/* cli/infer_paths_svg.c - what convolution found, as a picture: the tree of vertices, and for each
 * when its messages leave, with the time that the node before took as a bar. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/inferred.h"

#define WIDTH    1000.0
#define NAMES_W  380.0
#define ROW_H    18.0
#define SVG_ROWS 1000 /* a picture longer than that is no help */

static void escaped(struct buffer *out, struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '<')
			buffer_text(out, "&lt;");
		else if (text.p[i] == '&')
			buffer_text(out, "&amp;");
		else if ((unsigned char)text.p[i] >= ' ')
			buffer_byte(out, text.p[i]);
}

static double when(const struct convolution *c, uint32_t vertex)
{
	double sum = 0;

	for (; vertex != NAMES_NONE; vertex = c->at[vertex].parent)
		sum += c->at[vertex].centre_ns;
	return sum;
}

static bool hidden(const struct convolution *c, uint32_t vertex)
{
	for (; vertex != NAMES_NONE; vertex = c->at[vertex].parent)
		if (c->at[vertex].derived)
			return true;
	return false;
}

void convolution_svg(const struct inferred *in, struct buffer *out)
{
	const struct convolution *c = &in->convolution;
	_cleanup_(buffer_done)
	struct buffer body = {0};
	double longest = 1, y = 10;
	size_t rows = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (!hidden(c, i))
			longest = MAX(longest, when(c, i));
	for (uint32_t i = 0; i < c->n && rows < SVG_ROWS; i++) {
		const struct vertex *v = &c->at[i];
		double scale = (WIDTH - NAMES_W - 20) / longest, at = when(c, i) * scale;
		char delay[QUANTITY_TEXT_BYTES];

		if (hidden(c, i))
			continue;
		rows++;
		y += ROW_H;
		buffer_printf(&body, "<text x=\"%.0f\" y=\"%.1f\">", 6 + 12.0 * v->depth, y);
		escaped(&body, names_get(&in->nodes, v->node));
		buffer_printf(&body, " <tspan fill=\"#666\">%llu", (unsigned long long)v->count);
		if (v->depth > 1)
			buffer_printf(&body, ", +%s",
				      duration_format((int64_t)v->centre_ns, delay));
		buffer_printf(&body,
			      "</tspan></text><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			      "height=\"8\" fill=\"#47a\"/>\n",
			      NAMES_W + at - v->centre_ns * scale, y - 8,
			      MAX(v->centre_ns * scale, 1.0));
	}
	buffer_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		      "font-family=\"sans-serif\" font-size=\"11\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		      WIDTH, y + 14);
	buffer_slice(out, buffer_get(&body));
	buffer_text(out, "</svg>\n");
}
