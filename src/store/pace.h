/* store/pace.h - how fast batches are taken in while heads become segments more slowly than they
 * come.
 *
 * Memory between the two fills up, and in the end requests are refused: whoever sends waits for
 * seconds then, while there is room again a moment later.  So from half of the limit on the log
 * takes its time: who waits for an answer sends no more meanwhile.  The fuller the longer, measured
 * by what the flusher takes for as many bytes: equally fast where memory has 70 % of the limit, at
 * a quarter of its pace at 90 %.  Who sends without waiting is refused as before. */
#ifndef CAUSET_STORE_PACE_H
#define CAUSET_STORE_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"

#define PACE_FROM    0.5               /* of the limit */
#define PACE_TO      0.9               /* from here on as slow as it gets */
#define PACE_SLOWEST 4                 /* times what the flusher takes */
#define PACE_MOST_NS (200 * NS_PER_MS) /* for one write: nobody should give up waiting */
#define PACE_DEFAULT 3.0               /* ns a byte, while the flusher's pace is not known */

/* How long to take for a write of so many bytes while `held` of `limit` bytes are in memory, and
 * the flusher takes ns_per_byte. */
static inline int64_t pace_ns(size_t held, size_t limit, size_t bytes, double ns_per_byte)
{
	double full = (double)held / (double)limit;
	double part = full >= PACE_TO ? 1 : (full - PACE_FROM) / (PACE_TO - PACE_FROM);
	double ns = part > 0 ? PACE_SLOWEST * part * part * ns_per_byte * (double)bytes : 0;

	return ns < (double)PACE_MOST_NS ? (int64_t)ns : PACE_MOST_NS;
}

/* The flusher's pace after one more head, from the one before (0: not known). */
static inline double pace_note(double before, int64_t took_ns, size_t bytes)
{
	double now = (double)took_ns / (double)(bytes ? bytes : 1);

	return before > 0 ? (before + now) / 2 : now;
}

#endif
