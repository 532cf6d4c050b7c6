/* infer/spread.c - many durations, remembered as a distribution. */
#include "infer/spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NS 100.0
#define GROWTH   1.05

void spread_done(struct spread *s)
{
	free(s->few);
	*s = (struct spread){0};
}

size_t spread_bytes(const struct spread *s)
{
	if (s->n <= 3)
		return 0;
	return s->n <= SPREAD_BINNED_FROM ? SPREAD_BINNED_FROM * sizeof(*s->few)
					  : SPREAD_BINS * sizeof(*s->bins);
}

/* log2 by the exponent and a parabola through the mantissa: right to 0.01, a fifth of a bin, and a
 * tenth of the price of log(). */
static double log2_about(double x)
{
	uint64_t bits;
	double m;

	memcpy(&bits, &x, sizeof(bits));
	m = (double)(bits & ((1ULL << 52) - 1)) * 0x1p-52;
	return (double)((int)(bits >> 52) - 1023) + m * (1.3465 - 0.3465 * m);
}

static unsigned bin_of(int64_t value_ns)
{
	const double per_octave = 14.2066990828904; /* 1 / log2(GROWTH) */
	double bin = value_ns > FIRST_NS
			     ? log2_about((double)value_ns * (1 / FIRST_NS)) * per_octave
			     : 0;

	return bin < SPREAD_BINS - 1 ? (unsigned)bin : SPREAD_BINS - 1;
}

/* The values when there are at most three. */
static void first_three(const struct spread *s, int64_t values[3])
{
	values[0] = s->min;
	values[1] = s->max;
	values[2] = (int64_t)(s->sum - (double)s->min - (double)s->max);
}

static int keep(struct spread *s, int64_t value_ns)
{
	uint32_t *bins;

	if (s->n < 3)
		return 0;
	if (s->n < SPREAD_BINNED_FROM) {
		if (s->n == 3) {
			s->few = malloc(SPREAD_BINNED_FROM * sizeof(*s->few));
			if (!s->few)
				return -ENOMEM;
			first_three(s, s->few);
		}
		s->few[s->n] = value_ns;
		return 0;
	}
	if (s->n == SPREAD_BINNED_FROM) {
		bins = calloc(SPREAD_BINS, sizeof(*bins));
		if (!bins)
			return -ENOMEM;
		for (int i = 0; i < SPREAD_BINNED_FROM; i++)
			bins[bin_of(s->few[i])]++;
		free(s->few);
		s->bins = bins;
	}
	s->bins[bin_of(value_ns)]++;
	return 0;
}

int spread_add(struct spread *s, int64_t value_ns)
{
	int r = keep(s, value_ns);

	if (r < 0)
		return r;
	s->min = s->n == 0 || value_ns < s->min ? value_ns : s->min;
	s->max = s->n == 0 || value_ns > s->max ? value_ns : s->max;
	s->n++;
	s->sum += (double)value_ns;
	s->sum2 += (double)value_ns * (double)value_ns;
	return 0;
}

/* The sums of both, once the single values have found their places. */
static void sums_merge(struct spread *s, const struct spread *from)
{
	s->min = s->n == 0 || from->min < s->min ? from->min : s->min;
	s->max = s->n == 0 || from->max > s->max ? from->max : s->max;
	s->n += from->n;
	s->sum += from->sum;
	s->sum2 += from->sum2;
}

int spread_merge(struct spread *s, const struct spread *from)
{
	int64_t three[3];

	if (from->n <= SPREAD_BINNED_FROM) {
		int r = 0;

		first_three(from, three);
		for (uint64_t i = 0; i < from->n && r == 0; i++)
			r = spread_add(s, from->n <= 3 ? three[i] : from->few[i]);
		return r;
	}
	if (s->n <= SPREAD_BINNED_FROM) {
		/* The few go into a copy of the many. */
		struct spread many = *from, few = *s;
		int r;

		many.bins = malloc(SPREAD_BINS * sizeof(*many.bins));
		if (!many.bins)
			return -ENOMEM;
		memcpy(many.bins, from->bins, SPREAD_BINS * sizeof(*many.bins));
		r = spread_merge(&many, &few);
		if (r < 0) {
			spread_done(&many);
			return r;
		}
		spread_done(s);
		*s = many;
		return 0;
	}
	for (int i = 0; i < SPREAD_BINS; i++)
		s->bins[i] += from->bins[i];
	sums_merge(s, from);
	return 0;
}

double spread_mean(const struct spread *s)
{
	return s->n ? s->sum / (double)s->n : 0;
}

double spread_sd(const struct spread *s)
{
	double mean = spread_mean(s), square;

	if (s->n < 2)
		return 0;
	square = s->sum2 / (double)s->n - mean * mean;
	return square > 0 ? sqrt(square) : 0;
}

static int order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

double spread_quantile(const struct spread *s, double q)
{
	uint64_t rank, seen = 0;

	if (s->n == 0)
		return 0;
	rank = (uint64_t)ceil(q * (double)s->n);
	rank = rank < 1 ? 1 : rank > s->n ? s->n : rank;
	if (rank == s->n)
		return (double)s->max;
	if (s->n <= SPREAD_BINNED_FROM) {
		int64_t sorted[SPREAD_BINNED_FROM];

		if (s->n <= 3)
			first_three(s, sorted);
		else
			memcpy(sorted, s->few, s->n * sizeof(*sorted));
		qsort(sorted, s->n, sizeof(*sorted), order);
		return (double)sorted[rank - 1];
	}
	for (unsigned i = 0; i < SPREAD_BINS; i++) {
		seen += s->bins[i];
		if (seen >= rank) {
			double middle = FIRST_NS * pow(GROWTH, i + 0.5);

			return fmin(fmax(middle, (double)s->min), (double)s->max);
		}
	}
	return (double)s->max;
}
