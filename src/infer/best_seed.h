/* infer/best_seed.h - first delays, from the correlation of events rather than from containment.
 *
 * Counts, for every pair of kinds of events at a node (a start, an end), the delays from one to the
 * other; what stands out over chance is delay that one causes in the other.  Under concurrency this
 * finds delays that no counting of candidates can. */
#ifndef CAUSET_INFER_BEST_SEED_H
#define CAUSET_INFER_BEST_SEED_H

#include "infer/best_density.h"

enum seed_rule {
	SEED_SPIKES, /* runs of bins over 3 sigma that hold a peak over 4.5 */
	SEED_EXCESS, /* all that exceeds chance, from short delays to long, until it explains all */
};

/* Fills out's weights with the delays from events x to later events y (both sorted, in ticks), up
 * to `longest`, less what chance explains.  Returns the log-likelihood ratio over chance, in nats.
 * The weights are not fitted. */
double seed_correlate(struct density *out, const int64_t *x, uint32_t x_n, const int64_t *y,
		      uint32_t y_n, int64_t longest, enum seed_rule rule);

#endif
