/* base/seats.h - a few seats, taken in the order of arrival.
 *
 * Any thread may call anything here; several may wait for one seat together. */
#ifndef CAUSET_BASE_SEATS_H
#define CAUSET_BASE_SEATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Who sits or waits.  All zero: neither. */
struct seat {
	struct seat *next; /* who came after it; while it waits */
	bool waits, taken;
};

struct seats {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct seat *first, **last; /* those that wait */
	unsigned taken;
};

void seats_init(struct seats *s);
void seats_done(struct seats *s); /* nobody sits or waits */

/* Takes one of so many seats, after all who came before; waits for it up to ns.  Who did not get
 * one keeps its place in the line, up to the next call or until it leaves. */
bool seats_take(struct seats *s, struct seat *seat, unsigned most, int64_t ns);

/* Leaves the seat, or the line. */
void seats_leave(struct seats *s, struct seat *seat);

#endif
