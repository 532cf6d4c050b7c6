/* bench/plot.h - a table of curves, as text and as a picture. */
#ifndef CAUSET_BENCH_PLOT_H
#define CAUSET_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_MAX_POINTS 64
#define PLOT_MAX_CURVES 8

struct curve {
	const char *name;
	double x[PLOT_MAX_POINTS], y[PLOT_MAX_POINTS];
	size_t n;
};

struct plot {
	const char *file, *title, *x_title, *y_title;
	bool log_x, log_y;
	struct curve curves[PLOT_MAX_CURVES];
	size_t n;
};

/* A new curve; the plot must have room. */
struct curve *plot_curve(struct plot *p, const char *name);
void curve_point(struct curve *c, double x, double y);

/* Prints every curve, and writes FOLDER/FILE.svg unless folder is NULL.  0, or 1 when it cannot be
 * written. */
int plot_show(const struct plot *p, const char *folder);

#endif
