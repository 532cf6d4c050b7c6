/* infer/best_seed.c - sparse cross-correlation of events on logarithmic bins.
 *
 * C[b] counts pairs; chance puts lambda × width(b) × |y| there, scaled by the median ratio over the
 * bins, since traffic is burstier than Poisson.  Everything is O(pairs + bins). */
#include "infer/best_seed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_PER_EVENT 256 /* earlier events looked at for one */
#define RATIO_MIN_COUNT 20  /* expected pairs in a bin whose ratio is trusted */
#define RUN_SIGMA       3.0
#define PEAK_SIGMA      4.5

static void count_pairs(const int64_t *x, uint32_t x_n, const int64_t *y, uint32_t y_n,
			int64_t longest, double *counts)
{
	uint32_t upto = 0;

	for (uint32_t i = 0; i < y_n; i++) {
		while (upto < x_n && x[upto] <= y[i])
			upto++;
		for (uint32_t k = upto, seen = 0; k-- > 0 && seen < PAIRS_PER_EVENT; seen++) {
			if (y[i] - x[k] > longest)
				break;
			counts[density_bin(y[i] - x[k])]++;
		}
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What chance puts into each bin, of which the first `bins` are wholly within the longest delay. */
static void chance(const double *counts, unsigned bins, double rate, uint32_t y_n, double *out)
{
	double ratio[DENSITY_BINS], by = 1;
	unsigned n = 0;

	for (unsigned b = 0; b < DENSITY_BINS; b++) {
		out[b] = rate * density_width(b, false) * y_n;
		if (b < bins && out[b] > RATIO_MIN_COUNT)
			ratio[n++] = counts[b] / out[b];
	}
	if (n > 4) {
		qsort(ratio, n, sizeof(*ratio), compare_doubles);
		by = fmin(fmax(ratio[n / 2], 0.2), 5);
	}
	for (unsigned b = 0; b < DENSITY_BINS; b++)
		out[b] *= by;
}

/* Pairs a tick, smoothed over neighbouring bins, back to pairs a bin. */
static void smooth_counts(const double *counts, double *out)
{
	for (int b = 0; b < DENSITY_BINS; b++) {
		double sum = 0, weights = 0;

		for (int d = -3; d <= 3; d++)
			if (b + d >= 0 && b + d < DENSITY_BINS) {
				double k = exp(-d * d / 4.0);

				sum += k * counts[b + d] / density_width((unsigned)(b + d), false);
				weights += k;
			}
		out[b] = sum / weights * density_width((unsigned)b, false);
	}
}

static void keep_excess(struct density *out, const double *counts, const double *by_chance,
			double all)
{
	double kept = 0;

	for (unsigned b = 0; b < DENSITY_BINS && kept < all; b++) {
		double excess = counts[b] - by_chance[b] - sqrt(by_chance[b] + 0.25);

		if (excess <= 0)
			continue;
		excess = fmin(excess, all - kept);
		kept += excess;
		out->weight[b] = (float)excess;
	}
}

static void keep_spikes(struct density *out, const double *counts, const double *by_chance,
			double all)
{
	double sigma[DENSITY_BINS], kept = 0;

	for (unsigned b = 0; b < DENSITY_BINS; b++) /* 2.5: bins the smoothing averages over */
		sigma[b] = (counts[b] - by_chance[b]) / sqrt(by_chance[b] / 2.5 + 1);
	for (unsigned b = 0; b < DENSITY_BINS;) {
		unsigned end = b;
		double peak = 0;

		for (; end < DENSITY_BINS && sigma[end] >= RUN_SIGMA; end++)
			peak = fmax(peak, sigma[end]);
		for (; b < end; b++)
			if (peak >= PEAK_SIGMA) {
				out->weight[b] = (float)(counts[b] - by_chance[b]);
				kept += out->weight[b];
			}
		b++;
	}
	for (unsigned b = 0; kept > all && b < DENSITY_BINS; b++)
		out->weight[b] *= (float)(all / kept);
}

double seed_correlate(struct density *out, const int64_t *x, uint32_t x_n, const int64_t *y,
		      uint32_t y_n, int64_t longest, enum seed_rule rule)
{
	double counts[DENSITY_BINS] = {0}, smoothed[DENSITY_BINS], by_chance[DENSITY_BINS];
	double span, ratio = 0;

	density_clear(out);
	if (x_n < 2 || y_n < 2)
		return 0;
	span = fmax((double)(x[x_n - 1] - x[0]), 1);
	count_pairs(x, x_n, y, y_n, longest, counts);
	chance(counts, density_bin(longest), x_n / span, y_n, by_chance);
	smooth_counts(counts, smoothed);
	if (rule == SEED_SPIKES)
		keep_spikes(out, smoothed, by_chance, y_n);
	else
		keep_excess(out, smoothed, by_chance, y_n);
	for (unsigned b = 0; b < DENSITY_BINS; b++)
		if (out->weight[b] > 0)
			ratio += smoothed[b] * log((by_chance[b] + out->weight[b] + 0.1) /
						   (by_chance[b] + 0.1)) -
				 out->weight[b];
	return ratio;
}
