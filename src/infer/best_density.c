/* infer/best_density.c - log-binned delay densities.  See the header. */
#include "infer/best_density.h"

#include <math.h>
#include <string.h>

#define FLOOR_MASS   0.02 /* of a density, spread over all bins */
#define WIDTH_FACTOR 0.35 /* of Silverman's rule: delays are sharper than normal */
#define WIDTH_MIN    0.6  /* bins */
#define WIDTH_MAX    (0.75 * DENSITY_OCTAVE)
#define SQRT_2_PI    2.5066282746310002
#define OWED_MIN     0.05 /* of a density is left when a delay's own part is taken away */
#define KERNEL_MAX   (4 * DENSITY_OCTAVE) /* bins on one side: 4 widths, rounded up */

static double edge(unsigned bin, unsigned per_octave)
{
	unsigned octave = bin / per_octave, sub = bin % per_octave;

	return ldexp(1.0 + (double)sub / per_octave, (int)octave);
}

double density_width(unsigned bin, bool is_signed)
{
	unsigned half = DENSITY_BINS / 2;

	if (!is_signed)
		return edge(bin + 1, DENSITY_OCTAVE) - edge(bin, DENSITY_OCTAVE);
	bin = bin >= half ? bin - half : half - 1 - bin;
	return edge(bin + 1, DENSITY_OCTAVE / 2) - edge(bin, DENSITY_OCTAVE / 2);
}

void density_clear(struct density *d)
{
	memset(d->weight, 0, sizeof(d->weight));
}

double density_mass(const struct density *d)
{
	double n = 0;

	for (unsigned i = 0; i < DENSITY_BINS; i++)
		n += d->weight[i];
	return n;
}

/* The kernel's width in bins, from the spread of the weights. */
static double kernel_width(const struct density *d, double n)
{
	double mean = 0, spread = 0, width;

	for (unsigned i = 0; i < DENSITY_BINS; i++)
		mean += i * (double)d->weight[i];
	mean /= n;
	for (unsigned i = 0; i < DENSITY_BINS; i++)
		spread += d->weight[i] * (i - mean) * (i - mean);
	width = WIDTH_FACTOR * sqrt(spread / n) * pow(n > 1 ? n : 1, -0.2);
	return fmin(fmax(width, WIDTH_MIN), WIDTH_MAX);
}

/* How wide a bin is on a logarithmic scale: within an octave bins are equally wide in ticks. */
static double log_width(int bin, int per_octave)
{
	return log1p(1.0 / (per_octave + bin % per_octave));
}

/* Spreads every weight over its surroundings, to each bin as much as it is wide, so that the steps
 * between octaves leave no trace.  What would fall below the first bin is reflected. */
static void smooth(const struct density *d, double n, bool is_signed, double *out)
{
	double width = kernel_width(d, n), kernel[KERNEL_MAX + 1], wide[DENSITY_BINS];
	int reach = (int)(4 * width) + 1, half = DENSITY_BINS / 2;

	for (int j = 0; j <= reach; j++)
		kernel[j] = exp(-0.5 * j * j / width / width);
	for (int i = 0; i < DENSITY_BINS; i++)
		wide[i] = !is_signed  ? log_width(i, DENSITY_OCTAVE)
			  : i >= half ? log_width(i - half, DENSITY_OCTAVE / 2)
				      : log_width(half - 1 - i, DENSITY_OCTAVE / 2);
	for (int i = 0; i < DENSITY_BINS; i++) {
		double sum = 0;

		if (d->weight[i] <= 0)
			continue;
		for (int pass = 0; pass < 2; pass++)
			for (int j = -reach; j <= reach; j++) {
				int to = i + j < 0 ? -(i + j) - 1 : i + j;
				double share;

				if (to >= DENSITY_BINS)
					continue;
				share = kernel[j < 0 ? -j : j] * wide[to];
				if (pass == 0)
					sum += share;
				else
					out[to] += d->weight[i] / n * share / sum;
			}
	}
}

void density_fit(struct density *d, bool is_signed)
{
	double out[DENSITY_BINS] = {0}, n = density_mass(d), mean = 0;

	if (n > 0)
		smooth(d, n, is_signed, out);
	for (unsigned i = 0; i < DENSITY_BINS; i++) {
		d->log[i] = (float)log(((1 - FLOOR_MASS) * out[i] + FLOOR_MASS / DENSITY_BINS) /
				       density_width(i, is_signed));
		mean += d->weight[i] * (double)d->log[i];
	}
	d->own = n > 0 ? (float)((1 - FLOOR_MASS) / n / (kernel_width(d, n) * SQRT_2_PI)) : 0;
	d->mean = n > 0 ? (float)(mean / n) : d->log[DENSITY_BINS / 2];
}

float density_owed(const struct density *d, int64_t gap, bool is_signed)
{
	unsigned bin = is_signed ? density_signed_bin(gap) : density_bin(gap);
	double mass;

	if (!is_signed && gap < 0)
		return 0;
	mass = exp((double)d->log[bin]) * density_width(bin, is_signed);
	return (float)-log(fmax(1 - (double)d->own / mass, OWED_MIN));
}
