/* model/clock_align.h - offsets between clocks, from nothing but "no receive before its send".
 *
 * Each message from p to q, sent at s on p's clock and received at r on q's, bounds how much q's
 * clock may be moved against p's:  offset(q) - offset(p) ≥ s - r.  A message back bounds it from
 * the other side, as in NTP:
 *
 *      p  ──s1──────────────r2──▶        low  = s1 - r1     q must move at least this much
 *            ╲            ╱              high = r2 - s2     and at most this much
 *      q  ────r1────────s2──────▶
 *
 * Nothing moves while nothing is violated.  Otherwise a process moves as little as its one bound
 * asks, or to the middle where both sides bound it. */
#ifndef CAUSET_MODEL_CLOCK_ALIGN_H
#define CAUSET_MODEL_CLOCK_ALIGN_H

#include <stddef.h>
#include <stdint.h>

/* What is known between two processes, from < to. */
struct clock_bound {
	uint32_t from, to;
	uint32_t requests, responses; /* messages from → to and to → from */
	int64_t low_ns, high_ns;      /* INT64_MIN, INT64_MAX: none */
};

/* Finds an offset for each of n clocks; clock `anchor` keeps 0 (so does one of every group of
 * clocks without a way to it).  Where the bounds can all be kept they are.  Where they contradict
 * each other, no violation is made worse.  offsets has n entries.  -ENOMEM. */
int clock_align(const struct clock_bound *bounds, size_t bound_n, uint32_t n, uint32_t anchor,
		int64_t *offsets);

/* How much the bound is broken with these offsets; 0 if it is kept. */
int64_t clock_violation(const struct clock_bound *bound, int64_t offset_from, int64_t offset_to);

#endif
