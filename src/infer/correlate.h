/* infer/correlate.h - how many messages of one signal follow those of another, by how much.
 *
 * A signal is messages by quantum of time: s(t) is the square root of how many there are in quantum
 * t, so that where both signals have n the product counts n and not n².
 *
 *   C(d) = sum over t of s2(t + d) × s1(t),   d = 0 … lags - 1
 *
 * Two ways to the same numbers: with Fourier transforms, in S log S; and pair by pair, in the
 * number of pairs at most `lags` apart.  correlate() takes the cheaper one.  One thread. */
#ifndef CAUSET_INFER_CORRELATE_H
#define CAUSET_INFER_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORRELATE_MAX_QUANTA (1 << 26) /* of a transform: half a gigabyte */

/* Quanta with messages in them, in order. */
struct signal {
	uint32_t *quantum;
	float *height;
	size_t n, capacity;
};

void signal_done(struct signal *s);

/* Adds a message in a quantum not before the last one.  -ENOMEM. */
int signal_add(struct signal *s, uint32_t quantum);

/* Call when the last message is in: heights become square roots. */
void signal_finish(struct signal *s);

/* Pair by pair. */
void correlate_sparse(const struct signal *s1, const struct signal *s2, size_t lags, double *c);

struct correlator;

/* For signals of up to `quanta` quanta and that many lags.  -ENOMEM, -E2BIG. */
int correlator_new(size_t quanta, size_t lags, struct correlator **ret);
struct correlator *correlator_free(struct correlator *k);

/* By Fourier transform. */
void correlate_fft(struct correlator *k, const struct signal *s1, const struct signal *s2,
		   double *c);

/* Whether the transform is cheaper: measured, about 12 ns a point of S log2 S against 1 ns a pair.
 */
bool correlate_prefers_fft(const struct signal *s1, const struct signal *s2, size_t quanta,
			   size_t lags);

/* A spike of C: a run of lags at least S standard deviations above the mean whose highest point is
 * at least N above. */
struct spike {
	uint32_t lag;         /* of the highest point */
	uint32_t first, last; /* of the run */
	double height;        /* standard deviations above the mean */
	double centre;        /* mean lag of what stands above the mean */
};

/* Finds spikes, at most `max`, in order of lag; returns how many there are in all. */
size_t spikes_find(const double *c, size_t lags, double n_sigma, double s_sigma,
		   struct spike *spikes, size_t max);

#endif
