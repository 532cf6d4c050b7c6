/* infer/spread.h - many durations, remembered as a distribution.
 *
 * Exact: how many, their sum, smallest and largest, which is all there is to know of three.  Up to
 * SPREAD_BINNED_FROM are kept as they are; more go into bins a twentieth wide, from which quantiles
 * come.  Most patterns are met once or twice, so that the common case is the small one. */
#ifndef CAUSET_INFER_SPREAD_H
#define CAUSET_INFER_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#define SPREAD_BINNED_FROM 16
#define SPREAD_BINS        400 /* from 100 ns to 8 hours */

struct spread {
	uint64_t n;
	double sum, sum2; /* ns, ns² */
	int64_t min, max;
	union {
		int64_t *few;   /* from the fourth on, up to SPREAD_BINNED_FROM */
		uint32_t *bins; /* SPREAD_BINS */
	};
};

void spread_done(struct spread *s);

/* -ENOMEM; the sums have it then, the bins not. */
int spread_add(struct spread *s, int64_t value_ns);

/* Adds all of `from`.  -ENOMEM. */
int spread_merge(struct spread *s, const struct spread *from);

/* What it has besides itself. */
size_t spread_bytes(const struct spread *s);

/* 0 when empty. */
double spread_mean(const struct spread *s);
double spread_sd(const struct spread *s);

/* The smallest value that a share q of them does not exceed, to a twentieth; 0 when empty. */
double spread_quantile(const struct spread *s, double q);

#endif
