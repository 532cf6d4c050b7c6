/* infer/pools.h - who waits for whom without a message between them: locks and pools.
 *
 * Where a node may have only k calls to another one open at the same time (a pool of connections, a
 * lock, k = 1), the next call starts when another one returns, and not before.  That leaves a mark:
 * calls that start within a moment of a return on the same edge, when exactly k were open, far more
 * often than by chance.  The waiter is the path whose call was late; the holders are the paths
 * whose calls were open meanwhile. */
#ifndef CAUSET_INFER_POOLS_H
#define CAUSET_INFER_POOLS_H

#include "infer/infer.h"

#define POOLS_MAX 100 /* edges named */

struct pool_found {
	uint32_t caller, callee;
	uint32_t size;    /* k */
	uint64_t calls;   /* on the edge */
	uint64_t handed;  /* that started when another one returned */
	double expected;  /* of those, by chance */
	double waited_ns; /* more than the usual time before the call, in sum over them */
	/* Who had the calls that were waited for: the node that asked the caller, and how often. */
	uint32_t holder; /* client of the holding calls' parents, most often; NAMES_NONE: unknown */
	uint32_t holder_name; /* their operation, or NAMES_NONE */
	uint64_t held;        /* times */
};

/* Finds edges with that mark, those with the most waiting first; returns how many, or -ENOMEM.
 * `found` has POOLS_MAX items.  Links may be NULL: then holders are not named. */
int pools_find(const struct calls *calls, const struct call_link *links, struct pool_found *found);

#endif
