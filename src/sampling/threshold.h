/* sampling/threshold.h - consistent probability sampling as OpenTelemetry defines it.
 *
 * Every trace has 56 random bits R, the same in every process; every sampler has a rejection
 * threshold T of 56 bits and keeps the trace when R >= T.  So a sampler that keeps fewer keeps a
 * subset of what one that keeps more does, and the probability of a kept trace is known to whoever
 * sees its T (`ot=th:…` in tracestate): (2^56 - T) / 2^56.
 *
 *   T = 0                       every trace           th:0
 *   T = 0x80000000000000        one in two            th:8
 *   T = 0xffffffffffffff        one in 2^56           th:ffffffffffffff
 *   THRESHOLD_NEVER, 2^56       none; has no text form
 *   THRESHOLD_UNKNOWN           sampled somewhere, nobody said how */
#ifndef CAUSET_SAMPLING_THRESHOLD_H
#define CAUSET_SAMPLING_THRESHOLD_H

#include "core/ids.h"

#define THRESHOLD_BITS    56
#define THRESHOLD_DIGITS  14
#define THRESHOLD_ALWAYS  0
#define THRESHOLD_NEVER   (1ULL << THRESHOLD_BITS)
#define THRESHOLD_UNKNOWN UINT64_MAX

/* Digits behind leading f's or 0's that a probability from a person is worth (1 in 10 is "e666").
 */
#define THRESHOLD_DEFAULT_PRECISION 4

/* The trace's R when no `rv` says otherwise: the id's low 56 bits. */
static inline uint64_t trace_randomness(struct trace_id id)
{
	return load_be64(id.b + 8) & (THRESHOLD_NEVER - 1);
}

/* Is a trace with this R kept?  Also right for NEVER and, as false, for UNKNOWN. */
static inline bool threshold_keeps(uint64_t threshold, uint64_t randomness)
{
	return randomness >= threshold;
}

/* A sampler behind a sampler, both on the same R: the larger threshold decides alone.  UNKNOWN with
 * anything is UNKNOWN: what a first, unknown sampler took away cannot be made up for. */
static inline uint64_t threshold_compose(uint64_t first, uint64_t second)
{
	return first > second ? first : second;
}

/* The threshold that keeps, of what `first` keeps, the share that `second` would keep of
 * everything: probabilities multiply.  Rounded to the nearest of 2^-56; never less than `first`. */
uint64_t threshold_thin(uint64_t first, uint64_t second);

/* (2^56 - T) / 2^56, as near as a double comes: exact when T has at most 53 significant bits.  0
 * for NEVER and UNKNOWN. */
double threshold_probability(uint64_t threshold);

/* How many traces one kept trace stands for: 1/p.  0 for NEVER and UNKNOWN. */
double threshold_weight(uint64_t threshold);

/* The threshold for a probability, to the nearest of 2^-56.  Exact for every double that is a
 * multiple of 2^-56, so it undoes threshold_probability() where that is exact.  -ERANGE below 0,
 * above 1, for NaN, and for what is above 0 but less than 2^-56. */
int threshold_from_probability(double probability, uint64_t *ret_threshold);

/* The same, rounded to few digits of `th`: `precision` (1 … 14) of them behind leading f's or 0's,
 * because those carry no precision where p is near 0 or 1.  Costs probability at most half a unit
 * of the last digit, saves header bytes. */
int threshold_from_probability_short(double probability, unsigned precision,
				     uint64_t *ret_threshold);

/* `th`: 1 to 14 lower-case hex digits, read from the left: "c" is 0xc0000000000000.  -EINVAL. */
int threshold_parse(struct slice text, uint64_t *ret_threshold);

/* Without trailing zeros, "0" for ALWAYS; with a NUL; returns the length.  NEVER and UNKNOWN have
 * no text: "" and 0. */
size_t threshold_format(uint64_t threshold, char out[THRESHOLD_DIGITS + 1]);

/* `rv`: exactly 14 lower-case hex digits.  -EINVAL. */
int randomness_parse(struct slice text, uint64_t *ret_randomness);
void randomness_format(uint64_t randomness, char out[THRESHOLD_DIGITS + 1]);

#endif
