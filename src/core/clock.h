/* core/clock.h - the two clocks everything uses, in nanoseconds. */
#ifndef CAUSET_CORE_CLOCK_H
#define CAUSET_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL

static inline int64_t clock_read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Since 1970; jumps when somebody sets it. */
static inline int64_t clock_wall_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

/* Since some start; never jumps. */
static inline int64_t clock_mono_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
