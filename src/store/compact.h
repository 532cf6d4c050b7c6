/* store/compact.h - small segments become large ones, and the pieces of a trace come together.
 *
 * Size-tiered: neighbours in arrival that are small and of similar size are merged, so that a row
 * is written again only a few times, and a large segment never. */
#ifndef CAUSET_STORE_COMPACT_H
#define CAUSET_STORE_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#define COMPACT_ROWS       ((uint64_t)2 << 20) /* of a merged segment, at most */
#define COMPACT_ROWS_SMALL (COMPACT_ROWS / 8)  /* a larger one is left alone */

struct engine;

enum compact_zeal {
	COMPACT_BUSY, /* only what would otherwise become too many */
	COMPACT_IDLE, /* whatever is better merged; there is time */
	COMPACT_ALL,  /* into as few segments as possible */
};

/* How a merge is held back; `pace` may sleep, and ends the merge by a negative errno. */
struct compact_pace {
	int (*wait)(void *context, uint64_t bytes); /* so much was read; NULL: never waits */
	void *context;
	int64_t now_ns; /* what rules for thinning count ages from; 0: the wall clock */
};

/* Merges once.  1: done, 0: nothing to do, negative errno: failed, nothing has changed.  Any
 * thread; waits for one that runs. */
int compact_once(struct engine *e, enum compact_zeal zeal, const struct compact_pace *pace);

/* Until there is nothing to do. */
int compact_until_done(struct engine *e, bool all);

#endif
