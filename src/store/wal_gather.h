/* store/wal_gather.h - how long the log's writer waits for company before it writes.
 *
 * Senders wait for their answers before they send again.  When the writer takes whatever is there,
 * a few of them end up taking turns: one half waits for the other half's sync and then for its own.
 * A sync costs the same for one request as for all, so it is better for everybody to wait a little
 * for those who were there a moment ago: as many as the last round had, and no longer than that
 * round took.  A single sender never waits.  One thread. */
#ifndef CAUSET_STORE_WAL_GATHER_H
#define CAUSET_STORE_WAL_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"

#define WAL_GATHER_MOST_NS (2 * NS_PER_MS)   /* of waiting */
#define WAL_GATHER_BYTES   ((size_t)4 << 20) /* are enough for a write */

struct wal_gather {
	size_t expected; /* appends in the next round */
	int64_t until_ns;
};

/* A round has ended: how many appends were in it, how many came meanwhile, and when it was. */
static inline void wal_gather_note(struct wal_gather *g, size_t settled, size_t queued,
				   int64_t began_ns, int64_t ended_ns)
{
	int64_t wait_ns = ended_ns - began_ns;

	g->expected = settled + queued;
	g->until_ns = ended_ns + (wait_ns < WAL_GATHER_MOST_NS ? wait_ns : WAL_GATHER_MOST_NS);
}

/* Is that enough to begin, however early it is? */
static inline bool wal_gather_enough(const struct wal_gather *g, size_t queued, size_t bytes)
{
	return queued >= g->expected || bytes >= WAL_GATHER_BYTES;
}

#endif
