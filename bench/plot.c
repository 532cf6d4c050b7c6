/* bench/plot.c - a table of curves, as text and as a picture. */
#include "bench/plot.h"

#include <math.h>
#include <stdio.h>

#define W      640.0
#define H      400.0
#define LEFT   60.0
#define RIGHT  170.0
#define TOP    36.0
#define BOTTOM 44.0

struct curve *plot_curve(struct plot *p, const char *name)
{
	struct curve *c = &p->curves[p->n < PLOT_MAX_CURVES ? p->n++ : PLOT_MAX_CURVES - 1];

	c->name = name;
	c->n = 0;
	return c;
}

void curve_point(struct curve *c, double x, double y)
{
	if (c->n < PLOT_MAX_POINTS) {
		c->x[c->n] = x;
		c->y[c->n++] = y;
	}
}

static double scaled(double v, bool log_scale)
{
	return log_scale ? log10(fmax(v, 1e-6)) : v;
}

struct range {
	double low, high;
};

static struct range range_of(const struct plot *p, bool y)
{
	struct range r = {INFINITY, -INFINITY};

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->curves[i].n; k++) {
			double v = scaled(y ? p->curves[i].y[k] : p->curves[i].x[k],
					  y ? p->log_y : p->log_x);

			r.low = fmin(r.low, v);
			r.high = fmax(r.high, v);
		}
	if (!(y ? p->log_y : p->log_x))
		r.low = fmin(r.low, 0);
	if (!(r.high > r.low))
		r.high = r.low + 1;
	return r;
}

static void axis(FILE *f, const struct plot *p, struct range r, bool y)
{
	for (int i = 0; i <= 4; i++) {
		double v = r.low + (r.high - r.low) * i / 4,
		       shown = (y ? p->log_y : p->log_x) ? pow(10, v) : v;

		if (y)
			fprintf(f,
				"<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>"
				"<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" "
				"stroke=\"#ddd\"/>\n",
				LEFT - 6, H - BOTTOM - (H - TOP - BOTTOM) * i / 4 + 4, shown, LEFT,
				W - RIGHT, H - BOTTOM - (H - TOP - BOTTOM) * i / 4,
				H - BOTTOM - (H - TOP - BOTTOM) * i / 4);
		else
			fprintf(f,
				"<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.3g</text>\n",
				LEFT + (W - LEFT - RIGHT) * i / 4, H - BOTTOM + 16, shown);
	}
}

static int svg(const struct plot *p, const char *folder)
{
	static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
					      "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"};
	struct range x = range_of(p, false), y = range_of(p, true);
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.svg", folder, p->file);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return 1;
	}
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%.0f\" y=\"18\" font-size=\"13\">%s</text>\n"
		"<text x=\"%.0f\" y=\"%.0f\">%s</text>\n<text x=\"4\" y=\"%.0f\">%s</text>\n",
		W, H, LEFT, p->title, LEFT, H - 10, p->x_title, TOP - 6, p->y_title);
	axis(f, p, x, false);
	axis(f, p, y, true);
	for (size_t i = 0; i < p->n; i++) {
		const struct curve *c = &p->curves[i];

		fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
			colours[i]);
		for (size_t k = 0; k < c->n; k++)
			fprintf(f, "%.1f,%.1f ",
				LEFT + (W - LEFT - RIGHT) * (scaled(c->x[k], p->log_x) - x.low) /
						(x.high - x.low),
				H - BOTTOM -
					(H - TOP - BOTTOM) * (scaled(c->y[k], p->log_y) - y.low) /
						(y.high - y.low));
		fprintf(f, "\"/>\n<text x=\"%.0f\" y=\"%.0f\" fill=\"%s\">%s</text>\n",
			W - RIGHT + 8, TOP + 14 + 16 * (double)i, colours[i], c->name);
	}
	fprintf(f, "</svg>\n");
	return fclose(f) != 0;
}

int plot_show(const struct plot *p, const char *folder)
{
	printf("\n%s\n%-22s %12s %12s\n", p->title, "curve", p->x_title, p->y_title);
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->curves[i].n; k++)
			printf("%-22s %12.4g %12.4g\n", p->curves[i].name, p->curves[i].x[k],
			       p->curves[i].y[k]);
	fflush(stdout);
	return folder ? svg(p, folder) : 0;
}
