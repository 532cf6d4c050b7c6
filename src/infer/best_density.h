/* infer/best_density.h - how likely a delay is: a histogram of logarithmic bins, smoothed.
 *
 * Delays are whole ticks (the grain of the trace's clock).  Eight bins an octave from 0 ticks up to
 * 2^40; a signed density, for delays that may be negative, has four an octave on either side of
 * zero.  A density is filled with weights, fitted once, then asked.  One thread. */
#ifndef CAUSET_INFER_BEST_DENSITY_H
#define CAUSET_INFER_BEST_DENSITY_H

#include <stdbool.h>
#include <stdint.h>

#define DENSITY_LOG_OCTAVE 3
#define DENSITY_OCTAVE     (1 << DENSITY_LOG_OCTAVE) /* bins an octave */
#define DENSITY_BINS       (40 * DENSITY_OCTAVE)

/* Log-likelihood of what cannot be: a child that starts before its trigger. */
#define DENSITY_NEVER (-60.0F)

struct density {
	float weight[DENSITY_BINS];
	float log[DENSITY_BINS]; /* per tick; valid after a fit */
	float mean;              /* of log, over the weights: what to expect of a delay not seen */
	float own;               /* mass that one delay of weight 1 gives its own bin */
};

/* Delays beyond 34 years of nanoseconds are all the same. */
#define DENSITY_GAP_MAX ((int64_t)1 << 60)

/* A delay of at least 0 as bin and what is left of it: `rest` out of `span` into the bin. */
struct density_place {
	unsigned bin;
	uint64_t rest, span;
};

static inline struct density_place density_place(int64_t gap)
{
	uint64_t x = ((uint64_t)(gap < DENSITY_GAP_MAX ? gap : DENSITY_GAP_MAX) + 1)
		     << DENSITY_LOG_OCTAVE;
	unsigned shift = 63U - (unsigned)__builtin_clzll(x) - DENSITY_LOG_OCTAVE;

	return (struct density_place){
		.bin = shift * DENSITY_OCTAVE + (unsigned)(x >> shift & (DENSITY_OCTAVE - 1)),
		.rest = x & (((uint64_t)1 << shift) - 1),
		.span = (uint64_t)1 << shift,
	};
}

static inline unsigned density_bin(int64_t gap)
{
	unsigned bin = density_place(gap).bin;

	return bin < DENSITY_BINS ? bin : DENSITY_BINS - 1;
}

/* The bin of any delay, in a signed density. */
static inline unsigned density_signed_bin(int64_t gap)
{
	/* Half as many bins an octave. */
	unsigned bin = density_place(gap < 0 ? -gap : gap).bin / 2;

	if (bin > DENSITY_BINS / 2 - 1)
		bin = DENSITY_BINS / 2 - 1;
	return gap < 0 ? DENSITY_BINS / 2 - 1 - bin : DENSITY_BINS / 2 + bin;
}

/* Ticks a bin is wide; below one for the first, where a tick has bins to itself. */
double density_width(unsigned bin, bool is_signed);

void density_clear(struct density *d);

static inline void density_add(struct density *d, int64_t gap, float weight)
{
	if (gap >= 0)
		d->weight[density_bin(gap)] += weight;
}

static inline void density_signed_add(struct density *d, int64_t gap, float weight)
{
	d->weight[density_signed_bin(gap)] += weight;
}

/* The sum of the weights. */
double density_mass(const struct density *d);

/* Smooths the weights (a Gaussian over bins) into log[], with a floor of
 * 2 % spread over all bins so that nothing seen later is impossible. */
void density_fit(struct density *d, bool is_signed);

/* Log-density of a delay; linear between the middles of bins. */
static inline float density_log(const struct density *d, int64_t gap)
{
	struct density_place at;
	float into;

	if (gap < 0)
		return DENSITY_NEVER;
	at = density_place(gap);
	if (at.bin >= DENSITY_BINS - 1)
		return d->log[DENSITY_BINS - 1];
	into = ((float)at.rest + 0.5F) / (float)at.span - 0.5F;
	if (into >= 0)
		return d->log[at.bin] * (1 - into) + d->log[at.bin + 1] * into;
	return at.bin == 0 ? d->log[0] : d->log[at.bin] * (1 + into) - d->log[at.bin - 1] * into;
}

/* How much of its log-density a delay owes to having been counted itself; 0 or more. */
float density_owed(const struct density *d, int64_t gap, bool is_signed);

static inline float density_signed_log(const struct density *d, int64_t gap)
{
	return d->log[density_signed_bin(gap)];
}

#endif
