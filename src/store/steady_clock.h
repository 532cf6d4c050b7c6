/* store/steady_clock.h - a clock to remove things by.
 *
 * Removing what is old trusts the clock with everything there is.  So it is not believed at once
 * when it jumps ahead, by more than SLACK beyond what has passed on a clock nobody sets: until it
 * has said the same for TRUST, time goes on from where it was.  It begins at the arrival of the
 * newest data, so a machine that starts with a wrong clock removes nothing for TRUST, and one that
 * was off for long catches up after it.  Going back is always believed: it only keeps things. */
#ifndef CAUSET_STORE_STEADY_CLOCK_H
#define CAUSET_STORE_STEADY_CLOCK_H

#include <stdint.h>

#define STEADY_SLACK_NS ((int64_t)3600 * 1000000000)
#define STEADY_TRUST_NS ((int64_t)24 * 3600 * 1000000000)

/* One thread at a time. */
struct steady_clock {
	int64_t wall_ns, mono_ns; /* believed, and when */
	int64_t ahead_ns; /* since when the wall clock is too far ahead (mono); 0: it is not */
};

/* From the arrival of the newest data, or of now where there is none (0). */
void steady_clock_init(struct steady_clock *c, int64_t newest_ns, int64_t wall_ns, int64_t mono_ns);

/* What to believe; both clocks as they are now. */
int64_t steady_clock_now(struct steady_clock *c, int64_t wall_ns, int64_t mono_ns);

#endif
