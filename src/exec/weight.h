/* exec/weight.h - totals over sampled traces, and how far off they may be.
 *
 * A trace is kept or dropped as a whole, with a known probability p, so its rows stand or fall
 * together.  What a total would have been without sampling is estimated by Horvitz and Thompson's
 * Σ y/p over the traces that were kept, y being what all rows of a trace add; without bias, and
 * with the variance Σ (1 - p) (y/p)², itself estimated without bias.  The ratio of two such totals
 * (an average) has the variance of its linearisation.  Plus-minus is 1.96 standard deviations: 95 %
 * where there are some hundreds of traces and none outweighs all others.
 *
 * Rows of one trace with different probabilities (samplers on the way that kept more or less; all
 * look at the same random bits) count as if each had the smallest, which errs on the side of a
 * wider interval.  A row with p = 1 is certain and adds no variance.  Where nobody said how a trace
 * was sampled it counts once; statistics say how many rows that were. */
#ifndef CAUSET_EXEC_WEIGHT_H
#define CAUSET_EXEC_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* Where a row comes from, as far as aggregates care. */
struct sample {
	double weight;    /* 1/p, at least 1 */
	uint64_t trace;   /* a number for its trace, not 0.  Rows of a trace come together */
	uint64_t time_ns; /* for first, last, rate: raw */
	uint64_t id;      /* settles ties of times */
};

/* A result's "estimated ±". */
struct estimate {
	bool estimated; /* sampled data, or a sketch that is not exact */
	/* 95 % of the time the truth is within the result ± this.  NaN: cannot be said (the
	 * smallest of a sample, distinct values of a sample). */
	double plus_minus;
};

/* Two totals over the rows with p < 1: x counts, y sums. */
struct cluster {
	uint64_t trace; /* at hand */
	double weight;  /* its largest */
	double x, y;    /* its weighted contributions */
	double total_x, total_y;
	double xx, xy, yy; /* variances and covariance of the traces before it */
};

static inline void cluster_flush(struct cluster *c)
{
	double f = c->weight > 1 ? 1 - 1 / c->weight : 0;

	c->total_x += c->x;
	c->total_y += c->y;
	c->xx += f * c->x * c->x;
	c->xy += f * c->x * c->y;
	c->yy += f * c->y * c->y;
	c->x = c->y = c->weight = 0;
}

static inline void cluster_add(struct cluster *c, const struct sample *s, double x, double y)
{
	if (c->trace != s->trace) {
		cluster_flush(c);
		c->trace = s->trace;
	}
	c->x += s->weight * x;
	c->y += s->weight * y;
	if (s->weight > c->weight)
		c->weight = s->weight;
}

/* Both must have seen different traces. */
static inline void cluster_merge(struct cluster *to, struct cluster *from)
{
	cluster_flush(to);
	cluster_flush(from);
	to->total_x += from->total_x;
	to->total_y += from->total_y;
	to->xx += from->xx;
	to->xy += from->xy;
	to->yy += from->yy;
}

#define ESTIMATE_Z 1.959963984540054 /* 95 % of a normal distribution */

#endif
